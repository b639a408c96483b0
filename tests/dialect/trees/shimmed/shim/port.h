// Read before every source: what the port needs of HIP under CUDA's names.
#pragma once
#include <hip/hip_runtime.h>
#if !defined(__HIP_PLATFORM_AMD__) || defined(__CUDACC__)
#error "this port is HIP"
#endif
#define FULL_MASK 0xffffffffffffffffull
