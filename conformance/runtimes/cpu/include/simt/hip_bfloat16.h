// hip_bfloat16, HIP's older type.
#pragma once
#pragma GCC system_header

#include "small_float.h"

/// Explicit from float, implicit to float, storage called data.
struct hip_bfloat16 {
  uint16_t data;
  enum truncate_t { truncate };
  hip_bfloat16() = default;
  SIMT_INLINE explicit hip_bfloat16(float value) : data(simt::bfloat16_bits(value)) {}
  SIMT_INLINE explicit hip_bfloat16(float value, truncate_t)
      : data(static_cast<uint16_t>(simt::bit_cast<uint32_t>(value) >> 16 | (value != value))) {}
  SIMT_INLINE hip_bfloat16 &operator=(const float &value) { return *this = hip_bfloat16(value); }
  SIMT_INLINE operator float() const { return simt::bfloat16_value(data); }
  SIMT_INLINE static hip_bfloat16 round_to_bfloat16(float value) { return hip_bfloat16(value); }
  SIMT_INLINE static hip_bfloat16 round_to_bfloat16(float value, truncate_t) { return hip_bfloat16(value, truncate); }
};
#define SIMT_OLD_OPERATOR(op)                                            \
  SIMT_INLINE hip_bfloat16 operator op(hip_bfloat16 a, hip_bfloat16 b) { \
    return hip_bfloat16(static_cast<float>(a) op static_cast<float>(b)); \
  }                                                                      \
  SIMT_INLINE hip_bfloat16 &operator op##=(hip_bfloat16 & a, hip_bfloat16 b) { return a = a op b; }
SIMT_OLD_OPERATOR(+)
SIMT_OLD_OPERATOR(-)
SIMT_OLD_OPERATOR(*)
SIMT_OLD_OPERATOR(/)
#undef SIMT_OLD_OPERATOR
#define SIMT_OLD_COMPARE(op, result) \
  SIMT_INLINE bool operator op(hip_bfloat16 a, hip_bfloat16 b) { return result; }
SIMT_OLD_COMPARE(==, static_cast<float>(a) == static_cast<float>(b))
SIMT_OLD_COMPARE(<, static_cast<float>(a) < static_cast<float>(b))
SIMT_OLD_COMPARE(!=, !(a == b))
SIMT_OLD_COMPARE(>, b < a)
// Negations, as in AMD's header from 5.2 to 7.2: true of NaN.
SIMT_OLD_COMPARE(<=, !(a > b))
SIMT_OLD_COMPARE(>=, !(a < b))
#undef SIMT_OLD_COMPARE
SIMT_INLINE hip_bfloat16 &operator++(hip_bfloat16 &a) { return a += hip_bfloat16(1.0f); }
SIMT_INLINE hip_bfloat16 &operator--(hip_bfloat16 &a) { return a -= hip_bfloat16(1.0f); }
SIMT_INLINE hip_bfloat16 operator++(hip_bfloat16 &a, int) {
  hip_bfloat16 old = a;
  ++a;
  return old;
}
SIMT_INLINE hip_bfloat16 operator--(hip_bfloat16 &a, int) {
  hip_bfloat16 old = a;
  --a;
  return old;
}
SIMT_INLINE hip_bfloat16 operator+(hip_bfloat16 a) { return a; }
SIMT_INLINE hip_bfloat16 operator-(hip_bfloat16 a) {
  a.data ^= 0x8000;
  return a;
}
