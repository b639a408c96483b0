// The 8-bit types: OCP e4m3 and e5m2, and the FNUZ forms of gfx942, with AMD's names. Constructors saturate.
#pragma once
#pragma GCC system_header

#include "bfloat16.h"
#include "half.h"

enum __hip_fp8_interpretation_t { __HIP_E4M3 = 0, __HIP_E5M2 = 1, __HIP_E4M3_FNUZ = 2, __HIP_E5M2_FNUZ = 3 };
enum __hip_saturation_t { __HIP_NOSAT = 0, __HIP_SATFINITE = 1 };
typedef unsigned char __hip_fp8_storage_t;
typedef unsigned short int __hip_fp8x2_storage_t;
typedef unsigned int __hip_fp8x4_storage_t;

// The formats that AMD's header converts in code for the GPU of --arch; with the others it stops at an assert
// (amd_hip_fp8.h of ROCm 6.4 and 7.2).
#if !defined(SIMT_CUDA) && defined(__gfx942__)
#define HIP_FP8_TYPE_OCP 0
#define HIP_FP8_TYPE_FNUZ 1
#elif !defined(SIMT_CUDA) && (defined(__gfx950__) || defined(__gfx1200__) || defined(__gfx1201__))
#define HIP_FP8_TYPE_OCP 1
#define HIP_FP8_TYPE_FNUZ 0
#else
#define HIP_FP8_TYPE_OCP 1
#define HIP_FP8_TYPE_FNUZ 1
#endif

namespace simt {
SIMT_INLINE const Format8 &format8(__hip_fp8_interpretation_t interpretation) {
  static constexpr Format8 formats[] = {e4m3, e5m2, e4m3_fnuz, e5m2_fnuz};
  const bool fnuz = interpretation == __HIP_E4M3_FNUZ || interpretation == __HIP_E5M2_FNUZ;
  if (fnuz ? HIP_FP8_TYPE_FNUZ : HIP_FP8_TYPE_OCP) return formats[interpretation];
#if defined(NDEBUG)
  return formats[interpretation ^ 2];  // without the assert the instruction takes the GPU's own format
#else
  __builtin_trap();
#endif
}
}  // namespace simt

SIMT_INLINE __hip_fp8_storage_t __hip_cvt_double_to_fp8(double value, __hip_saturation_t saturation,
                                                        __hip_fp8_interpretation_t interpretation) {
#if defined(SIMT_CUDA)
  const bool saturate = saturation == __HIP_SATFINITE;
#else  // of infinity HIP makes what it does without saturation
  const bool saturate = saturation == __HIP_SATFINITE && !__builtin_isinf(value);
#endif
  return simt::float8_bits(simt::format8(interpretation), value, saturate);
}
SIMT_INLINE __hip_fp8_storage_t __hip_cvt_float_to_fp8(float value, __hip_saturation_t saturation,
                                                       __hip_fp8_interpretation_t interpretation) {
  return __hip_cvt_double_to_fp8(value, saturation, interpretation);
}
SIMT_INLINE __hip_fp8_storage_t __hip_cvt_halfraw_to_fp8(__half_raw value, __hip_saturation_t saturation,
                                                         __hip_fp8_interpretation_t interpretation) {
  return __hip_cvt_double_to_fp8(simt::half_value(value.x), saturation, interpretation);
}
SIMT_INLINE __hip_fp8_storage_t __hip_cvt_bfloat16raw_to_fp8(__hip_bfloat16_raw value, __hip_saturation_t saturation,
                                                             __hip_fp8_interpretation_t interpretation) {
  return __hip_cvt_double_to_fp8(simt::bfloat16_value(value.x), saturation, interpretation);
}
SIMT_INLINE __hip_fp8x2_storage_t __hip_cvt_float2_to_fp8x2(float2 value, __hip_saturation_t saturation,
                                                            __hip_fp8_interpretation_t interpretation) {
  return static_cast<__hip_fp8x2_storage_t>(__hip_cvt_float_to_fp8(value.x, saturation, interpretation) |
                                            __hip_cvt_float_to_fp8(value.y, saturation, interpretation) << 8);
}
/// Exact: every finite 8-bit value is a half (the smallest, e5m2_fnuz's 2^-17, is above 2^-24).
SIMT_INLINE __half_raw __hip_cvt_fp8_to_halfraw(__hip_fp8_storage_t bits, __hip_fp8_interpretation_t interpretation) {
  __half_raw raw;
  raw.x = simt::half_bits(simt::float8_value(simt::format8(interpretation), bits));
  return raw;
}
SIMT_INLINE __half2_raw __hip_cvt_fp8x2_to_halfraw2(__hip_fp8x2_storage_t bits,
                                                    __hip_fp8_interpretation_t interpretation) {
  return {__hip_cvt_fp8_to_halfraw(static_cast<__hip_fp8_storage_t>(bits), interpretation).x,
          __hip_cvt_fp8_to_halfraw(static_cast<__hip_fp8_storage_t>(bits >> 8), interpretation).x};
}

// AMD's 8-bit types are made from numbers and become numbers by themselves, NVIDIA's only when asked. AMD's e5m2 as a
// double has the largest value for infinity, and there is no constructor from long long.
#if defined(SIMT_CUDA)
#define SIMT_FLOAT8_EXPLICIT explicit
#else
#define SIMT_FLOAT8_EXPLICIT
#endif
namespace simt {
#if defined(SIMT_CUDA)
template <class T>
inline constexpr bool makes_float8 = is_float<T> || is_integer<T>;
SIMT_INLINE double float8_double(float value) { return value; }
#else
template <class T>
inline constexpr bool makes_float8 = (is_float<T> || is_integer<T>) && !one_of<T, long long, unsigned long long>;
SIMT_INLINE double float8_double(float value) {
  return __builtin_isinf(value) ? __builtin_copysign(57344.0, value) : value;
}
#endif
}  // namespace simt
#define SIMT_FLOAT8(Name, interpretation)                                                                \
  struct Name {                                                                                          \
    __hip_fp8_storage_t __x;                                                                             \
    static constexpr __hip_saturation_t __default_saturation = __HIP_SATFINITE;                          \
    static constexpr __hip_fp8_interpretation_t __default_interpret = interpretation;                    \
    Name() = default;                                                                                    \
    template <class T, simt::When<simt::makes_float8<T>> = 0>                                            \
    SIMT_INLINE SIMT_FLOAT8_EXPLICIT Name(T value)                                                       \
        : __x(__hip_cvt_double_to_fp8(static_cast<double>(value), __HIP_SATFINITE, interpretation)) {}   \
    SIMT_INLINE SIMT_FLOAT8_EXPLICIT Name(__half value)                                                  \
        : __x(__hip_cvt_halfraw_to_fp8(value, __HIP_SATFINITE, interpretation)) {}                       \
    SIMT_INLINE SIMT_FLOAT8_EXPLICIT Name(__hip_bfloat16 value)                                          \
        : __x(__hip_cvt_bfloat16raw_to_fp8(value, __HIP_SATFINITE, interpretation)) {}                   \
    SIMT_INLINE SIMT_FLOAT8_EXPLICIT operator float() const {                                            \
      return simt::float8_value(simt::format8(interpretation), __x);                                     \
    }                                                                                                    \
    SIMT_INLINE SIMT_FLOAT8_EXPLICIT operator double() const {                                           \
      return simt::float8_double(static_cast<float>(*this));                                             \
    }                                                                                                    \
    SIMT_INLINE SIMT_FLOAT8_EXPLICIT operator __half() const {                                           \
      return __half(__hip_cvt_fp8_to_halfraw(__x, interpretation));                                      \
    }                                                                                                    \
    SIMT_INLINE SIMT_FLOAT8_EXPLICIT operator __hip_bfloat16() const {                                   \
      return __hip_bfloat16(static_cast<float>(*this));                                                  \
    }                                                                                                    \
    SIMT_INLINE SIMT_FLOAT8_EXPLICIT operator bool() const { return static_cast<float>(*this) != 0.0f; } \
    template <class T, simt::When<simt::is_integer<T> && !simt::same<T, bool>> = 0>                      \
    SIMT_INLINE SIMT_FLOAT8_EXPLICIT operator T() const {                                                \
      return simt::saturate<T>(static_cast<float>(*this));                                               \
    }                                                                                                    \
  };
SIMT_FLOAT8(__hip_fp8_e4m3, __HIP_E4M3)
SIMT_FLOAT8(__hip_fp8_e5m2, __HIP_E5M2)
SIMT_FLOAT8(__hip_fp8_e4m3_fnuz, __HIP_E4M3_FNUZ)
SIMT_FLOAT8(__hip_fp8_e5m2_fnuz, __HIP_E5M2_FNUZ)
#undef SIMT_FLOAT8
#undef SIMT_FLOAT8_EXPLICIT
