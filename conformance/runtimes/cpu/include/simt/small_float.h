// Conversions between float, double and the 16- and 8-bit formats, each with one rounding to nearest even.
#pragma once
#pragma GCC system_header

#include "traits.h"

namespace simt {

// ---- one rounding instead of two: round to odd, then to nearest

/// A double as a float rounded to odd: if inexact, the neighbour whose last bit is 1. Rounding the result again, to a
/// format at least two bits narrower, gives what one rounding of the double would.
SIMT_INLINE float narrow_to_odd(double exact) {
  float nearest = static_cast<float>(exact);
  uint32_t bits = bit_cast<uint32_t>(nearest);
  double back = nearest;
  if (back == exact || exact != exact) return nearest;
  if (__builtin_fabs(back) > __builtin_fabs(exact)) --bits;  // towards zero; from infinity to the largest float
  return bit_cast<float>(bits | 1);
}

/// a * b + c as a double rounded to odd, for a and b of at most 26 significant bits, whose product is exact.
SIMT_INLINE double fma_to_odd(double a, double b, double c) {
#if defined(__clang__)
#pragma clang fp reassociate(off) contract(off)
#endif
  double product = a * b;
  double sum = product + c;
  double shared = sum - product;  // the error of the sum, by Knuth's two-sum
  double error = (product - (sum - shared)) + (c - shared);
  uint64_t bits = bit_cast<uint64_t>(sum);
  // An infinite or NaN sum has a NaN error, which compares false.
  if ((error > 0 || error < 0) && (bits & 1) == 0) bits += (error > 0) == (sum > 0) ? 1 : -1ull;
  return bit_cast<double>(bits);
}

// ---- binary16

SIMT_INLINE uint16_t half_bits(float value) {
#if defined(__F16C__)
  return bit_cast<uint16_t>(static_cast<_Float16>(value));
#else
  uint32_t bits = bit_cast<uint32_t>(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  if (magnitude >= 0x47800000) return static_cast<uint16_t>(sign | 0x7c00);  // 65536 and above
  if (magnitude < 0x38800000) {  // below 2^-14: a multiple of 2^-24; the sum's last bits are the rounded multiple
    float scaled = bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (bit_cast<uint32_t>(scaled) - 0x3f000000));
  }
  magnitude += 0xfff + (magnitude >> 13 & 1);
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000) >> 13));
#endif
}
SIMT_INLINE uint16_t half_bits(double value) { return half_bits(narrow_to_odd(value)); }
SIMT_INLINE float half_value(uint16_t bits) {
#if defined(__F16C__)
  return static_cast<float>(bit_cast<_Float16>(bits));
#else
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16, magnitude = bits & 0x7fff;
  if (magnitude >= 0x7c00)
    return bit_cast<float>(sign | 0x7f800000 | (magnitude & 0x3ff) << 13 | (magnitude > 0x7c00) << 22);
  // The exponent is too small by 112; subnormals come out right too, because the product is exact.
  float scaled = bit_cast<float>(magnitude << 13) * 0x1p112f;
  return bit_cast<float>(sign | bit_cast<uint32_t>(scaled));
#endif
}

// ---- bfloat16

SIMT_INLINE uint16_t bfloat16_bits(float value) {
  uint32_t bits = bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
SIMT_INLINE uint16_t bfloat16_bits(double value) { return bfloat16_bits(narrow_to_odd(value)); }
SIMT_INLINE float bfloat16_value(uint16_t bits) { return bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

// ---- 8 bits

/// An 8-bit format. `unsigned_zero` formats (FNUZ) have one zero and one NaN, 0x80, and no infinity.
struct Format8 {
  int mantissa;  // bits of the fraction
  int bias;
  uint8_t largest;   // encoding of the largest finite value
  uint8_t infinity;  // what overflow gives without saturation
  uint8_t nan;
  bool unsigned_zero;
};
inline constexpr Format8 e4m3 = {3, 7, 0x7e, 0x7f, 0x7f, false};
inline constexpr Format8 e5m2 = {2, 15, 0x7b, 0x7c, 0x7f, false};
inline constexpr Format8 e4m3_fnuz = {3, 8, 0x7f, 0x80, 0x80, true};
inline constexpr Format8 e5m2_fnuz = {2, 16, 0x7f, 0x80, 0x80, true};

/// 2^exponent, for exponents of normal doubles.
SIMT_INLINE constexpr double power_of_two(int exponent) {
  return bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

SIMT_INLINE float float8_value(const Format8 &format, uint8_t bits) {
  int magnitude = bits & 0x7f, exponent = magnitude >> format.mantissa,
      fraction = magnitude & ((1 << format.mantissa) - 1);
  if (format.unsigned_zero && bits == 0x80) return __builtin_nanf("");
  double value;
  if (!format.unsigned_zero && magnitude > format.largest)
    value = magnitude == format.infinity && format.infinity != format.nan ? __builtin_inf() : __builtin_nan("");
  else if (exponent == 0)
    value = fraction * power_of_two(1 - format.bias - format.mantissa);
  else
    value = (fraction + (1 << format.mantissa)) * power_of_two(exponent - format.bias - format.mantissa);
  return static_cast<float>(bits & 0x80 ? -value : value);
}

/// Nearest even. What is larger than the largest finite value, infinity included, becomes that value if `saturate`,
/// else the format's infinity (or NaN where it has none). NaN stays NaN.
SIMT_INLINE uint8_t float8_bits(const Format8 &format, double value, bool saturate) {
  uint64_t bits = bit_cast<uint64_t>(value);
  uint8_t sign = static_cast<uint8_t>(bits >> 56 & 0x80);
  if (value != value) return format.unsigned_zero ? format.nan : static_cast<uint8_t>(sign | format.nan);
  double magnitude = __builtin_fabs(value);
  double largest = __builtin_fabs(static_cast<double>(float8_value(format, format.largest)));
  if (magnitude > largest) {
    if (saturate) return static_cast<uint8_t>(sign | format.largest);
    return format.unsigned_zero ? format.nan : static_cast<uint8_t>(sign | format.infinity);
  }
  int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023, least = 1 - format.bias;
  if (exponent < least) exponent = least;
  // In units of the last place: an integer below 2^(mantissa + 1), or that after rounding up to the next power.
  int units = static_cast<int>(__builtin_rint(magnitude * power_of_two(format.mantissa - exponent)));
  int code = ((exponent - least) << format.mantissa) + units;
  if (code == 0 && format.unsigned_zero) return 0;
  return static_cast<uint8_t>(sign | code);
}

}  // namespace simt
