// The names that CUDA's host API has for what is in host.h.
#pragma once
#pragma GCC system_header

#include <hip_names.h>

#include "host.h"

typedef hipError_t cudaError_t;
typedef hipStream_t cudaStream_t;
typedef hipEvent_t cudaEvent_t;
typedef hipDeviceProp_t cudaDeviceProp;
typedef hipMemcpyKind cudaMemcpyKind;
typedef hipDeviceAttribute_t cudaDeviceAttr;
typedef hipFuncAttribute cudaFuncAttribute;
