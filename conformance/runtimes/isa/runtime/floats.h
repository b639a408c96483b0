// Arithmetic as the manuals and the hardware have it where C++ has it otherwise.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "machine.h"

namespace isa {

inline u32 bits_of(f32 x) { return std::bit_cast<u32>(x); }
inline u64 bits_of(f64 x) { return std::bit_cast<u64>(x); }
inline u16 bits_of(f16 x) { return std::bit_cast<u16>(x); }

template <class T>
T quiet(T x) {
  return x + x;
}

template <class T>
bool negative(T x) {
  return bits_of(x) >> (8 * sizeof(T) - 1);
}
template <class T>
bool signalling(T x) {
  constexpr int quiet_bit = sizeof(T) == 2 ? 9 : sizeof(T) == 4 ? 22 : 51;
  return x != x && !(bits_of(x) >> quiet_bit & 1);
}

// v_max_num and v_min_num of RDNA 4: a number before a NaN, and +0 above -0.
template <class T>
T maximum_number(T a, T b) {
  if (a != a) return b != b ? quiet(a) : b;
  if (b != b) return a;
  if (a == b) return negative(a) ? b : a;
  return a > b ? a : b;
}
template <class T>
T minimum_number(T a, T b) {
  if (a != a) return b != b ? quiet(a) : b;
  if (b != b) return a;
  if (a == b) return negative(a) ? a : b;
  return a < b ? a : b;
}

// v_max and v_min before: a signalling NaN before a number, made quiet (mode IEEE, which all kernels have).
template <class T>
T maximum(T a, T b) {
  return signalling(a) ? quiet(a) : signalling(b) ? quiet(b) : maximum_number(a, b);
}
template <class T>
T minimum(T a, T b) {
  return signalling(a) ? quiet(a) : signalling(b) ? quiet(b) : minimum_number(a, b);
}

// v_maximum and v_minimum of RDNA 4: a NaN before a number.
template <class T>
T ieee_maximum(T a, T b) {
  return a != a ? quiet(a) : b != b ? quiet(b) : maximum_number(a, b);
}
template <class T>
T ieee_minimum(T a, T b) {
  return a != a ? quiet(a) : b != b ? quiet(b) : minimum_number(a, b);
}

// v_med3: with a NaN among the three it is v_min3.
template <class T, auto least, auto most>
T median(T a, T b, T c) {
  if (a != a || b != b || c != c) return least(least(a, b), c);
  return most(least(a, b), least(most(a, b), c));
}

// `x` held at the ends of an integer type.
template <class I, class X>
I saturated(X x) {
  return static_cast<I>(std::clamp<X>(x, std::numeric_limits<I>::min(), std::numeric_limits<I>::max()));
}

// To nearest even in one step: through float, rounded to odd.
inline f16 half_of(f64 x) {
  f32 f = static_cast<f32>(x);
  if (static_cast<f64>(f) != x && x == x) {
    u32 bits = bits_of(f);
    if (std::fabs(static_cast<f64>(f)) > std::fabs(x)) --bits;
    f = std::bit_cast<f32>(bits | 1);
  }
  return static_cast<f16>(f);
}

inline f16 fused(f16 a, f16 b, f16 c) {
  return half_of(std::fma(static_cast<f64>(a), static_cast<f64>(b), static_cast<f64>(c)));
}
inline f32 fused(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
inline f64 fused(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }

// f16 towards zero: a number that is too large is the largest.
inline u32 cut_half_bits(f32 x) {
  const f16 near = static_cast<f16>(x);
  return std::fabs(static_cast<f32>(near)) > std::fabs(x) ? bits_of(near) - 1u : bits_of(near);
}
// bf16 to nearest even.
inline u32 brain_float(f32 x) {
  const u32 bits = bits_of(x);
  return x != x ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

// v_mad and v_mac, which flush subnormal numbers whatever the mode, and round the product.
inline f32 flushed(f32 x) { return std::fabs(x) < std::numeric_limits<f32>::min() ? std::copysign(0.0f, x) : x; }
inline f32 unfused(f32 a, f32 b, f32 c) { return flushed(flushed(flushed(a) * flushed(b)) + flushed(c)); }

// v_cvt to integers: held at the ends, 0 for NaN.
template <class I, class F>
I to_integer(F x) {
  constexpr F low = static_cast<F>(std::numeric_limits<I>::min());
  constexpr F high = -low;  // of signed types
  if (x != x) return 0;
  if constexpr (std::is_signed_v<I>) {
    if (x >= high) return std::numeric_limits<I>::max();
    if (x <= low) return std::numeric_limits<I>::min();
    return static_cast<I>(x);
  } else {
    constexpr F limit = static_cast<F>(F{4294967296.0});
    if (x >= (sizeof(I) == 4 ? limit : F(65536))) return std::numeric_limits<I>::max();
    if (x <= F{0}) return 0;
    return static_cast<I>(x);
  }
}

// v_frexp_exp of 0, infinity and NaN is 0, v_frexp_mant these themselves.
template <class T>
i32 exponent_of(T x) {
  if (x == T{0} || !std::isfinite(x)) return 0;
  int e;
  std::frexp(x, &e);
  return e;
}
template <class T>
T mantissa_of(T x) {
  if (x == T{0} || !std::isfinite(x)) return x;
  int e;
  return static_cast<T>(std::frexp(x, &e));
}

// v_fract: below 1 also for tiny negative numbers.
template <class T>
T fraction(T x) {
  using Wide = std::conditional_t<sizeof(T) == 8, f64, f32>;
  constexpr Wide most = sizeof(T) == 8 ? Wide(0x1.fffffffffffffp-1) : sizeof(T) == 4 ? 0x1.fffffep-1f : 0x1.ffcp-1f;
  const Wide wide = static_cast<Wide>(x);
  if (!std::isfinite(wide)) return static_cast<T>(std::numeric_limits<f32>::quiet_NaN());
  return static_cast<T>(std::fmin(wide - std::floor(wide), most));
}

template <class T>
struct Format;
template <>
struct Format<f16> {
  static constexpr int bias = 15, mantissa = 10, top = 31;
};
template <>
struct Format<f32> {
  static constexpr int bias = 127, mantissa = 23, top = 255;
};
template <>
struct Format<f64> {
  static constexpr int bias = 1023, mantissa = 52, top = 2047;
};

template <class T>
int biased_exponent(T x) {
  return static_cast<int>(bits_of(x) >> Format<T>::mantissa) & Format<T>::top;
}

// v_cmp_class: whether `x` is of one of the classes in `wanted`.
template <class T>
bool in_class(T x, u32 wanted) {
  using F = Format<T>;
  const auto bits = bits_of(x);
  const auto fraction_bits = bits & ((decltype(bits){1} << F::mantissa) - 1);
  const bool negative = bits >> (8 * sizeof(T) - 1) & 1;
  const int exponent = biased_exponent(x);
  int number;
  if (exponent == F::top)
    number = fraction_bits ? (fraction_bits >> (F::mantissa - 1) & 1 ? 1 : 0) : negative ? 2 : 9;
  else if (exponent == 0)
    number = fraction_bits ? (negative ? 4 : 7) : negative ? 5 : 6;
  else
    number = negative ? 3 : 8;
  return wanted >> number & 1;
}

// v_div_scale: `x` (the numerator or the denominator) scaled so that the quotient can be computed without over- or
// underflow; `fixes` says that v_div_fmas has to scale the result.
template <class T>
T division_scale(T x, T denominator, T numerator, bool &fixes) {
  constexpr int scale = sizeof(T) == 4 ? 64 : 128;
  fixes = false;
  const int n = biased_exponent(numerator), d = biased_exponent(denominator);
  if (numerator == T{0} || denominator == T{0}) return std::numeric_limits<T>::quiet_NaN();
  const bool is_denominator = bits_of(x) == bits_of(denominator);
  const bool is_numerator = bits_of(x) == bits_of(numerator);
  if (n - d >= (sizeof(T) == 4 ? 96 : 768)) {  // the quotient may overflow
    fixes = true;
    return is_denominator ? std::ldexp(x, scale) : x;
  }
  if (d == 0) return std::ldexp(x, scale);  // the denominator is subnormal
  const T reciprocal = T{1} / denominator, quotient = numerator / denominator;
  const auto subnormal = [](T y) { return biased_exponent(y) == 0; };
  if (subnormal(reciprocal) && subnormal(quotient)) {
    fixes = true;
    return is_denominator ? std::ldexp(x, -scale) : x;
  }
  if (subnormal(reciprocal)) return std::ldexp(x, -scale);
  if (subnormal(quotient)) {
    fixes = true;
    return is_numerator ? std::ldexp(x, scale) : x;
  }
  if (n <= (sizeof(T) == 4 ? 23 : 53)) return std::ldexp(x, scale);  // the numerator is small
  return x;
}

// The sum rounded to odd: rounded once more, to less digits, it is as if it had been rounded once.
inline __float128 sum_to_odd(__float128 a, __float128 b) {
  const __float128 sum = a + b, of_b = sum - a, lost = (a - (sum - of_b)) + (b - of_b);
  if (lost == 0) return sum;
  auto bits = std::bit_cast<unsigned __int128>(sum);
  if ((lost < 0) != (sum < 0)) --bits;
  return std::bit_cast<__float128>(bits | 1);
}

// v_div_fmas where v_div_scale said that the result has to be scaled back; rounded once.
template <class T>
T division_fmas(T a, T b, T c) {
  constexpr int scale = sizeof(T) == 4 ? 64 : 128;
  const f64 by = std::ldexp(1.0, biased_exponent(c) > Format<T>::bias ? scale : -scale);
  if (!std::isfinite(a) || !std::isfinite(b) || !std::isfinite(c)) return static_cast<T>(fused(a, b, c) * by);
  const __float128 exact = sum_to_odd(static_cast<__float128>(a) * b, c);
  if (exact == 0) return fused(a, b, c);
  return static_cast<T>(exact * by);
}

// v_div_fixup: the special cases of numerator / denominator; else `q` with the sign of the quotient.
template <class T>
T division_fixup(T q, T denominator, T numerator) {
  const f64 n = static_cast<f64>(numerator), d = static_cast<f64>(denominator);
  const bool negative = std::signbit(n) != std::signbit(d);
  const auto with_sign = [negative](f64 x) { return static_cast<T>(negative ? -x : x); };
  constexpr f64 infinity = std::numeric_limits<f64>::infinity();
  if (n != n) return quiet(numerator);
  if (d != d) return quiet(denominator);
  if ((n == 0 && d == 0) || (std::isinf(n) && std::isinf(d)))
    return static_cast<T>(-std::numeric_limits<f32>::quiet_NaN());
  if (d == 0 || std::isinf(n)) return with_sign(infinity);
  if (std::isinf(d) || n == 0) return with_sign(0.0);
  if (sizeof(T) != 2 && biased_exponent(numerator) - biased_exponent(denominator) < (sizeof(T) == 4 ? -150 : -1075))
    return with_sign(0.0);
  // The manuals ask for the exponent of the denominator here, which is finite by now.
  if (sizeof(T) != 2 && biased_exponent(q) == Format<T>::top) return with_sign(infinity);
  return static_cast<T>(std::copysign(static_cast<f64>(q), negative ? -1.0 : 1.0));
}

}  // namespace isa
