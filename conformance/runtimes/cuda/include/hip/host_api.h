// HIP's host API under CUDA's names, for sources that nvcc compiles with their launchers.
#pragma once

// What uses names that hip_runtime.h replaces by macros comes before them.
#include <assert.h>
#include <cuda_runtime.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

#include <hip/hip_names.h>

using hipError_t = cudaError_t;
using hipStream_t = cudaStream_t;
using hipEvent_t = cudaEvent_t;
using hipDeviceProp_t = cudaDeviceProp;
using hipMemcpyKind = cudaMemcpyKind;
using hipDeviceAttribute_t = cudaDeviceAttr;
using hipFuncAttribute = cudaFuncAttribute;
using hipFuncCache_t = cudaFuncCache;

// What CUDA has one name for.
#define hipErrorInvalidHandle hipErrorInvalidResourceHandle
#define hipErrorMemoryAllocation hipErrorOutOfMemory

#define hipLaunchKernelGGL(kernel, grid, block, shared, stream, ...) \
  kernel<<<(grid), (block), (shared), (stream)>>>(__VA_ARGS__)
