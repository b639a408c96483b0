// __half and __half2. The conversions and operators have the shape of AMD's (implicit, templated over the arithmetic
// types, storage not accessible), so that an expression that is ambiguous there is ambiguous here.
#pragma once
#pragma GCC system_header

#include "fused.h"
#include "integer.h"
#include "small_float.h"
#include "vectors.h"

struct __half_raw {
  union {
    unsigned short x;
    _Float16 data;
  };
};

struct __half {
 protected:
  union {
    unsigned short __x;
    _Float16 data;
  };

 public:
  __half() = default;
  SIMT_INLINE __half(const __half_raw &raw) : __x(raw.x) {}
#if !defined(__HIP_NO_HALF_CONVERSIONS__)
  SIMT_INLINE __half(_Float16 value) : data(value) {}
  template <class T, simt::When<simt::is_float<T>> = 0>
  SIMT_INLINE __half(T value) : __x(bits_of(value)) {}
  template <class T, simt::When<simt::is_integer<T>> = 0, int = 0>
  SIMT_INLINE __half(T value) : __x(simt::half_bits(static_cast<double>(value))) {}
#endif
  SIMT_INLINE __half &operator=(const __half_raw &raw) {
    __x = raw.x;
    return *this;
  }
  SIMT_INLINE operator __half_raw() const {
    __half_raw raw;
    raw.x = __x;
    return raw;
  }
#if !defined(__HIP_NO_HALF_CONVERSIONS__)
  template <class T, simt::When<simt::is_float<T>> = 0>
  SIMT_INLINE __half &operator=(T value) {
    return *this = __half(value);
  }
  template <class T, simt::When<simt::is_integer<T>> = 0, int = 0>
  SIMT_INLINE __half &operator=(T value) {
    return *this = __half(value);
  }
  template <class T, simt::When<simt::is_float<T> || simt::same<T, _Float16>> = 0>
  SIMT_INLINE operator T() const {
    return static_cast<T>(simt::half_value(__x));
  }
  // Towards zero; out of range as the GPU's conversion instructions do.
  template <class T, simt::When<simt::is_integer<T>> = 0, int = 0>
  SIMT_INLINE operator T() const {
    if constexpr (simt::same<T, bool>) return simt::half_value(__x) != 0.0f;
#if !defined(SIMT_CUDA) && defined(__clang__)
    else
      return static_cast<T>(data);
#else
    else if constexpr (sizeof(T) < 4)
      return static_cast<T>(simt::saturate<int>(simt::half_value(__x)));
    else
      return simt::saturate<T>(simt::half_value(__x));
#endif
  }
#endif

#if !defined(__HIP_NO_HALF_OPERATORS__)
  SIMT_INLINE __half &operator+=(const __half &b) { return set(value() + b.value()); }
  SIMT_INLINE __half &operator-=(const __half &b) { return set(value() - b.value()); }
  SIMT_INLINE __half &operator*=(const __half &b) { return set(value() * b.value()); }
  SIMT_INLINE __half &operator/=(const __half &b) { return set(value() / b.value()); }
  SIMT_INLINE __half &operator++() { return set(value() + 1.0f); }
  SIMT_INLINE __half &operator--() { return set(value() - 1.0f); }
  SIMT_INLINE __half operator++(int) {
    __half old = *this;
    ++*this;
    return old;
  }
  SIMT_INLINE __half operator--(int) {
    __half old = *this;
    --*this;
    return old;
  }
  SIMT_INLINE __half operator+() const { return *this; }
  SIMT_INLINE __half operator-() const {
    __half result = *this;
    result.__x ^= 0x8000;
    return result;
  }
  friend SIMT_INLINE __half operator+(const __half &a, const __half &b) { return __half(a) += b; }
  friend SIMT_INLINE __half operator-(const __half &a, const __half &b) { return __half(a) -= b; }
#if !defined(SIMT_FUSED_PRODUCTS)
  friend SIMT_INLINE __half operator*(const __half &a, const __half &b) { return __half(a) *= b; }
#endif
  friend SIMT_INLINE __half operator/(const __half &a, const __half &b) { return __half(a) /= b; }
  friend SIMT_INLINE bool operator==(const __half &a, const __half &b) { return a.value() == b.value(); }
  friend SIMT_INLINE bool operator!=(const __half &a, const __half &b) { return a.value() != b.value(); }
  friend SIMT_INLINE bool operator<(const __half &a, const __half &b) { return a.value() < b.value(); }
  friend SIMT_INLINE bool operator>(const __half &a, const __half &b) { return a.value() > b.value(); }
#if defined(SIMT_CUDA)
  friend SIMT_INLINE bool operator<=(const __half &a, const __half &b) { return a.value() <= b.value(); }
  friend SIMT_INLINE bool operator>=(const __half &a, const __half &b) { return a.value() >= b.value(); }
#else  // true with NaN, as in HIP's header
  friend SIMT_INLINE bool operator<=(const __half &a, const __half &b) { return !(b < a); }
  friend SIMT_INLINE bool operator>=(const __half &a, const __half &b) { return !(a < b); }
#endif
#endif

 private:
  SIMT_INLINE static unsigned short bits_of(float value) { return simt::half_bits(value); }
  SIMT_INLINE static unsigned short bits_of(double value) { return simt::half_bits(value); }
  SIMT_INLINE float value() const { return simt::half_value(__x); }
  SIMT_INLINE __half &set(float result) {
    __x = simt::half_bits(result);
    return *this;
  }
};
typedef __half half;

struct __half2_raw {
  unsigned short x, y;
};
struct alignas(4) __half2 {
  __half x, y;

  __half2() = default;
  SIMT_INLINE __half2(const __half &x_, const __half &y_) : x(x_), y(y_) {}
  SIMT_INLINE __half2(const __half2_raw &raw) : x(simt::bit_cast<__half>(raw.x)), y(simt::bit_cast<__half>(raw.y)) {}
  SIMT_INLINE operator __half2_raw() const { return simt::bit_cast<__half2_raw>(*this); }
  SIMT_INLINE operator float2() const { return float2(static_cast<float>(x), static_cast<float>(y)); }
  SIMT_INLINE __half2 &operator+=(const __half2 &b) { return *this = __half2(x + b.x, y + b.y); }
  SIMT_INLINE __half2 &operator-=(const __half2 &b) { return *this = __half2(x - b.x, y - b.y); }
  SIMT_INLINE __half2 &operator*=(const __half2 &b) { return *this = __half2(__half(x) *= b.x, __half(y) *= b.y); }
  SIMT_INLINE __half2 &operator/=(const __half2 &b) { return *this = __half2(x / b.x, y / b.y); }
  SIMT_INLINE __half2 operator-() const { return __half2(-x, -y); }
  friend SIMT_INLINE __half2 operator+(__half2 a, const __half2 &b) { return a += b; }
  friend SIMT_INLINE __half2 operator-(__half2 a, const __half2 &b) { return a -= b; }
  friend SIMT_INLINE __half2 operator*(__half2 a, const __half2 &b) { return a *= b; }
  friend SIMT_INLINE __half2 operator/(__half2 a, const __half2 &b) { return a /= b; }
  friend SIMT_INLINE bool operator==(const __half2 &a, const __half2 &b) { return a.x == b.x && a.y == b.y; }
  friend SIMT_INLINE bool operator!=(const __half2 &a, const __half2 &b) { return a.x != b.x || a.y != b.y; }
#if !defined(SIMT_CUDA)
  friend SIMT_INLINE bool operator<(const __half2 &a, const __half2 &b) { return a.x < b.x && a.y < b.y; }
  friend SIMT_INLINE bool operator>(const __half2 &a, const __half2 &b) { return b < a; }
  friend SIMT_INLINE bool operator<=(const __half2 &a, const __half2 &b) { return !(b < a); }
  friend SIMT_INLINE bool operator>=(const __half2 &a, const __half2 &b) { return !(a < b); }
#endif
};
typedef __half2 half2;

SIMT_INLINE float __half2float(__half a) { return simt::half_value(simt::bit_cast<uint16_t>(a)); }
SIMT_INLINE __half __short_as_half(short bits) { return simt::bit_cast<__half>(bits); }
SIMT_INLINE __half __ushort_as_half(unsigned short bits) { return simt::bit_cast<__half>(bits); }
SIMT_INLINE short __half_as_short(__half a) { return simt::bit_cast<short>(a); }
SIMT_INLINE unsigned short __half_as_ushort(__half a) { return simt::bit_cast<unsigned short>(a); }
SIMT_INLINE __half __float2half(float value) { return __ushort_as_half(simt::half_bits(value)); }
SIMT_INLINE __half __float2half_rn(float value) { return __float2half(value); }
#if defined(SIMT_CUDA)
SIMT_INLINE __half __double2half(double value) { return __ushort_as_half(simt::half_bits(value)); }
#endif

namespace simt {
/// The neighbour of a nearest-rounded half on the wanted side of the exact value; direction -1 down, +1 up, 0 to zero.
SIMT_INLINE __half half_directed(double exact, int direction) {
  uint16_t bits = half_bits(exact);
  double nearest = half_value(bits);
  bool down = direction < 0 || (direction == 0 && exact > 0), up = direction > 0 || (direction == 0 && exact < 0);
  bool negative = bits & 0x8000;
  if (nearest > exact && down) bits = bits == 0 ? 0x8001 : static_cast<uint16_t>(negative ? bits + 1 : bits - 1);
  if (nearest < exact && up) bits = bits == 0x8000 ? 1 : static_cast<uint16_t>(negative ? bits - 1 : bits + 1);
  return bit_cast<__half>(bits);
}
}  // namespace simt
SIMT_INLINE __half __float2half_rz(float value) { return simt::half_directed(value, 0); }
SIMT_INLINE __half __float2half_rd(float value) { return simt::half_directed(value, -1); }
SIMT_INLINE __half __float2half_ru(float value) { return simt::half_directed(value, 1); }

// Integers. Every half is exact in float and every integer up to 2^53 in double; beyond, a half is infinite anyway.
// HIP's functions only have the names of CUDA's roundings: to an integer all truncate, from one all round to nearest.
#if defined(SIMT_CUDA)
#define SIMT_ROUNDED(function, value) function(value)
#define SIMT_DIRECTED(value, direction) simt::half_directed(static_cast<double>(value), direction)
#else
#define SIMT_ROUNDED(function, value) (value)
#define SIMT_DIRECTED(value, direction) __ushort_as_half(simt::half_bits(static_cast<double>(value)))
#endif
#define SIMT_HALF_INTEGER(Integer, name)                                                                \
  SIMT_INLINE __half __##name##2half_rn(Integer value) {                                                \
    return __ushort_as_half(simt::half_bits(static_cast<double>(value)));                               \
  }                                                                                                     \
  SIMT_INLINE __half __##name##2half_rz(Integer value) { return SIMT_DIRECTED(value, 0); }              \
  SIMT_INLINE __half __##name##2half_rd(Integer value) { return SIMT_DIRECTED(value, -1); }             \
  SIMT_INLINE __half __##name##2half_ru(Integer value) { return SIMT_DIRECTED(value, 1); }              \
  SIMT_INLINE Integer __half2##name##_rn(__half a) {                                                    \
    return simt::saturate<Integer>(SIMT_ROUNDED(__builtin_rintf, __half2float(a)));                     \
  }                                                                                                     \
  SIMT_INLINE Integer __half2##name##_rz(__half a) { return simt::saturate<Integer>(__half2float(a)); } \
  SIMT_INLINE Integer __half2##name##_rd(__half a) {                                                    \
    return simt::saturate<Integer>(SIMT_ROUNDED(__builtin_floorf, __half2float(a)));                    \
  }                                                                                                     \
  SIMT_INLINE Integer __half2##name##_ru(__half a) {                                                    \
    return simt::saturate<Integer>(SIMT_ROUNDED(__builtin_ceilf, __half2float(a)));                     \
  }
SIMT_HALF_INTEGER(short, short)
SIMT_HALF_INTEGER(unsigned short, ushort)
SIMT_HALF_INTEGER(int, int)
SIMT_HALF_INTEGER(unsigned, uint)
SIMT_HALF_INTEGER(long long, ll)
SIMT_HALF_INTEGER(unsigned long long, ull)
#undef SIMT_HALF_INTEGER
#undef SIMT_ROUNDED
#undef SIMT_DIRECTED

// Pairs.
SIMT_INLINE __half2 make_half2(__half x, __half y) { return __half2(x, y); }
SIMT_INLINE __half2 __halves2half2(__half low, __half high) { return __half2(low, high); }
SIMT_INLINE __half2 __half2half2(__half a) { return __half2(a, a); }
SIMT_INLINE __half2 __float2half2_rn(float a) { return __half2half2(__float2half(a)); }
SIMT_INLINE __half2 __floats2half2_rn(float a, float b) { return __half2(__float2half(a), __float2half(b)); }
SIMT_INLINE __half2 __float22half2_rn(float2 a) { return __floats2half2_rn(a.x, a.y); }
SIMT_INLINE float2 __half22float2(__half2 a) { return float2(__half2float(a.x), __half2float(a.y)); }
SIMT_INLINE __half __low2half(__half2 a) { return a.x; }
SIMT_INLINE __half __high2half(__half2 a) { return a.y; }
SIMT_INLINE __half2 __low2half2(__half2 a) { return __half2(a.x, a.x); }
SIMT_INLINE __half2 __high2half2(__half2 a) { return __half2(a.y, a.y); }
SIMT_INLINE __half2 __lows2half2(__half2 a, __half2 b) { return __half2(a.x, b.x); }
SIMT_INLINE __half2 __highs2half2(__half2 a, __half2 b) { return __half2(a.y, b.y); }
SIMT_INLINE __half2 __lowhigh2highlow(__half2 a) { return __half2(a.y, a.x); }

#define SIMT_T __half
#define SIMT_T2 __half2
#define SIMT_F(x) __half2float(x)
#define SIMT_R(x) __ushort_as_half(::simt::half_bits(x))
#define SIMT_IS_HALF 1
#include "small_functions.inc"
// NaN when one operand is; HIP has these for __half only.
SIMT_INLINE __half __hmax_nan(__half a, __half b) { return __hisnan(a) ? a : __hisnan(b) ? b : __hmax(a, b); }
SIMT_INLINE __half __hmin_nan(__half a, __half b) { return __hisnan(a) ? a : __hisnan(b) ? b : __hmin(a, b); }

#if defined(SIMT_FUSED_PRODUCTS)
SIMT_INLINE simt::Product<__half> operator*(const __half &a, const __half &b) { return {__hmul(a, b), a, b}; }
SIMT_FUSED_OPERATORS(__half)
#endif

// HIP's keep a NaN and the sign of zero, CUDA's make them +0.
#if defined(SIMT_CUDA)
#define SIMT_CLAMPED(r) __hmin(__hmax(r, __ushort_as_half(0)), __ushort_as_half(0x3c00))
#else
#define SIMT_CLAMPED(r)                                            \
  (__hlt(r, __ushort_as_half(0))        ? __ushort_as_half(0)      \
   : __hgt(r, __ushort_as_half(0x3c00)) ? __ushort_as_half(0x3c00) \
                                        : r)
#endif
#define SIMT_SATURATED(name, call, ...)        \
  SIMT_INLINE __half name##_sat(__VA_ARGS__) { \
    __half r = call;                           \
    return SIMT_CLAMPED(r);                    \
  }
SIMT_SATURATED(__hadd, __hadd(a, b), __half a, __half b)
SIMT_SATURATED(__hsub, __hsub(a, b), __half a, __half b)
SIMT_SATURATED(__hmul, __hmul(a, b), __half a, __half b)
SIMT_SATURATED(__hfma, __hfma(a, b, c), __half a, __half b, __half c)
#undef SIMT_SATURATED
#undef SIMT_CLAMPED
