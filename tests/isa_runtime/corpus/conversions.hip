// Conversions between integers and floats of all widths; out of range where all of HIP's compilers agree.
#include "common.h"

// Finite, of exponents around 0.
__device__ inline f32 float_at(const u32 *in, u32 i) { return bits<f32>((in[i] & 0x83ffffff) | 0x3c000000); }
__device__ inline f64 double_at(const u32 *in, u32 i) {
  return bits<f64>((u64(in[2 * i]) << 32 & 0x80ffffff00000000ull) | 0x3f80000000000000ull | in[2 * i + 1]);
}
#define FROM_INTEGER(T)                                                        \
  KERNEL(f32_of_##T) { put(out, me(), f32(get<T>(in, me()))); }                \
  KERNEL(f64_of_##T) { put(out, me(), f64(get<T>(in, me()))); }                \
  KERNEL(T##_of_f32) { put(out, me(), T(fabsf(float_at(in, me())) * 64.0f)); } \
  KERNEL(T##_of_f64) { put(out, me(), T(fabs(double_at(in, me())) * 64.0)); }
FROM_INTEGER(i8)
FROM_INTEGER(u8)
FROM_INTEGER(i16)
FROM_INTEGER(u16)
FROM_INTEGER(i32)
FROM_INTEGER(u32)
FROM_INTEGER(i64)
FROM_INTEGER(u64)
#define ONE(name, ...)                  \
  KERNEL(convert_##name) {              \
    const f32 x = float_at(in, me());   \
    const f64 y = double_at(in, me());  \
    const i32 i = get<i32>(in, me());   \
    const i64 j = get<i64>(in, me());   \
    (void)x, (void)y, (void)i, (void)j; \
    put(out, me(), __VA_ARGS__);        \
  }
ONE(f64_to_f32, f32(y))
ONE(f32_to_f64, f64(x))
ONE(f32_to_f16, f16(x))
ONE(f64_to_f16, f16(y))
ONE(signed_f32_to_i32, i32(x * 1000.0f))
ONE(signed_f64_to_i64, i64(y * 1e15))
ONE(large_f32_to_i64, i64(x * 0x1p50f))
ONE(large_f32_to_u64, u64(fabsf(x) * 0x1p60f))
ONE(large_f64_to_u64, u64(fabs(y) * 0x1p60))
ONE(out_of_range_to_i32, i32(x * 0x1p40f))
ONE(out_of_range_to_u32, u32(x * 0x1p40f))
ONE(f64_out_of_range_to_i32, i32(y * 0x1p40))
ONE(rint, rintf(x * 16.0f))
ONE(rint_f64, rint(y * 16.0))
ONE(floor, floorf(x * 16.0f))
ONE(ceil_f64, ceil(y * 16.0))
ONE(trunc, truncf(x * 16.0f))
ONE(round, roundf(x * 16.0f))
ONE(round_f64, round(y * 16.0))
ONE(lrint, i64(lrintf(x * 16.0f)))
ONE(lround, i64(lround(y * 16.0)))
ONE(float2int_rn, __float2int_rn(x * 16.0f))
ONE(float2int_rz, __float2int_rz(x * 16.0f))
ONE(float2int_rd, __float2int_rd(x * 16.0f))
ONE(float2int_ru, __float2int_ru(x * 16.0f))
ONE(float2uint_rn, __float2uint_rn(fabsf(x) * 16.0f))
ONE(double2int_rn, __double2int_rn(y * 16.0))
ONE(double2ll_rn, i64(__double2ll_rn(y * 1024.0)))
ONE(int2float_rn, __int2float_rn(i))
ONE(uint2float_rn, __uint2float_rn(u32(i)))
ONE(int2double_rn, __int2double_rn(i))
ONE(ll2float_rn, __ll2float_rn(j))
ONE(ll2double_rn, __ll2double_rn(j))
ONE(double_high, __double2hiint(y))
ONE(double_low, __double2loint(y))
ONE(double_of_halves, __hiloint2double(__double2hiint(y), i))
ONE(bits_of_float, __float_as_int(x) ^ __float_as_uint(x * 2))
ONE(float_of_bits, __int_as_float(__float_as_int(x) ^ 1))
ONE(bits_of_double, __double_as_longlong(y))
ONE(double_of_bits, __longlong_as_double(__double_as_longlong(y) + 1))
ONE(float_of_bytes, f32(u8(i)) + f32(u8(i >> 8)) * 2 + f32(u8(i >> 16)) * 4 + f32(u8(i >> 24)) * 8)
ONE(float_of_fixed_point, f32(i >> 16) * 0.00390625f)
ONE(fixed_point, i32(x * 65536.0f) + i32(i16(i)))
ONE(frexp_mantissa, [](f32 v) {
  int exponent;
  return frexpf(v, &exponent);
}(x))
ONE(frexp_exponent, [](f64 v) {
  int exponent;
  (void)frexp(v, &exponent);
  return exponent;
}(y))
ONE(ldexp, ldexpf(x, (i & 31) - 16))
ONE(ldexp_f64, ldexp(y, (i & 63) - 32))
ONE(modf, [](f32 v) {
  f32 whole;
  const f32 part = modff(v, &whole);
  return part + whole * 1024.0f;
}(floorf(x * 256.0f) * 0.015625f))
ONE(ilogb, ilogbf(x) * 1000 + ilogb(y))
ONE(logb, logbf(x))
ONE(classify, isnan(x) | isinf(x) << 1 | isfinite(x) << 2 | (signbit(x) ? 8 : 0) | (signbit(y) ? 16 : 0))
ONE(to_bool, u32(bool(i & 4)) + u32(bool(x)) + u32(bool(y)))
ONE(pack_of_bytes, u32(u8(i8(x * 4))) | u32(u8(i8(x * 2))) << 8 | u32(u8(i8(-x))) << 16)
ONE(pack_of_shorts, u32(u16(i16(x * 4))) | u32(u16(i16(x * 256))) << 16)
ONE(pack_of_halves, u32(bits<u16>(f16(x))) | u32(bits<u16>(f16(x * 2))) << 16)
ONE(color_of_floats, u32(fabsf(x) * 4.0f) << 24 | u32(fabsf(x) * 2.0f) << 16 | u32(fabsf(x)))
