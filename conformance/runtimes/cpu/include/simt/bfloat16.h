// __hip_bfloat16, __hip_bfloat162 and the older hip_bfloat16.
#pragma once
#pragma GCC system_header

#include "fused.h"
#include "integer.h"
#include "small_float.h"
#include "vectors.h"

struct __hip_bfloat16_raw {
  unsigned short x;
};
struct __hip_bfloat162_raw {
  unsigned short x, y;
};

struct __hip_bfloat16 {
 protected:
  unsigned short __x;

 public:
  __hip_bfloat16() = default;
  SIMT_INLINE __hip_bfloat16(const __hip_bfloat16_raw &raw) : __x(raw.x) {}
  SIMT_INLINE __hip_bfloat16(float value) : __x(simt::bfloat16_bits(value)) {}
  SIMT_INLINE __hip_bfloat16(double value) : __x(simt::bfloat16_bits(value)) {}
  // HIP's header leaves integers to clang, which goes through float and rounds twice.
#if defined(SIMT_CUDA)
  typedef double FromInteger;
#else
  typedef float FromInteger;
#endif
#define SIMT_FROM(Integer)                                                                                 \
  SIMT_INLINE __hip_bfloat16(Integer value) : __x(simt::bfloat16_bits(static_cast<FromInteger>(value))) {} \
  SIMT_INLINE __hip_bfloat16 &operator=(Integer value) { return *this = __hip_bfloat16(value); }
  SIMT_FROM(short)
  SIMT_FROM(unsigned short)
  SIMT_FROM(int)
  SIMT_FROM(unsigned)
#undef SIMT_FROM
#if defined(SIMT_CUDA)  // HIP's header is ambiguous for these
  // 64-bit integers may need more than double's 53 bits: round to odd on the way.
#define SIMT_FROM_LONG(Integer)                                                                  \
  SIMT_INLINE __hip_bfloat16(Integer value) : __x(simt::bfloat16_bits(integer_to_odd(value))) {} \
  SIMT_INLINE __hip_bfloat16 &operator=(Integer value) { return *this = __hip_bfloat16(value); }
  SIMT_FROM_LONG(long)
  SIMT_FROM_LONG(unsigned long)
  SIMT_FROM_LONG(long long)
  SIMT_FROM_LONG(unsigned long long)
#undef SIMT_FROM_LONG
#endif
  SIMT_INLINE __hip_bfloat16 &operator=(float value) { return *this = __hip_bfloat16(value); }
  SIMT_INLINE __hip_bfloat16 &operator=(double value) { return *this = __hip_bfloat16(value); }
  SIMT_INLINE __hip_bfloat16 &operator=(const __hip_bfloat16_raw &raw) {
    __x = raw.x;
    return *this;
  }

  SIMT_INLINE operator __hip_bfloat16_raw() const { return {__x}; }
  SIMT_INLINE operator float() const { return simt::bfloat16_value(__x); }
  SIMT_INLINE operator double() const { return simt::bfloat16_value(__x); }
  SIMT_INLINE operator bool() const { return (__x & 0x7fff) != 0; }
  // Towards zero; out of range as the GPU's conversion instructions do.
#define SIMT_TO(Integer, Wide) \
  SIMT_INLINE operator Integer() const { return static_cast<Integer>(simt::saturate<Wide>(simt::bfloat16_value(__x))); }
  SIMT_TO(char, int)
  SIMT_TO(signed char, int)
  SIMT_TO(unsigned char, unsigned)
  SIMT_TO(short, int)
  SIMT_TO(unsigned short, unsigned)
  SIMT_TO(int, int)
  SIMT_TO(unsigned, unsigned)
  SIMT_TO(long, long)
  SIMT_TO(unsigned long, unsigned long)
  SIMT_TO(long long, long long)
  SIMT_TO(unsigned long long, unsigned long long)
#undef SIMT_TO

 private:
#if defined(SIMT_CUDA)
  template <class Integer>
  SIMT_INLINE static double integer_to_odd(Integer value) {
    double nearest = static_cast<double>(value);
    // long double holds every 64-bit integer exactly on x86-64.
    long double difference = static_cast<long double>(nearest) - static_cast<long double>(value);
    uint64_t bits = simt::bit_cast<uint64_t>(nearest);
    if (difference == 0) return nearest;
    if ((difference > 0) == (nearest > 0)) --bits;
    return simt::bit_cast<double>(bits | 1);
  }
#endif
};

struct alignas(4) __hip_bfloat162 {
  __hip_bfloat16 x, y;
  __hip_bfloat162() = default;
  SIMT_INLINE __hip_bfloat162(const __hip_bfloat16 &x_, const __hip_bfloat16 &y_) : x(x_), y(y_) {}
  SIMT_INLINE __hip_bfloat162(const __hip_bfloat162_raw &raw)
      : x(simt::bit_cast<__hip_bfloat16>(raw.x)), y(simt::bit_cast<__hip_bfloat16>(raw.y)) {}
  SIMT_INLINE operator __hip_bfloat162_raw() const { return simt::bit_cast<__hip_bfloat162_raw>(*this); }
  SIMT_INLINE operator float2() const { return float2(static_cast<float>(x), static_cast<float>(y)); }
};

SIMT_INLINE float __bfloat162float(__hip_bfloat16 a) { return simt::bfloat16_value(simt::bit_cast<uint16_t>(a)); }
SIMT_INLINE __hip_bfloat16 __ushort_as_bfloat16(unsigned short bits) { return simt::bit_cast<__hip_bfloat16>(bits); }
SIMT_INLINE __hip_bfloat16 __short_as_bfloat16(short bits) { return simt::bit_cast<__hip_bfloat16>(bits); }
SIMT_INLINE unsigned short __bfloat16_as_ushort(__hip_bfloat16 a) { return simt::bit_cast<unsigned short>(a); }
SIMT_INLINE short __bfloat16_as_short(__hip_bfloat16 a) { return simt::bit_cast<short>(a); }
SIMT_INLINE __hip_bfloat16 __float2bfloat16(float value) { return __ushort_as_bfloat16(simt::bfloat16_bits(value)); }
SIMT_INLINE __hip_bfloat16 __double2bfloat16(double value) { return __ushort_as_bfloat16(simt::bfloat16_bits(value)); }

// Pairs.
SIMT_INLINE __hip_bfloat162 __halves2bfloat162(__hip_bfloat16 a, __hip_bfloat16 b) { return __hip_bfloat162(a, b); }
SIMT_INLINE __hip_bfloat162 __bfloat162bfloat162(__hip_bfloat16 a) { return __hip_bfloat162(a, a); }
SIMT_INLINE __hip_bfloat162 __float22bfloat162_rn(float2 a) {
  return __hip_bfloat162(__float2bfloat16(a.x), __float2bfloat16(a.y));
}
SIMT_INLINE float2 __bfloat1622float2(__hip_bfloat162 a) {
  return float2(__bfloat162float(a.x), __bfloat162float(a.y));
}
SIMT_INLINE __hip_bfloat16 __low2bfloat16(__hip_bfloat162 a) { return a.x; }
SIMT_INLINE __hip_bfloat16 __high2bfloat16(__hip_bfloat162 a) { return a.y; }
SIMT_INLINE __hip_bfloat162 __low2bfloat162(__hip_bfloat162 a) { return __hip_bfloat162(a.x, a.x); }
SIMT_INLINE __hip_bfloat162 __high2bfloat162(__hip_bfloat162 a) { return __hip_bfloat162(a.y, a.y); }
SIMT_INLINE __hip_bfloat162 __lows2bfloat162(__hip_bfloat162 a, __hip_bfloat162 b) { return __hip_bfloat162(a.x, b.x); }
SIMT_INLINE __hip_bfloat162 __highs2bfloat162(__hip_bfloat162 a, __hip_bfloat162 b) {
  return __hip_bfloat162(a.y, b.y);
}
SIMT_INLINE __hip_bfloat162 __lowhigh2highlow(__hip_bfloat162 a) { return __hip_bfloat162(a.y, a.x); }

#define SIMT_T __hip_bfloat16
#define SIMT_T2 __hip_bfloat162
#define SIMT_F(x) __bfloat162float(x)
#define SIMT_R(x) __ushort_as_bfloat16(::simt::bfloat16_bits(x))
#define SIMT_IS_HALF 0
#include "small_functions.inc"

#define SIMT_BFLOAT16_ASSIGNMENT(op, function)                                               \
  SIMT_INLINE __hip_bfloat16 &operator op##=(__hip_bfloat16 & a, const __hip_bfloat16 & b) { \
    return a = function(a, b);                                                               \
  }
#define SIMT_BFLOAT16_OPERATOR(op, function)                                                                          \
  SIMT_INLINE __hip_bfloat16 operator op(const __hip_bfloat16 &a, const __hip_bfloat16 &b) { return function(a, b); } \
  SIMT_BFLOAT16_ASSIGNMENT(op, function)
SIMT_BFLOAT16_OPERATOR(+, __hadd)
SIMT_BFLOAT16_OPERATOR(-, __hsub)
#if defined(SIMT_FUSED_PRODUCTS) && defined(SIMT_CUDA)
SIMT_BFLOAT16_ASSIGNMENT(*, __hmul)
SIMT_INLINE simt::Product<__hip_bfloat16> operator*(const __hip_bfloat16 &a, const __hip_bfloat16 &b) {
  return {__hmul(a, b), a, b};
}
SIMT_FUSED_OPERATORS(__hip_bfloat16)
#else
SIMT_BFLOAT16_OPERATOR(*, __hmul)
#endif
SIMT_BFLOAT16_OPERATOR(/, __hdiv)
#undef SIMT_BFLOAT16_OPERATOR
#undef SIMT_BFLOAT16_ASSIGNMENT
#define SIMT_BFLOAT162_OPERATOR(op, function)                                                   \
  SIMT_INLINE __hip_bfloat162 operator op(const __hip_bfloat162 &a, const __hip_bfloat162 &b) { \
    return function(a, b);                                                                      \
  }                                                                                             \
  SIMT_INLINE __hip_bfloat162 &operator op##=(__hip_bfloat162 & a, const __hip_bfloat162 & b) { \
    return a = function(a, b);                                                                  \
  }
SIMT_BFLOAT162_OPERATOR(+, __hadd2)
SIMT_BFLOAT162_OPERATOR(-, __hsub2)
SIMT_BFLOAT162_OPERATOR(*, __hmul2)
SIMT_BFLOAT162_OPERATOR(/, __h2div)
#undef SIMT_BFLOAT162_OPERATOR
#if !defined(SIMT_CUDA)
SIMT_INLINE bool operator==(const __hip_bfloat162 &a, const __hip_bfloat162 &b) { return __hbeq2(a, b); }
SIMT_INLINE bool operator!=(const __hip_bfloat162 &a, const __hip_bfloat162 &b) { return !(a == b); }
// HIP's header compares the first of `a` with both of `b`, and never the second.
#define SIMT_BFLOAT162_COMPARE(op, function)                                         \
  SIMT_INLINE bool operator op(const __hip_bfloat162 &a, const __hip_bfloat162 &b) { \
    return function(a.x, b.x) && function(a.x, b.y);                                 \
  }
SIMT_BFLOAT162_COMPARE(<, __hlt)
SIMT_BFLOAT162_COMPARE(<=, __hle)
SIMT_BFLOAT162_COMPARE(>, __hgt)
SIMT_BFLOAT162_COMPARE(>=, __hge)
#undef SIMT_BFLOAT162_COMPARE
#endif
SIMT_INLINE __hip_bfloat16 operator+(const __hip_bfloat16 &a) { return a; }
SIMT_INLINE __hip_bfloat16 operator-(const __hip_bfloat16 &a) { return __hneg(a); }
SIMT_INLINE __hip_bfloat162 operator-(const __hip_bfloat162 &a) { return __hneg2(a); }
SIMT_INLINE __hip_bfloat16 &operator++(__hip_bfloat16 &a) { return a = __hadd(a, __float2bfloat16(1.0f)); }
SIMT_INLINE __hip_bfloat16 &operator--(__hip_bfloat16 &a) { return a = __hsub(a, __float2bfloat16(1.0f)); }
SIMT_INLINE __hip_bfloat16 operator++(__hip_bfloat16 &a, int) {
  __hip_bfloat16 old = a;
  ++a;
  return old;
}
SIMT_INLINE __hip_bfloat16 operator--(__hip_bfloat16 &a, int) {
  __hip_bfloat16 old = a;
  --a;
  return old;
}
SIMT_INLINE bool operator==(const __hip_bfloat16 &a, const __hip_bfloat16 &b) { return __heq(a, b); }
SIMT_INLINE bool operator!=(const __hip_bfloat16 &a, const __hip_bfloat16 &b) { return __hneu(a, b); }
SIMT_INLINE bool operator<(const __hip_bfloat16 &a, const __hip_bfloat16 &b) { return __hlt(a, b); }
SIMT_INLINE bool operator>(const __hip_bfloat16 &a, const __hip_bfloat16 &b) { return __hgt(a, b); }
SIMT_INLINE bool operator<=(const __hip_bfloat16 &a, const __hip_bfloat16 &b) { return __hle(a, b); }
SIMT_INLINE bool operator>=(const __hip_bfloat16 &a, const __hip_bfloat16 &b) { return __hge(a, b); }

#define HIPRT_ONE_BF16 __ushort_as_bfloat16(0x3f80u)
#define HIPRT_ZERO_BF16 __ushort_as_bfloat16(0x0000u)
#define HIPRT_NEG_ZERO_BF16 __ushort_as_bfloat16(0x8000u)
#define HIPRT_INF_BF16 __ushort_as_bfloat16(0x7f80u)
#define HIPRT_NAN_BF16 __ushort_as_bfloat16(0x7fffu)
#define HIPRT_MAX_NORMAL_BF16 __ushort_as_bfloat16(0x7f7fu)
#define HIPRT_MIN_DENORM_BF16 __ushort_as_bfloat16(0x0001u)
