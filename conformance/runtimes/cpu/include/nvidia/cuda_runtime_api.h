// CUDA's runtime header, for the host: the names that declarations next to kernels use. Nothing in it can be called.
#pragma once
#pragma GCC system_header

#include "../simt/cuda_prelude.h"
#include "cuda.h"

#define CUDART_VERSION CUDA_VERSION
typedef CUstream cudaStream_t;
typedef enum cudaError { cudaSuccess = 0 } cudaError_t;
