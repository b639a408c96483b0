// Conversions between the element types, and arithmetic on f16 and bf16: in f32, rounded to the type after every
// operation. 24 bits are at least 2p + 2 for both, so that + - * / rounded twice equal the operation rounded once.
#pragma once

#include "types.h"

// _Float16 converts in hardware on AMD GPUs, and on x86 with F16C. Elsewhere the compiler would call a library.
#if defined(__AMDGCN__) || defined(__F16C__)
#define CANDLE_NATIVE_F16 1
#else
#define CANDLE_NATIVE_F16 0
#endif

namespace candle {

// ---- to f32, exact

__device__ inline f32 widen(f32 x) { return x; }

__device__ inline f64 widen(f64 x) { return x; }

__device__ inline f32 widen(bf16 x) { return bit_cast<f32>(u32(x.bits) << 16); }

__device__ inline f32 widen(f16 x) {
#if CANDLE_NATIVE_F16
  return f32(bit_cast<_Float16>(x.bits));
#else
  const u32 sign = u32(x.bits & 0x8000) << 16;
  const u32 magnitude = x.bits & 0x7fff;
  if (magnitude >= 0x7c00) return bit_cast<f32>(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
  // Subnormals: a count of 2^-24, which f32 holds as a normal number.
  const f32 value = magnitude < 0x400 ? f32(magnitude) * 0x1p-24f : bit_cast<f32>((magnitude << 13) + (112u << 23));
  return bit_cast<f32>(sign | bit_cast<u32>(value));
#endif
}

__device__ inline f32 widen(f8 x) {
  const u32 magnitude = x.bits & 0x7f;
  const u16 sign = u16((x.bits & 0x80) << 8);
  // The same fields read as f16 are 2^8 too small, subnormals included; 0x7e00 is f16's NaN.
  return widen(f16{u16(sign | (magnitude == 0x7f ? 0x7e00 : magnitude << 7))}) * 256.0f;
}

// ---- from f32, to nearest even

template <class T>
__device__ T narrow(f32 x);

template <>
__device__ inline f32 narrow<f32>(f32 x) {
  return x;
}

template <>
__device__ inline bf16 narrow<bf16>(f32 x) {
  const u32 bits = bit_cast<u32>(x);
  if (x != x) return bf16{0x7fff};
  return bf16{u16((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

template <>
__device__ inline f16 narrow<f16>(f32 x) {
#if CANDLE_NATIVE_F16
  return f16{bit_cast<u16>(_Float16(x))};
#else
  const u32 bits = bit_cast<u32>(x);
  const u32 magnitude = bits & 0x7fffffff;
  const u32 sign = bits >> 16 & 0x8000;
  if (magnitude > 0x7f800000) return f16{0x7fff};
  if (magnitude >= 0x477ff000) return f16{u16(sign | 0x7c00)};  // 65520, halfway above the largest
  if (magnitude < 0x38800000) {                                 // below 2^-14: 0.5 + x rounds x to a multiple of 2^-24
    return f16{u16(sign | (bit_cast<u32>(bit_cast<f32>(magnitude) + 0.5f) - 0x3f000000))};
  }
  return f16{u16(sign | ((magnitude + 0xfff + (magnitude >> 13 & 1) - (112u << 23)) >> 13))};
#endif
}

// Saturating: infinities and everything above 448 become 448; NaN loses its sign.
template <>
__device__ inline f8 narrow<f8>(f32 x) {
  const u32 bits = bit_cast<u32>(x);
  const u32 magnitude = bits & 0x7fffffff;
  const u32 sign = bits >> 24 & 0x80;
  // Below 2^-6: 2^14 + x rounds x to a multiple of 2^-9, the smallest subnormal.
  const u32 subnormal = bit_cast<u32>(bit_cast<f32>(magnitude) + 0x1p14f) - 0x46800000;
  const u32 normal = (magnitude + 0x7ffff + (magnitude >> 20 & 1) - (120u << 23)) >> 20;
  u32 code = magnitude < 0x3c800000 ? subnormal : normal;
  if (magnitude > 0x43e00000) code = 0x7e;
  if (magnitude > 0x7f800000) return f8{0x7f};
  return f8{u8(sign | code)};
}

// f64 to f32, to odd: the neighbour with an odd last bit unless exact. Rounding that to at most 22 bits to nearest
// equals rounding the f64 once (S. Boldo, G. Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
__device__ inline f32 to_odd(f64 x) {
  const f32 near = f32(x);
  const u32 bits = bit_cast<u32>(near);
  const f64 back = f64(near);
  if (back == x || x != x || (bits & 1)) return near;
  return bit_cast<f32>(__builtin_fabs(back) < __builtin_fabs(x) ? bits + 1 : bits - 1);
}

template <class T>
__device__ inline T narrow(f64 x) {
  if constexpr (same<T, f64>) {
    return x;
  } else if constexpr (is_half<T>) {
    return narrow<T>(to_odd(x));
  } else {
    return narrow<T>(f32(x));  // f8 goes through f32 in Candle: two roundings
  }
}

// A constant written in f64, rounded to T once.
template <class T>
__device__ inline T constant(f64 x) {
  return narrow<T>(x);
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
  return narrow<T>(widen(a) + widen(b));
}
template <class T>
__device__ inline half_only<T> operator-(T a, T b) {
  return narrow<T>(widen(a) - widen(b));
}
template <class T>
__device__ inline half_only<T> operator*(T a, T b) {
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

// ---- a * b + c, rounded once

__device__ inline f32 fused(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }

__device__ inline f64 fused(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }

__device__ inline f16 fused(f16 a, f16 b, f16 c) {
#ifdef __AMDGCN__
  return f16{bit_cast<u16>(
      __builtin_fmaf16(bit_cast<_Float16>(a.bits), bit_cast<_Float16>(b.bits), bit_cast<_Float16>(c.bits)))};
#else
  // f64 holds the product, and the sum far enough below f16's last bit that its rounding never makes a tie.
  return narrow<f16>(f64(widen(a)) * f64(widen(b)) + f64(widen(c)));
#endif
}

__device__ inline bf16 fused(bf16 a, bf16 b, bf16 c) {
  const f32 once = __builtin_fmaf(widen(a), widen(b), widen(c));
  if ((bit_cast<u32>(once) & 0xffff) != 0x8000) return narrow<bf16>(once);
  // The f32 rounding landed on a tie of bf16. Find the side: the product is exact in f64, the sum is not.
  const f64 product = f64(widen(a)) * f64(widen(b));
  const f64 addend = f64(widen(c));
  const f64 sum = product + addend;
  const f64 part = sum - product;
  const f64 lost = (product - (sum - part)) + (addend - part);
  const f64 above = sum - f64(once) + lost;  // exact sign: sum and once agree to 24 bits
  const u32 bits = bit_cast<u32>(once);
  const u32 nudge = above == 0 ? 0 : (above > 0) == (once > 0) ? 1 : ~0u;
  return narrow<bf16>(bit_cast<f32>(bits + nudge));
}

}  // namespace candle
