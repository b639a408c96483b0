// Software versions of the f16, bf16 and f8 operations that target.h specifies, for targets without an instruction.
#pragma once

#include "types.h"

namespace candle::portable {

__device__ inline f32 f16_to_f32(u16 x) {
  const u32 sign = u32(x & 0x8000) << 16;
  const u32 magnitude = x & 0x7fff;
  if (magnitude >= 0x7c00) return bit_cast<f32>(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
  // A subnormal is a multiple of 2^-24, which is a normal number in f32.
  const f32 value = magnitude < 0x400 ? f32(magnitude) * 0x1p-24f : bit_cast<f32>((magnitude << 13) + (112u << 23));
  return bit_cast<f32>(sign | bit_cast<u32>(value));
}

// x / 2^8 as f16, which has the same fields in the same order, subnormals included; 0x7e00 is a NaN of f16.
__device__ inline u16 f8_to_f16_scaled(u8 x) {
  const u32 magnitude = x & 0x7f;
  return u16((x & 0x80) << 8 | (magnitude == 0x7f ? 0x7e00 : magnitude << 7));
}

__device__ inline u16 f32_to_f16(f32 x) {
  const u32 bits = bit_cast<u32>(x);
  const u32 magnitude = bits & 0x7fffffff;
  const u32 sign = bits >> 16 & 0x8000;
  if (magnitude > 0x7f800000) return 0x7fff;
  if (magnitude >= 0x477ff000) return u16(sign | 0x7c00);  // 65520, halfway between the largest f16 and 2^16
  if (magnitude < 0x38800000) {                            // below 2^-14, adding 0.5 rounds x to a multiple of 2^-24
    return u16(sign | (bit_cast<u32>(bit_cast<f32>(magnitude) + 0.5f) - 0x3f000000));
  }
  return u16(sign | ((magnitude + 0xfff + (magnitude >> 13 & 1) - (112u << 23)) >> 13));
}

__device__ inline u16 f32_to_bf16(f32 x) {
  const u32 bits = bit_cast<u32>(x);
  if (x != x) return 0x7fff;
  return u16((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

__device__ inline u8 f32_to_f8(f32 x) {
  const u32 bits = bit_cast<u32>(x);
  const u32 magnitude = bits & 0x7fffffff;
  const u32 sign = bits >> 24 & 0x80;
  // Below 2^-6, adding 2^14 rounds x to a multiple of 2^-9, the smallest subnormal.
  const u32 subnormal = bit_cast<u32>(bit_cast<f32>(magnitude) + 0x1p14f) - 0x46800000;
  const u32 normal = (magnitude + 0x7ffff + (magnitude >> 20 & 1) - (120u << 23)) >> 20;
  u32 code = magnitude < 0x3c800000 ? subnormal : normal;
  if (magnitude > 0x43e00000) code = 0x7e;
  if (magnitude > 0x7f800000) return 0x7f;
  return u8(sign | code);
}

// f64 to f32, rounded to odd: an inexact result has its last bit set. Rounding it again to at most 22 bits, to nearest,
// equals rounding the f64 once (S. Boldo, G. Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
__device__ inline f32 round_to_odd(f64 x) {
  const f32 nearest = f32(x);
  const u32 bits = bit_cast<u32>(nearest);
  const f64 round_trip = f64(nearest);
  if (round_trip == x || x != x || (bits & 1)) return nearest;
  return bit_cast<f32>(__builtin_fabs(round_trip) < __builtin_fabs(x) ? bits + 1 : bits - 1);
}

// a * b + c of f16 values, rounded to odd. f64 holds the product exactly, and the sum to so many bits below the last of
// f16 that its own rounding never produces a tie.
__device__ inline f32 fma_f16_round_to_odd(f32 a, f32 b, f32 c) { return round_to_odd(f64(a) * f64(b) + f64(c)); }

__device__ inline u16 fma_bf16(u16 a, u16 b, u16 c) {
  const f32 x = bit_cast<f32>(u32(a) << 16), y = bit_cast<f32>(u32(b) << 16), z = bit_cast<f32>(u32(c) << 16);
  const f32 rounded = __builtin_fmaf(x, y, z);
  if ((bit_cast<u32>(rounded) & 0xffff) != 0x8000) return f32_to_bf16(rounded);
  // The f32 result is a tie of bf16: find out on which side the exact value is (2Sum; the product is exact in f64).
  const f64 product = f64(x) * f64(y);
  const f64 addend = f64(z);
  const f64 sum = product + addend;
  const f64 addend_part = sum - product;
  const f64 sum_error = (product - (sum - addend_part)) + (addend - addend_part);
  const f64 remainder = sum - f64(rounded) + sum_error;  // the sign is exact: sum and rounded agree to 24 bits
  const u32 bits = bit_cast<u32>(rounded);
  const u32 ulp_step = remainder == 0 ? 0 : (remainder > 0) == (rounded > 0) ? 1 : ~0u;
  return f32_to_bf16(bit_cast<f32>(bits + ulp_step));
}

__device__ inline i32 f32_to_i32(f32 x) {
  if (x != x) return 0;
  if (x >= 2147483648.0f) return 0x7fffffff;
  return x > -2147483648.0f ? i32(x) : -0x7fffffff - 1;
}

__device__ inline i32 dot4(u32 a, u32 b, i32 sum) {
  using i8 = signed char;
  sum += i32(i8(a)) * i32(i8(b));
  sum += i32(i8(a >> 8)) * i32(i8(b >> 8));
  sum += i32(i8(a >> 16)) * i32(i8(b >> 16));
  return sum + i32(i8(a >> 24)) * i32(i8(b >> 24));
}

}  // namespace candle::portable
