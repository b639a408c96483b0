// Mathematical functions of device code: the C library's, with the overloads and the extra names that HIP has.
// The float overloads are templates so that a later <cmath>, which declares plain functions, does not clash with them.
#pragma once
#pragma GCC system_header

#include "traits.h"

#ifndef INFINITY
#define INFINITY (__builtin_inff())
#endif
#ifndef NAN
#define NAN (__builtin_nanf(""))
#endif
#ifndef HUGE_VAL
#define HUGE_VAL (__builtin_huge_val())
#define HUGE_VALF (__builtin_huge_valf())
#endif
#ifndef M_PI
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#endif

// clang-format off
#define SIMT_MATH_UNARY(ROW)                                                                              \
  ROW(acos) ROW(acosh) ROW(asin) ROW(asinh) ROW(atan) ROW(atanh) ROW(cbrt) ROW(ceil) ROW(cos) ROW(cosh)   \
  ROW(erf) ROW(erfc) ROW(exp) ROW(exp2) ROW(exp10) ROW(expm1) ROW(fabs) ROW(floor) ROW(lgamma) ROW(log)   \
  ROW(log10) ROW(log1p) ROW(log2) ROW(logb) ROW(nearbyint) ROW(rint) ROW(round) ROW(sin) ROW(sinh)        \
  ROW(sqrt) ROW(tan) ROW(tanh) ROW(tgamma) ROW(trunc)
#define SIMT_MATH_BINARY(ROW)                                                                             \
  ROW(atan2) ROW(copysign) ROW(fdim) ROW(fmax) ROW(fmin) ROW(fmod) ROW(hypot) ROW(nextafter) ROW(pow)     \
  ROW(remainder)
// clang-format on

#define SIMT_DECLARE_UNARY(name)        \
  double name(double x) noexcept(true); \
  float name##f(float x) noexcept(true);
#define SIMT_DECLARE_BINARY(name)                 \
  double name(double x, double y) noexcept(true); \
  float name##f(float x, float y) noexcept(true);

extern "C" {
SIMT_MATH_UNARY(SIMT_DECLARE_UNARY)
SIMT_MATH_BINARY(SIMT_DECLARE_BINARY)
double fma(double x, double y, double z) noexcept(true);
float fmaf(float x, float y, float z) noexcept(true);
double ldexp(double x, int n) noexcept(true);
float ldexpf(float x, int n) noexcept(true);
double scalbn(double x, int n) noexcept(true);
float scalbnf(float x, int n) noexcept(true);
double frexp(double x, int *exponent) noexcept(true);
float frexpf(float x, int *exponent) noexcept(true);
double modf(double x, double *whole) noexcept(true);
float modff(float x, float *whole) noexcept(true);
void sincos(double x, double *sine, double *cosine) noexcept(true);
void sincosf(float x, float *sine, float *cosine) noexcept(true);
int ilogb(double x) noexcept(true);
int ilogbf(float x) noexcept(true);
long lrint(double x) noexcept(true);
long lrintf(float x) noexcept(true);
long lround(double x) noexcept(true);
long lroundf(float x) noexcept(true);
long long llrint(double x) noexcept(true);
long long llrintf(float x) noexcept(true);
long long llround(double x) noexcept(true);
long long llroundf(float x) noexcept(true);
double j0(double x) noexcept(true);
float j0f(float x) noexcept(true);
double j1(double x) noexcept(true);
float j1f(float x) noexcept(true);
int abs(int x) noexcept(true);
long labs(long x) noexcept(true);
long long llabs(long long x) noexcept(true);
}
#undef SIMT_DECLARE_UNARY
#undef SIMT_DECLARE_BINARY

#define SIMT_FLOAT_UNARY(name)                             \
  template <class T, simt::When<simt::same<T, float>> = 0> \
  SIMT_INLINE T name(T x) {                                \
    return name##f(x);                                     \
  }
#define SIMT_FLOAT_BINARY(name)                            \
  template <class T, simt::When<simt::same<T, float>> = 0> \
  SIMT_INLINE T name(T x, T y) {                           \
    return name##f(x, y);                                  \
  }
SIMT_MATH_UNARY(SIMT_FLOAT_UNARY)
SIMT_MATH_BINARY(SIMT_FLOAT_BINARY)
#undef SIMT_FLOAT_UNARY
#undef SIMT_FLOAT_BINARY
#undef SIMT_MATH_UNARY
#undef SIMT_MATH_BINARY

template <class T, simt::When<simt::same<T, float>> = 0>
SIMT_INLINE T fma(T x, T y, T z) {
  return fmaf(x, y, z);
}
template <class T, simt::When<simt::same<T, float>> = 0>
SIMT_INLINE T ldexp(T x, int n) {
  return ldexpf(x, n);
}
template <class T, simt::When<simt::one_of<T, float, double, long, long long>> = 0>
SIMT_INLINE T abs(T x) {
  if constexpr (simt::same<T, float>)
    return fabsf(x);
  else if constexpr (simt::same<T, double>)
    return fabs(x);
  else
    return x < 0 ? -x : x;
}

// Classification. Names with an argument type of float or double only, like the device functions.
#define SIMT_CLASSIFY(name)                                          \
  template <class T, simt::When<simt::one_of<T, float, double>> = 0> \
  SIMT_INLINE bool name(T x) {                                       \
    return __builtin_##name(x);                                      \
  }
#undef isnan
#undef isinf
#undef isfinite
#undef isnormal
#undef signbit
SIMT_CLASSIFY(isnan)
SIMT_CLASSIFY(isinf)
SIMT_CLASSIFY(isfinite)
SIMT_CLASSIFY(isnormal)
SIMT_CLASSIFY(signbit)
#undef SIMT_CLASSIFY

// min and max: of two integers the usual arithmetic conversions, of floats the number when the other is NaN.
template <class A, class B,
          simt::When<(simt::is_integer<A> || simt::is_float<A>) && (simt::is_integer<B> || simt::is_float<B>)> = 0>
SIMT_INLINE auto max(A a, B b) {
  using T = decltype(true ? A() : B());
  if constexpr (simt::same<T, float>)
    return fmaxf(a, b);
  else if constexpr (simt::is_float<T>)
    return fmax(a, b);
  else
    return static_cast<T>(a) < static_cast<T>(b) ? static_cast<T>(b) : static_cast<T>(a);
}
template <class A, class B,
          simt::When<(simt::is_integer<A> || simt::is_float<A>) && (simt::is_integer<B> || simt::is_float<B>)> = 0>
SIMT_INLINE auto min(A a, B b) {
  using T = decltype(true ? A() : B());
  if constexpr (simt::same<T, float>)
    return fminf(a, b);
  else if constexpr (simt::is_float<T>)
    return fmin(a, b);
  else
    return static_cast<T>(b) < static_cast<T>(a) ? static_cast<T>(b) : static_cast<T>(a);
}

// Functions that the C library lacks. Standard definitions; the scaled erfc is a bounded formula, not a library one.
// glibc has sinpi and cospi since 2.41 and rsqrt since 2.42: these are declared as a later <cmath> declares them.
extern "C" {
SIMT_INLINE float rsqrtf(float x) noexcept(true) { return 1.0f / __builtin_sqrtf(x); }
SIMT_INLINE double rsqrt(double x) noexcept(true) { return 1.0 / __builtin_sqrt(x); }
SIMT_INLINE double sinpi(double x) noexcept(true) { return sin((x - 2.0 * __builtin_rint(x * 0.5)) * M_PI); }
SIMT_INLINE double cospi(double x) noexcept(true) { return cos((x - 2.0 * __builtin_rint(x * 0.5)) * M_PI); }
SIMT_INLINE float sinpif(float x) noexcept(true) { return static_cast<float>(sinpi(static_cast<double>(x))); }
SIMT_INLINE float cospif(float x) noexcept(true) { return static_cast<float>(cospi(static_cast<double>(x))); }
}
template <class T, simt::When<simt::same<T, float>> = 0>
SIMT_INLINE T rsqrt(T x) {
  return rsqrtf(x);
}
SIMT_INLINE float rcbrtf(float x) { return 1.0f / cbrtf(x); }
SIMT_INLINE double rcbrt(double x) { return 1.0 / cbrt(x); }
SIMT_INLINE double normcdf(double x) {
  // In the lower tail the rounding of x / sqrt(2) is magnified by x * x: it is put back by erfc's derivative. From
  // -38.6 on the result is 0.
  double t = -x * M_SQRT1_2;
  double tail = erfc(t);
  if (!(x < -1.0 && x > -40.0)) return 0.5 * tail;
  double error = __builtin_fma(-x, M_SQRT1_2, -t) + x * 4.8336466567264567e-17;  // sqrt(1/2) - M_SQRT1_2 = -4.83e-17
  return 0.5 * (tail - error * 1.12837916709551257390 * exp(-t * t));
}
// Through double: in float the rounding of x / sqrt(2) is magnified by x * x in the lower tail.
SIMT_INLINE float normcdff(float x) { return static_cast<float>(normcdf(static_cast<double>(x))); }
template <class T, simt::When<simt::same<T, float>> = 0>
SIMT_INLINE T normcdf(T x) {
  return normcdff(x);
}
SIMT_INLINE double erfcx(double x) {
  // exp(x*x) * erfc(x), with the rounding error of x*x put back; from 25 on erfc is near underflow and the
  // asymptotic series 1/(x sqrt(pi)) (1 - 1/(2x^2) + 3/(4x^4) - 15/(8x^6)) is exact to the last bits.
  if (x < 25.0) {
    double square = x * x;
    double error = __builtin_fma(x, x, -square);
    return exp(square) * erfc(x) * (1.0 + error);
  }
  double inverse = 1.0 / (x * x);
  return (1.0 - 0.5 * inverse * (1.0 - 1.5 * inverse * (1.0 - 2.5 * inverse))) / (x * 1.77245385090551602730);
}
SIMT_INLINE float erfcxf(float x) { return static_cast<float>(erfcx(static_cast<double>(x))); }
SIMT_INLINE void sincospi(double x, double *sine, double *cosine) {
  double r = x - 2.0 * __builtin_rint(x * 0.5);
  sincos(r * M_PI, sine, cosine);
}
SIMT_INLINE float norm3df(float x, float y, float z) { return sqrtf(x * x + y * y + z * z); }
SIMT_INLINE float rhypotf(float x, float y) { return 1.0f / hypotf(x, y); }

SIMT_INLINE float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }

// Arithmetic that names its rounding. Nothing may be contracted into a multiply-add across these.
namespace simt {
template <class T>
SIMT_INLINE T opaque(T x) {
#if defined(__x86_64__)
  __asm__("" : "+x"(x));
#else
  __asm__("" : "+w"(x));
#endif
  return x;
}
}  // namespace simt
SIMT_INLINE float __fadd_rn(float a, float b) { return simt::opaque(simt::opaque(a) + simt::opaque(b)); }
SIMT_INLINE float __fsub_rn(float a, float b) { return simt::opaque(simt::opaque(a) - simt::opaque(b)); }
SIMT_INLINE float __fmul_rn(float a, float b) { return simt::opaque(a * b); }
SIMT_INLINE float __fdiv_rn(float a, float b) { return a / b; }
SIMT_INLINE float __frcp_rn(float a) { return 1.0f / a; }
SIMT_INLINE float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
SIMT_INLINE double __dadd_rn(double a, double b) { return simt::opaque(simt::opaque(a) + simt::opaque(b)); }
SIMT_INLINE double __dsub_rn(double a, double b) { return simt::opaque(simt::opaque(a) - simt::opaque(b)); }
SIMT_INLINE double __dmul_rn(double a, double b) { return simt::opaque(a * b); }
SIMT_INLINE double __ddiv_rn(double a, double b) { return a / b; }
SIMT_INLINE double __drcp_rn(double a) { return 1.0 / a; }
SIMT_INLINE double __dsqrt_rn(double a) { return __builtin_sqrt(a); }
SIMT_INLINE double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }
