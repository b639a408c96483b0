// CUDA's header of 8-bit floating point, for the host.
#pragma once
#pragma GCC system_header

#include "../simt/float8.h"
#include "cuda_bf16.h"
#include "cuda_fp16.h"

typedef __hip_fp8_e4m3 __nv_fp8_e4m3;
typedef __hip_fp8_e5m2 __nv_fp8_e5m2;
typedef __hip_fp8_storage_t __nv_fp8_storage_t;
typedef __hip_fp8x2_storage_t __nv_fp8x2_storage_t;
typedef __hip_fp8x4_storage_t __nv_fp8x4_storage_t;
typedef __hip_fp8_interpretation_t __nv_fp8_interpretation_t;
typedef __hip_saturation_t __nv_saturation_t;
inline constexpr __nv_fp8_interpretation_t __NV_E4M3 = __HIP_E4M3, __NV_E5M2 = __HIP_E5M2;
inline constexpr __nv_saturation_t __NV_NOSAT = __HIP_NOSAT, __NV_SATFINITE = __HIP_SATFINITE;

// CUDA's name of a conversion to 8 bits that HIP has under its own.
#define SIMT_TO_FP8(RESULT, CONVERSION, T)                                             \
  SIMT_INLINE RESULT __nv_cvt_##CONVERSION(T value, __nv_saturation_t saturation,      \
                                           __nv_fp8_interpretation_t interpretation) { \
    return __hip_cvt_##CONVERSION(value, saturation, interpretation);                  \
  }
SIMT_TO_FP8(__nv_fp8_storage_t, double_to_fp8, double)
SIMT_TO_FP8(__nv_fp8_storage_t, float_to_fp8, float)
SIMT_TO_FP8(__nv_fp8_storage_t, halfraw_to_fp8, __half_raw)
SIMT_TO_FP8(__nv_fp8_storage_t, bfloat16raw_to_fp8, __nv_bfloat16_raw)
SIMT_TO_FP8(__nv_fp8x2_storage_t, float2_to_fp8x2, float2)
#undef SIMT_TO_FP8

SIMT_INLINE __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t bits, __nv_fp8_interpretation_t interpretation) {
  return __hip_cvt_fp8_to_halfraw(bits, interpretation);
}
SIMT_INLINE __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t bits,
                                                   __nv_fp8_interpretation_t interpretation) {
  return __hip_cvt_fp8x2_to_halfraw2(bits, interpretation);
}
