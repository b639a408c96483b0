// Arithmetic of integers of 8 to 128 bits, and functions on their bits.
#include "common.h"

#define TWO(T, name, expression)                                    \
  KERNEL(T##_##name) {                                              \
    const T a = get<T>(in, 2 * me()), b = get<T>(in, 2 * me() + 1); \
    put(out, me(), T(expression));                                  \
  }
#define OF_TYPE(T, width)                            \
  TWO(T, add, a + b)                                 \
  TWO(T, sub, a - b)                                 \
  TWO(T, mul, a *b)                                  \
  TWO(T, div, a / T(b == 0 || (b + 1) == 0 ? 3 : b)) \
  TWO(T, mod, a % T(b == 0 || (b + 1) == 0 ? 3 : b)) \
  TWO(T, div_by_7, a / T(7))                         \
  TWO(T, mod_by_10, a % T(10))                       \
  TWO(T, div_by_16, a / T(16))                       \
  TWO(T, shift_left, a << (b & T(width - 1)))        \
  TWO(T, shift_right, a >> (b & T(width - 1)))       \
  TWO(T, shifts_by_constants, (a << 5) ^ (a >> 3))   \
  TWO(T, bitwise, (a & ~b) | (a ^ b))                \
  TWO(T, compare, (a < b ? 1 : 0) | (a == b ? 2 : 0) | (a >= b ? 4 : 0))
OF_TYPE(i32, 32)
OF_TYPE(u32, 32)
OF_TYPE(i64, 64)
OF_TYPE(u64, 64)
OF_TYPE(i16, 16)
OF_TYPE(u8, 8)

#define ONE(name, ...)                                          \
  KERNEL(bits_##name) {                                         \
    const u32 x = in[me()], y = in[me() + 1], z = in[me() + 2]; \
    const u64 w = u64(y) << 32 | x;                             \
    (void)z, (void)w;                                           \
    put(out, me(), __VA_ARGS__);                                \
  }
ONE(popc, __popc(x) + __popcll(w))
ONE(clz, __clz(int(x >> (y & 31))) + 100 * __clzll(i64(w >> (z & 63))))
ONE(ffs, __ffs(int(x &y &z)))
ONE(ffsll, __ffsll(w & ~0xffffull))
ONE(brev, __brev(x))
ONE(brevll, u64(__brevll(w)))
ONE(byte_swap, __builtin_bswap32(x))
ONE(byte_swap_64, __builtin_bswap64(w))
ONE(byte_perm, __byte_perm(x, y, z & 0x7777))
ONE(perm, __builtin_amdgcn_perm(x, y, z & 0x07070707))
ONE(rotate_left, __builtin_rotateleft32(x, y & 31))
ONE(rotate_right_64, __builtin_rotateright64(w, z & 63))
ONE(funnel_left, u32((w << (z & 31)) >> 32))
ONE(funnel_right, __builtin_amdgcn_alignbit(x, y, z & 31))
ONE(alignbyte, __builtin_amdgcn_alignbyte(x, y, z & 3))
ONE(ubfe, x >> (y & 15) & 0x3ff)
ONE(sbfe, i32(x << 7) >> 19)
ONE(bfi, (x & y) | (~x & z))
ONE(bit_field_of_values, __builtin_amdgcn_ubfe(x, y & 31, z & 31))
ONE(signed_bit_field_of_values, __builtin_amdgcn_sbfe(int(x), y & 31, z & 31))
ONE(mask_of_width, (1u << (y & 31)) - 1 & x)
ONE(lowest_bit, x & -x)
ONE(without_lowest_bit, x &(x - 1))
ONE(power_of_two_above, x < 2 ? 1u : 1u << (32 - __clz(int(x - 1)) & 31))
ONE(interleaved, [](u32 v) {
  v &= 0xffff;
  v = (v | v << 8) & 0x00ff00ff, v = (v | v << 4) & 0x0f0f0f0f;
  v = (v | v << 2) & 0x33333333;
  return (v | v << 1) & 0x55555555;
}(x))
ONE(gray_code, x ^ x >> 1)
ONE(parity, u32(__builtin_parity(x)))
ONE(majority, (x & y) | (x & z) | (y & z))
ONE(and_or, (x & y) | z)
ONE(or_of_3, x | y | z)
ONE(xor_of_3, x ^ y ^ z)
ONE(xor_add, (x ^ y) + z)
ONE(add_of_3, x + y + z)
ONE(shift_add, (x << 4) + y)
ONE(add_shift, (x + y) << 3)
ONE(shift_or, (x << 11) | y)
ONE(sign_extended_byte, i32(i8(x)) + i32(i8(x >> 24)) + i32(i8(x >> 8)))
ONE(sign_extended_short, i64(i16(x)) * i16(x >> 16))
ONE(lerp, __builtin_amdgcn_lerp(x, y, z))
ONE(sad_u8, __builtin_amdgcn_sad_u8(x, y, z))
ONE(sad_u16, __builtin_amdgcn_sad_u16(x, y, z))
ONE(msad_u8, __builtin_amdgcn_msad_u8(x, y, z))
ONE(crc_step, (x >> 8) ^ ((x ^ y) & 0xff) * 0x04c11db7u)

#define PRODUCT(name, ...)                                        \
  KERNEL(product_##name) {                                        \
    const i32 a = get<i32>(in, me()), b = get<i32>(in, me() + 1); \
    const u32 x = in[me() + 2], y = in[me() + 3];                 \
    const u64 w = get<u64>(in, me()), v = get<u64>(in, me() + 4); \
    (void)a, (void)b, (void)x, (void)y, (void)w, (void)v;         \
    put(out, me(), __VA_ARGS__);                                  \
  }
PRODUCT(mul24, __mul24(a, b))
PRODUCT(umul24, __umul24(x, y))
PRODUCT(mulhi, __mulhi(a, b))
PRODUCT(umulhi, __umulhi(x, y))
PRODUCT(mul64hi, i64(__mul64hi(i64(w), i64(v))))
PRODUCT(umul64hi, u64(__umul64hi(w, v)))
PRODUCT(wide_unsigned, u64(x) * y)
PRODUCT(wide_signed, i64(a) * b)
PRODUCT(wide_sum, u64(x) * y + w)
PRODUCT(by_short, a *i32(i16(b)))
PRODUCT(mul24_sum, i32((x & 0xffffff) * (y & 0xfff) + u32(a)))
PRODUCT(average, (a & b) + ((a ^ b) >> 1))
PRODUCT(unsigned_average, __uhadd(x >> 1, y >> 1) ^ __urhadd(x >> 1, y >> 1))
PRODUCT(absolute, u32(a < 0 ? -u32(a) : u32(a)))
PRODUCT(hash_murmur, [](u32 h) {
  h ^= h >> 16, h *= 0x85ebca6b, h ^= h >> 13, h *= 0xc2b2ae35;
  return h ^ h >> 16;
}(x))
PRODUCT(hash_of_64_bits, [](u64 h) {
  h ^= h >> 33, h *= 0xff51afd7ed558ccdull, h ^= h >> 33, h *= 0xc4ceb9fe1a85ec53ull;
  return h ^ h >> 33;
}(w))
PRODUCT(fast_division, u32(u64(x) * 0xcccccccdull >> 35))
PRODUCT(carry, [](u64 p, u64 q) { return u32(p + q < p); }(w, v))
PRODUCT(overflow, [](i32 p, i32 q) {
  i32 sum;
  return __builtin_add_overflow(p, q, &sum) ? -1 : sum;
}(a, b))
PRODUCT(overflow_of_products, [](u32 p, u32 q) {
  u32 product;
  return __builtin_mul_overflow(p, q, &product) ? 7u : product;
}(x >> 14, y >> 18))
__device__ inline unsigned __int128 wider(u64 a, u64 b) { return static_cast<unsigned __int128>(a) << 64 | b; }
PRODUCT(add_of_128_bits, u64((wider(w, v) + wider(v, ~w)) >> 64))
PRODUCT(mul_of_128_bits, u64((wider(w, v) * wider(3, x)) >> 64))
PRODUCT(shift_of_128_bits, u64(wider(w, v) >> (x & 127)))
KERNEL(modular_product_of_64_bits) {
  u64 result = 0, a = get<u64>(in, me()) % 1000000007u, b = in[me() + 1];
  for (; b; b >>= 1) {
    if (b & 1) result = (result + a) % 1000000007u;
    a = a * 2 % 1000000007u;
  }
  put(out, me(), result);
}
KERNEL(index_of_three_dimensions) {
  const u32 i = in[me()] % 100000, z = i / (37 * 53), y = i / 53 % 37, x = i % 53;
  out[me()] = x << 20 | y << 10 | z;
}
KERNEL(bytes_of_words) {
  const u32 x = in[me()];
  out[me()] = u32(u8(x)) * u32(u8(x >> 8)) + u32(u8(x >> 16)) * u32(u8(x >> 24));
}
KERNEL(multiword_addition) {
  u64 carry = 0;
  for (int i = 0; i < 4; i++) {
    carry += u64(in[4 * me() + i]) + in[4 * me() + i + 1024];
    out[4 * me() + i] = u32(carry);
    carry >>= 32;
  }
}
