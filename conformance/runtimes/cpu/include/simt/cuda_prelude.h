// Forced in front of every CUDA source: what nvcc gives a kernel without an #include.
//
// The architecture is one for which all of Candle's kernels exist; -D__CUDA_ARCH__=N asks for another.
#pragma once
#pragma GCC system_header

#define SIMT_CUDA 1
#define __CUDACC__ 1
#define __NVCC__ 1
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#ifndef __CUDA_ARCH__
#define __CUDA_ARCH__ 900
#endif

#include "device.h"

SIMT_INLINE void __nanosleep(unsigned) {}
SIMT_INLINE float __frcp_rz(float a) { return simt::directed(1.0 / static_cast<double>(a), 0); }

#if defined(SIMT_LAUNCHERS)
#include "cuda_host.h"
#endif
