// CUDA's runtime header, for the host: the names that declarations next to kernels use. Nothing in it can be called,
// unless the source is compiled with its launchers.
#pragma once
#pragma GCC system_header

#include "../simt/cuda_prelude.h"
#include "cuda.h"

#define CUDART_VERSION CUDA_VERSION
#if !defined(SIMT_LAUNCHERS)  // else cuda_host.h has them
typedef CUstream cudaStream_t;
typedef enum cudaError { cudaSuccess = 0 } cudaError_t;
#endif
