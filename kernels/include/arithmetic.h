// Conversions between the element types, and arithmetic on f16 and bf16, rounded to the type after every operation. It
// is computed in f32 where the target has none: the 24 bits of f32 are at least 2p + 2 for both types, so that for
// + - * / rounding twice equals rounding once.
#pragma once

#include "target.h"

namespace candle {

// ---- to f32, exact

__device__ inline f32 widen(f32 x) { return x; }

__device__ inline f64 widen(f64 x) { return x; }

__device__ inline f32 widen(bf16 x) { return bit_cast<f32>(u32(x.bits) << 16); }

__device__ inline f32 widen(f16 x) { return target::f16_to_f32(x.bits); }

__device__ inline f32 widen(f8 x) { return target::f8_to_f32(x.bits); }

// ---- from f32, to nearest even

template <class T>
__device__ T narrow(f32 x);

template <>
__device__ inline f32 narrow<f32>(f32 x) {
  return x;
}

template <>
__device__ inline bf16 narrow<bf16>(f32 x) {
  return bf16{target::f32_to_bf16(x)};
}

template <>
__device__ inline f16 narrow<f16>(f32 x) {
  return f16{target::f32_to_f16(x)};
}

// Saturates: infinities and everything above 448 become 448. NaN loses its sign.
template <>
__device__ inline f8 narrow<f8>(f32 x) {
  return f8{target::f32_to_f8(x)};
}

template <class T>
__device__ inline T narrow(f64 x) {
  if constexpr (is_same<T, f64>) {
    return x;
  } else if constexpr (is_half<T>) {
    return narrow<T>(portable::round_to_odd(x));
  } else {
    return narrow<T>(f32(x));  // f8 is rounded twice, through f32, as in Candle
  }
}

// An f64 constant, rounded to T once. The portable conversions are integer code, which compilers fold; inline assembly
// they do not.
template <class T>
__device__ inline T constant(f64 x) {
  if constexpr (is_same<T, f16>) {
    return f16{portable::f32_to_f16(portable::round_to_odd(x))};
  } else if constexpr (is_same<T, bf16>) {
    return bf16{portable::f32_to_bf16(portable::round_to_odd(x))};
  } else {
    return T(x);
  }
}

// ---- arithmetic on f16 and bf16

template <class T>
struct enable_half {};
template <>
struct enable_half<f16> {
  using type = f16;
};
template <>
struct enable_half<bf16> {
  using type = bf16;
};
template <class T>
using half_only = typename enable_half<T>::type;

template <class T>
__device__ inline half_only<T> operator+(T a, T b) {
  if constexpr (target::adds<T>) return target::add(a, b);
  return narrow<T>(widen(a) + widen(b));
}
template <class T>
__device__ inline half_only<T> operator-(T a, T b) {
  if constexpr (target::adds<T>) return target::add(a, T{u16(b.bits ^ 0x8000)});
  return narrow<T>(widen(a) - widen(b));
}
template <class T>
__device__ inline half_only<T> operator*(T a, T b) {
  if constexpr (target::adds<T>) return target::multiply(a, b);
  return narrow<T>(widen(a) * widen(b));
}
template <class T>
__device__ inline half_only<T> operator/(T a, T b) {
  return narrow<T>(widen(a) / widen(b));
}
template <class T>
__device__ inline half_only<T> operator-(T a) {
  return T{u16(a.bits ^ 0x8000)};
}

// ---- a * b + c, rounded once; not ::fma, which has no f16 and bf16

__device__ inline f32 fma(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }

__device__ inline f64 fma(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }

__device__ inline f16 fma(f16 a, f16 b, f16 c) { return f16{target::fma_f16(a.bits, b.bits, c.bits)}; }

__device__ inline bf16 fma(bf16 a, bf16 b, bf16 c) { return bf16{target::fma_bf16(a.bits, b.bits, c.bits)}; }

}  // namespace candle
