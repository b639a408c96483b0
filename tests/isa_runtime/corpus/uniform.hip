// What is the same for all lanes, which compilers compute once for a wave, where they can.
#include "common.h"

#define UNIFORM(name, ...)                                                   \
  KERNEL(uniform_##name) {                                                   \
    const u32 x = in[4 * blockIdx.x], y = in[4 * blockIdx.x + 1], z = in[7]; \
    const i32 a = i32(x), b = i32(y), c = i32(z);                            \
    const u64 w = u64(y) << 32 | x, v = u64(z) << 32 | y;                    \
    (void)x, (void)y, (void)z, (void)a, (void)b, (void)c, (void)w, (void)v;  \
    put(out, me(), __VA_ARGS__);                                             \
  }
UNIFORM(add, x + y + 12345)
UNIFORM(sub, x - y)
UNIFORM(mul, x *y)
UNIFORM(mul_hi, __umulhi(x, y))
UNIFORM(signed_mul_hi, __mulhi(a, b))
UNIFORM(div, (x | 0x80000000u) / (y >> 7 | 1))
UNIFORM(mod, a % (b | 1))
UNIFORM(div_by_10, x / 10)
UNIFORM(shift_left, x << (y & 31))
UNIFORM(shift_right, x >> (y & 31))
UNIFORM(shift_arithmetic, a >> (b & 31))
UNIFORM(shift_add, (x << 3) + y)
UNIFORM(and_not, x & ~y)
UNIFORM(or_not, x | ~y)
UNIFORM(not_xor, ~(x ^ y))
UNIFORM(nand, ~(x &y))
UNIFORM(nor, ~(x | y))
UNIFORM(min_max, min(a, b) ^ max(a, c))
UNIFORM(unsigned_min_max, min(x, y) * 3 ^ max(x, z))
UNIFORM(clamp, min(max(a, -1000), 1000))
UNIFORM(abs, u32(a < 0 ? -u32(a) : u32(a)))
UNIFORM(select, a < b ? x : z)
UNIFORM(compare, u32(a < b) | u32(x < y) << 1 | u32(x == y) << 2 | u32(w < v) << 3 | u32(w == v) << 4)
UNIFORM(test_of_a_bit, x & 1 << 7 ? y : z)
UNIFORM(popc, __popc(x) + __popcll(w))
UNIFORM(clz, __clz(a >> 3) + __clzll(i64(w >> 9)))
UNIFORM(ffs, __ffs(a) + __ffsll(w & ~0xffull))
UNIFORM(brev, __brev(x))
UNIFORM(brev_64, u64(__brevll(w)))
UNIFORM(bit_field, x >> 5 & 0x7f)
UNIFORM(signed_bit_field, a << 5 >> 17)
UNIFORM(bit_field_64, w >> 13 & 0xfffffffff)
UNIFORM(bit_set, x | 1u << (y & 31))
UNIFORM(bit_clear, x & ~(1u << (y & 31)))
UNIFORM(mask, ((1u << (y & 15)) - 1) << 3)
UNIFORM(sign_extended, i32(i8(x)) + i32(i16(y)))
UNIFORM(pack, (x & 0xffff) | y << 16)
UNIFORM(pack_high, x >> 16 | (y & 0xffff0000))
UNIFORM(add_64, w + v)
UNIFORM(sub_64, w - v)
UNIFORM(mul_64, w *v)
UNIFORM(shift_64, (w << (y & 63)) ^ (v >> (x & 63)))
UNIFORM(arithmetic_shift_64, i64(w) >> (y & 63))
UNIFORM(bitwise_64, (w & ~v) | (w ^ v))
UNIFORM(min_64, min(w, v))
UNIFORM(div_64, w / (v | 1))
UNIFORM(wide_product, u64(x) * y + v)
UNIFORM(loop, [](u32 p, u32 q) {
  u32 sum = 1;
  for (u32 i = 0; i < (q & 15); i++) sum = sum * p + i;
  return sum;
}(x, y))
UNIFORM(switch, [](u32 p, u32 q) {
  switch (p % 7) {
    case 0:
      return q + 1;
    case 1:
      return q * 3;
    case 2:
      return q ^ p;
    case 3:
      return q >> 3;
    case 4:
      return ~q;
    case 5:
      return q - p;
    default:
      return 9u;
  }
}(x, y))
#define FLOATS(name, ...)                                                                                           \
  KERNEL(uniform_float_##name) {                                                                                    \
    const f32 x = get<f32>(in, 4 * blockIdx.x), y = get<f32>(in, 4 * blockIdx.x + 1), z = get<f32>(in, 9) * 0.125f; \
    (void)x, (void)y, (void)z;                                                                                      \
    put(out, me(), __VA_ARGS__);                                                                                    \
  }
FLOATS(add, x + y)
FLOATS(sub, x - z)
FLOATS(mul, x *z)
FLOATS(fma, fmaf(x, y, z))
FLOATS(contracted, x *y + z)
FLOATS(min_max, fminf(x, y) + fmaxf(x, z))
FLOATS(clamp, fminf(fmaxf(x, -3.0f), z))
FLOATS(floor, floorf(z) + ceilf(z) * 64.0f)
FLOATS(trunc, truncf(z) + rintf(z) * 64.0f)
FLOATS(negated, -x *fabsf(y))
FLOATS(to_integers, i32(z * 100.0f) + i32(u32(fabsf(z) * 10.0f)))
FLOATS(of_integers, f32(i32(x) * 3) + f32(u32(fabsf(y)) * 5u))
FLOATS(to_half, f16(z))
FLOATS(of_half, f32(f16(z)) * 2.0f)
FLOATS(compare, u32(x < y) | u32(x <= z) << 1 | u32(x == y) << 2 | u32(x != z) << 3 | u32(!(x >= y)) << 4)
FLOATS(select, x < y ? z : x)
FLOATS(div, x / 8.0f)
FLOATS(halves, f16(f16(z) * f16(x) + f16(y)))
FLOATS(half_min_max, f16(Max<f16>::of(f16(z), Min<f16>::of(f16(x), f16(y)))))
FLOATS(half_compare, u32(f16(x) < f16(y)) | u32(f16(x) == f16(z)) << 1)
FLOATS(half_rounded, f16(__builtin_floorf16(f16(z)) + __builtin_rintf16(f16(z)) * f16(4)))
FLOATS(double, f64(x) * f64(z) + 1.0)
FLOATS(pack_of_halves, u32(bits<u16>(f16(x))) | u32(bits<u16>(f16(z))) << 16)
