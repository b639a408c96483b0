// AMD's device library of mathematics, which HIP sources may call by its own names or give as an asm label.
#pragma once
#pragma GCC system_header

#include "approximate.h"

// clang-format off
#define SIMT_OCML_UNARY(ROW)                                                                              \
  ROW(acos) ROW(acosh) ROW(asin) ROW(asinh) ROW(atan) ROW(atanh) ROW(cbrt) ROW(ceil) ROW(cos) ROW(cosh)   \
  ROW(erf) ROW(erfc) ROW(erfcx) ROW(exp) ROW(exp2) ROW(exp10) ROW(expm1) ROW(fabs) ROW(floor)             \
  ROW(lgamma) ROW(log) ROW(log10) ROW(log1p) ROW(log2) ROW(logb) ROW(nearbyint) ROW(rcbrt) ROW(rint)      \
  ROW(round) ROW(rsqrt) ROW(sin) ROW(sinh) ROW(sinpi) ROW(cospi) ROW(sqrt) ROW(tan) ROW(tanh)             \
  ROW(tgamma) ROW(trunc) ROW(j0) ROW(j1)
#define SIMT_OCML_BINARY(ROW)                                                                             \
  ROW(atan2) ROW(copysign) ROW(fdim) ROW(fmax) ROW(fmin) ROW(fmod) ROW(hypot) ROW(nextafter) ROW(pow)     \
  ROW(remainder)
#define SIMT_OCML_HALF(ROW)                                                                               \
  ROW(ceil) ROW(cos) ROW(exp) ROW(exp2) ROW(exp10) ROW(fabs) ROW(floor) ROW(log) ROW(log10) ROW(log2)     \
  ROW(rint) ROW(rsqrt) ROW(sin) ROW(sqrt) ROW(trunc)
#define SIMT_OCML_NATIVE(ROW) ROW(cos) ROW(exp) ROW(exp10) ROW(log) ROW(log10) ROW(log2) ROW(sin) ROW(sqrt)
// clang-format on

#define SIMT_UNARY(name)                                                \
  SIMT_INLINE float __ocml_##name##_f32(float x) { return name##f(x); } \
  SIMT_INLINE double __ocml_##name##_f64(double x) { return name(x); }
#define SIMT_BINARY(name)                                                           \
  SIMT_INLINE float __ocml_##name##_f32(float x, float y) { return name##f(x, y); } \
  SIMT_INLINE double __ocml_##name##_f64(double x, double y) { return name(x, y); }
#define SIMT_HALF(name) \
  SIMT_INLINE _Float16 __ocml_##name##_f16(_Float16 x) { return static_cast<_Float16>(name##f(static_cast<float>(x))); }
#define SIMT_NATIVE(name) \
  SIMT_INLINE float __ocml_native_##name##_f32(float x) { return simt::approximate::name(x); }
#define SIMT_EACH(suffix, T, fused, length)                                             \
  SIMT_INLINE T __ocml_fma_##suffix(T x, T y, T z) { return fused; }                    \
  SIMT_INLINE int __ocml_isnan_##suffix(T x) { return __builtin_isnan(x); }             \
  SIMT_INLINE int __ocml_isinf_##suffix(T x) { return __builtin_isinf(x); }             \
  SIMT_INLINE int __ocml_isfinite_##suffix(T x) { return __builtin_isfinite(x); }       \
  SIMT_INLINE int __ocml_signbit_##suffix(T x) { return __builtin_signbit(x); }         \
  SIMT_INLINE T __ocml_ldexp_##suffix(T x, int n) { return ldexp(x, n); }               \
  SIMT_INLINE T __ocml_scalbn_##suffix(T x, int n) { return ldexp(x, n); }              \
  SIMT_INLINE T __ocml_pown_##suffix(T x, int n) { return pow(x, static_cast<T>(n)); }  \
  SIMT_INLINE T __ocml_ncdf_##suffix(T x) { return normcdf(x); }                        \
  SIMT_INLINE T __ocml_rhypot_##suffix(T x, T y) { return static_cast<T>(1) / length; } \
  SIMT_INLINE int __ocml_ilogb_##suffix(T x) { return __builtin_ilogb(static_cast<double>(x)); }

extern "C" {
SIMT_OCML_UNARY(SIMT_UNARY)
SIMT_OCML_BINARY(SIMT_BINARY)
SIMT_OCML_HALF(SIMT_HALF)
SIMT_OCML_NATIVE(SIMT_NATIVE)
SIMT_EACH(f32, float, __builtin_fmaf(x, y, z), hypotf(x, y))
SIMT_EACH(f64, double, __builtin_fma(x, y, z), hypot(x, y))
}
#undef SIMT_UNARY
#undef SIMT_BINARY
#undef SIMT_HALF
#undef SIMT_NATIVE
#undef SIMT_EACH
#undef SIMT_OCML_UNARY
#undef SIMT_OCML_BINARY
#undef SIMT_OCML_HALF
#undef SIMT_OCML_NATIVE
