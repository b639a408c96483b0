// Casts, defined for every input. In C++ a cast of NaN or of a value out of range is undefined, and CPUs, AMD GPUs and
// NVIDIA GPUs differ; every such case is spelled out here.
#pragma once

#include "arithmetic.h"

namespace candle {

// Truncates and saturates. NaN: 0 from f32, 2^31 from f64.
template <class F>
__device__ inline u32 to_u32(F x) {
  if (x != x) return is_same<F, f64> ? 0x80000000 : 0;
  if (x >= F(4294967296.0)) return 0xffffffff;
  return x > F(0) ? u32(x) : 0;
}

// Truncates and saturates. NaN: 0.
__device__ inline i32 to_i32(f32 x) { return target::f32_to_i32(x); }

// Truncates and saturates. NaN: the minimum of i64.
template <class F>
__device__ inline i64 to_i64(F x) {
  constexpr i64 greatest = 0x7fffffffffffffff;
  if (x >= F(9223372036854775808.0)) return greatest;
  return x > F(-9223372036854775808.0) ? i64(x) : -greatest - 1;
}

// Values of more than 24 bits: the low eight bits become one sticky bit, far below the last bit of any 16-bit float, so
// that rounding the f32 to such a float equals rounding x once.
__device__ inline f32 to_f32_sticky(u32 x) { return f32(x >> 24 ? (x & ~0xffu) | ((x & 0xff) != 0) << 8 : x); }

template <class To, class From>
__device__ inline To convert(From x) {
  if constexpr (is_same<To, From>) {
    return x;
  } else if constexpr (is_integer<From> && is_integer<To>) {
    return To(x);
  } else if constexpr (is_same<To, u8>) {
    return u8(to_u32(widen(x)));  // GPUs have no conversion to 8 bits: the low byte of the u32
  } else if constexpr (is_same<To, u32>) {
    return to_u32(widen(x));
  } else if constexpr (is_same<To, i32>) {
    return to_i32(widen(x));
  } else if constexpr (is_same<To, i64>) {
    return to_i64(widen(x));
  } else if constexpr (is_same<To, f32> || is_same<To, f64>) {
    if constexpr (is_integer<From>) {
      return To(x);
    } else {
      return To(widen(x));
    }
  } else if constexpr (is_half<To> && is_same<From, u32>) {
    return narrow<To>(to_f32_sticky(x));
  } else if constexpr (is_integer<From>) {
    return narrow<To>(f32(x));
  } else {
    return narrow<To>(widen(x));
  }
}

}  // namespace candle
