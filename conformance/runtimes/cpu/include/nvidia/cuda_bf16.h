// CUDA's header of bfloat16, for the host.
#pragma once
#pragma GCC system_header

#include "../simt/cuda_prelude.h"

#include "../simt/bfloat16.h"

typedef __hip_bfloat16_raw __nv_bfloat16_raw;
typedef __hip_bfloat162_raw __nv_bfloat162_raw;
typedef __hip_bfloat16 __nv_bfloat16;
typedef __hip_bfloat162 __nv_bfloat162;
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

// Names that HIP does not have.
SIMT_INLINE __nv_bfloat16 __float2bfloat16_rn(float value) { return __float2bfloat16(value); }
SIMT_INLINE __nv_bfloat162 make_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat162(a, b); }
SIMT_INLINE __nv_bfloat162 __floats2bfloat162_rn(float a, float b) {
  return __nv_bfloat162(__float2bfloat16(a), __float2bfloat16(b));
}
SIMT_INLINE __nv_bfloat162 __float2bfloat162_rn(float a) { return __floats2bfloat162_rn(a, a); }
SIMT_INLINE __nv_bfloat16 __hmax_nan(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __hisnan(a) ? a : __hisnan(b) ? b : __hmax(a, b);
}
SIMT_INLINE __nv_bfloat16 __hmin_nan(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __hisnan(a) ? a : __hisnan(b) ? b : __hmin(a, b);
}

template <>
inline constexpr bool simt::atomic_addend<__nv_bfloat16> = true;
template <>
inline constexpr bool simt::atomic_addend<__nv_bfloat162> = true;

#define CUDART_INF_BF16 __ushort_as_bfloat16(0x7f80u)
#define CUDART_NAN_BF16 __ushort_as_bfloat16(0x7fffu)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16(0x0001u)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16(0x7f7fu)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16(0x0000u)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16(0x8000u)
#define CUDART_ONE_BF16 __ushort_as_bfloat16(0x3f80u)
