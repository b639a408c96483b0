// CUDA's header of 16-bit floating point, for the host.
#pragma once
#pragma GCC system_header

#include "../simt/cuda_prelude.h"

#include "../simt/half.h"

template <>
inline constexpr bool simt::atomic_addend<__half> = true;
template <>
inline constexpr bool simt::atomic_addend<__half2> = true;

typedef __half nv_half;
typedef __half2 nv_half2;

#define CUDART_INF_FP16 __ushort_as_half(0x7c00u)
#define CUDART_NAN_FP16 __ushort_as_half(0x7fffu)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half(0x0001u)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half(0x7bffu)
#define CUDART_ZERO_FP16 __ushort_as_half(0x0000u)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half(0x8000u)
#define CUDART_ONE_FP16 __ushort_as_half(0x3c00u)
