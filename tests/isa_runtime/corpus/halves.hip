// Halves, alone and in pairs, and bfloat16 as words: as PyTorch, llama.cpp and hipBLAS's users write them.
#include "common.h"

// Odd quarters, whose sums and products of three are exact. No zeros: LLVM takes a product's negation into its factor
// and adds 0 (v_fma_mixlo_f16), which loses the sign of a zero.
__device__ inline f16 half_at(const u32 *in, u32 i) { return f16(int(in[i] & 31) * 2 - 31) * f16(0.25); }
__device__ inline __half hip_half_at(const u32 *in, u32 i) {
  return __float2half(f32(int(in[i] & 31) * 2 - 31) * 0.25f);
}
__device__ inline __half2 pair_at(const u32 *in, u32 i) {
  return __halves2half2(hip_half_at(in, 2 * i), hip_half_at(in, 2 * i + 1));
}

#define ONE(name, expression)                                                                          \
  KERNEL(half_##name) {                                                                                \
    const f16 a = half_at(in, 3 * me()), b = half_at(in, 3 * me() + 1), c = half_at(in, 3 * me() + 2); \
    put(out, me(), f16(expression));                                                                   \
  }
ONE(add, a + b)
ONE(sub, a - b)
ONE(mul, a *b)
ONE(mul_add, a *b + c)
ONE(mul_sub, a *b - c)
ONE(negated_mul_add, c - a * b)
ONE(div_by_power, a / f16(4))
ONE(divide, a / (b == f16(0) ? f16(1) : b))
ONE(negate, -a)
ONE(abs, __builtin_fabsf16(a))
ONE(copysign, __builtin_copysignf16(a, b))
ONE(floor, __builtin_floorf16(a))
ONE(ceil, __builtin_ceilf16(a))
ONE(trunc, __builtin_truncf16(a))
ONE(rint, __builtin_rintf16(a))
ONE(sqrt, __builtin_sqrtf16(a *a))
ONE(select, a < b ? c : a)
ONE(select_equal, a == b ? c : f16(7))
ONE(of_i32, f16(int(a)))
ONE(of_i16, f16(i16(in[me()] & 1023)))
ONE(of_u16, f16(u16(in[me()] & 2047)))
ONE(of_f64, f16(f64(a) * 0.5))
ONE(fma_builtin, __builtin_fmaf16(a, b, c))
ONE(times_constant, a *f16(0.5) + f16(1.5))
ONE(sum_of_4, (a + b) + (c + a))
KERNEL(half_classes) {
  const f16 x = bits<f16>(u16(in[me()]));
  out[me()] =
      __builtin_isnan(x) | __builtin_isinf(x) << 1 | (x == f16(0)) << 2 | (x > f16(1)) << 3 | (x <= f16(-2)) << 4;
}
KERNEL(half_to_float_of_all_bits) {
  const f16 x = bits<f16>(u16(in[me()] & 0xfbff));  // no infinity or NaN
  put(out, me(), f32(x));
}
KERNEL(half_to_double_of_all_bits) { put(out, me(), f64(bits<f16>(u16(in[me()] & 0xfbff)))); }
KERNEL(half_to_integers) {
  const f16 x = half_at(in, me()) * f16(8);
  out[me()] = u32(int(x)) ^ u32(i16(x)) << 8 ^ u32(u16(x < f16(0) ? -x : x)) << 20;
}
KERNEL(half_from_float_of_all_bits) {
  const f32 x = bits<f32>((in[me()] & 0x8fffffff) | 0x30000000);  // finite
  put(out, me(), f16(x));
}
KERNEL(half_frexp) {
  const f16 x = half_at(in, me());
  int exponent;
  const f32 part = frexpf(f32(x), &exponent);
  put(out, 2 * me(), part), put(out, 2 * me() + 1, exponent);
}
KERNEL(half_frexp_instructions) {
  const f16 x = half_at(in, me());
  out[me()] = bits<u16>(__builtin_amdgcn_ldexph(x, int(in[me()] >> 30)));
}
KERNEL(half_of_a_uniform) {
  const f16 x = half_at(in, blockIdx.x);
  put(out, me(), __builtin_floorf16(x) + __builtin_ceilf16(x) * f16(2) + __builtin_truncf16(x) + __builtin_rintf16(x));
}
KERNEL(half_of_a_uniform_clamped) {
  const f16 x = half_at(in, blockIdx.x) * half_at(in, 7 + blockIdx.x) + f16(1);
  put(out, me(), x < f16(0) ? f16(0) : x > f16(6) ? f16(6) : x);
}
KERNEL(half_comparisons) {
  const f16 a = half_at(in, me()), b = half_at(in, me() + 1);
  out[me()] = (a < b) | (a <= b) << 1 | (a > b) << 2 | (a >= b) << 3 | (a == b) << 4 | (a != b) << 5;
}
KERNEL(half_memory_of_bytes) {
  __shared__ f16 tile[BLOCK];
  tile[threadIdx.x] = reinterpret_cast<const f16 *>(in)[me()];
  __syncthreads();
  reinterpret_cast<f16 *>(out)[me()] = tile[BLOCK - 1 - threadIdx.x];
}

#define HIP_ONE(name, expression)                                                                                     \
  KERNEL(hip_half_##name) {                                                                                           \
    const __half a = hip_half_at(in, 3 * me()), b = hip_half_at(in, 3 * me() + 1), c = hip_half_at(in, 3 * me() + 2); \
    put(out, me(), expression);                                                                                       \
  }
HIP_ONE(hadd, __hadd(a, b))
HIP_ONE(hsub, __hsub(a, b))
HIP_ONE(hmul, __hmul(a, b))
HIP_ONE(hfma, __hfma(a, b, c))
HIP_ONE(hneg, __hneg(a))
HIP_ONE(operators, a *b + c - a)
HIP_ONE(compared, u32(__hlt(a, b)) | u32(__hge(a, c)) << 1 | u32(__heq(b, c)) << 2)
HIP_ONE(to_float, __half2float(a) * 3.0f)
HIP_ONE(to_int, __half2int_rz(a) + int(__half2uint_rz(__hmul(b, b))))
HIP_ONE(to_short, i32(__half2short_rz(a)))
HIP_ONE(from_int, __int2half_rn(int(in[me()] & 2047)))
HIP_ONE(as_bits, u32(__half_as_ushort(a)) << 16 | __half_as_ushort(b))
HIP_ONE(floor_and_ceil, __hadd(hfloor(a), hceil(b)))
HIP_ONE(trunc_and_rint, __hadd(htrunc(a), hrint(b)))

#define PAIRS(name, expression)                                                                            \
  KERNEL(half2_##name) {                                                                                   \
    const __half2 a = pair_at(in, 3 * me()), b = pair_at(in, 3 * me() + 1), c = pair_at(in, 3 * me() + 2); \
    put(out, me(), expression);                                                                            \
  }
PAIRS(hadd2, __hadd2(a, b))
PAIRS(hsub2, __hsub2(a, b))
PAIRS(hmul2, __hmul2(a, b))
PAIRS(hfma2, __hfma2(a, b, c))
PAIRS(hneg2, __hneg2(a))
PAIRS(operators, a *b + c)
PAIRS(swapped, __lowhigh2highlow(a))
PAIRS(lows, __lows2half2(a, b))
PAIRS(highs, __highs2half2(a, b))
PAIRS(broadcast, __hmul2(a, __half2half2(__low2half(b))))
PAIRS(dot, __hadd(__low2half(__hmul2(a, b)), __high2half(__hmul2(a, b))))
PAIRS(floats, __half22float2(a).x * 4.0f + __half22float2(a).y)
PAIRS(compared, u32(__hbeq2(a, b)) | u32(__hblt2(a, c)) << 1)
PAIRS(of_floats, __floats2half2_rn(__half2float(__low2half(a)) * 0.5f, __half2float(__high2half(b)) * 2.0f))
PAIRS(axpy, __hfma2(__half2half2(__ushort_as_half(0x3800)), a, b))

// Vectors of the compiler's own.
typedef f16 f16x2 __attribute__((ext_vector_type(2)));
typedef f16 f16x4 __attribute__((ext_vector_type(4)));
typedef i16 i16x2 __attribute__((ext_vector_type(2)));
typedef u16 u16x2 __attribute__((ext_vector_type(2)));
__device__ inline f16x2 vector_at(const u32 *in, u32 i) { return {half_at(in, 2 * i), half_at(in, 2 * i + 1)}; }
#define VECTORS(name, expression)                                                                              \
  KERNEL(half_vector_##name) {                                                                                 \
    const f16x2 a = vector_at(in, 3 * me()), b = vector_at(in, 3 * me() + 1), c = vector_at(in, 3 * me() + 2); \
    put(out, me(), f16x2(expression));                                                                         \
  }
VECTORS(add, a + b)
VECTORS(mul, a *b)
VECTORS(mul_add, a *b + c)
VECTORS(max, __builtin_elementwise_max(a, b))
VECTORS(min, __builtin_elementwise_min(a, b))
VECTORS(clamp, __builtin_elementwise_min(__builtin_elementwise_max(a, b), c))
VECTORS(negate, -a)
VECTORS(swizzled, a.yx + b.xx)
VECTORS(abs, __builtin_elementwise_abs(a))
KERNEL(half_vector_of_4) {
  const f16x4 a = reinterpret_cast<const f16x4 *>(in)[me()];
  const f16x4 b = {a.w, a.z, a.y, a.x};
  put(out, me(), b);
}
KERNEL(half_vector_dot2) {
  const f16x2 a = vector_at(in, me()), b = vector_at(in, me() + 1);
  put(out, me(), f32(a.x) * f32(b.x) + f32(a.y) * f32(b.y) + 1.0f);
}
#define SHORTS(name, type, expression)                                 \
  KERNEL(type##_##name) {                                              \
    const type a = bits<type>(in[me()]), b = bits<type>(in[me() + 1]); \
    const type c = bits<type>(in[me() + 2]);                           \
    put(out, me(), type(expression));                                  \
  }
SHORTS(add, i16x2, a + b)
SHORTS(sub, i16x2, a - b)
SHORTS(mul, i16x2, a *b)
SHORTS(mul_add, u16x2, a *b + c)
SHORTS(shift_left, u16x2, a << (b & u16x2{15, 15}))
SHORTS(shift_right, u16x2, a >> (b & u16x2{15, 15}))
SHORTS(shift_arithmetic, i16x2, a >> (b & i16x2{15, 15}))
SHORTS(max, i16x2, __builtin_elementwise_max(a, b))
SHORTS(min, i16x2, __builtin_elementwise_min(a, b))
SHORTS(max, u16x2, __builtin_elementwise_max(a, b))
SHORTS(min, u16x2, __builtin_elementwise_min(a, b))
SHORTS(saturating_add, u16x2, __builtin_elementwise_add_sat(a, b))
SHORTS(saturating_add, i16x2, __builtin_elementwise_add_sat(a, b))
SHORTS(saturating_sub, i16x2, __builtin_elementwise_sub_sat(a, b))
SHORTS(saturating_sub, u16x2, __builtin_elementwise_sub_sat(a, b))

// bfloat16 in words.
__device__ inline f32 from_brain(u16 x) { return bits<f32>(u32(x) << 16); }
__device__ inline u16 to_brain(f32 x) {
  const u32 word = bits<u32>(x);
  return u16((word + 0x7fff + (word >> 16 & 1)) >> 16);
}
KERNEL(brain_round_trip) { put(out, me(), to_brain(bits<f32>(in[me()] & 0x7f7fffff))); }
KERNEL(brain_sum) {
  f32 sum = 0;
  for (u32 i = 0; i < 8; i++) sum += from_brain(to_brain(get<f32>(in, me() * 8 + i)));
  put(out, me(), to_brain(sum));
}
KERNEL(brain_pairs) {
  const u32 word = in[me()] & 0x3fff3fff;
  out[me()] = u32(to_brain(from_brain(u16(word)) + 1.0f)) | u32(to_brain(from_brain(u16(word >> 16)) * 2.0f)) << 16;
}
#define HIP_BRAIN(name, expression)                                                                 \
  KERNEL(hip_bfloat16_##name) {                                                                     \
    const hip_bfloat16 a(get<f32>(in, me())), b(get<f32>(in, me() + 1)), c(get<f32>(in, me() + 2)); \
    (void)b, (void)c;                                                                               \
    put(out, me(), expression);                                                                     \
  }
HIP_BRAIN(add, a + b)
HIP_BRAIN(sub, a - b)
HIP_BRAIN(mul, a *b)
HIP_BRAIN(sum_of_3, float(a) + float(b) + float(c))
HIP_BRAIN(compared, u32(a < b) | u32(a == c) << 1 | u32(b > c) << 2)
HIP_BRAIN(of_bits, float(bits<hip_bfloat16>(u16(in[me()] & 0x7f7f))))
HIP_BRAIN(rounded, hip_bfloat16(bits<f32>(in[me()] & 0x7f7fffff)))
