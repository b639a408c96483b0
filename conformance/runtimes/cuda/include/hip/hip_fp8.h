// CUDA's header under HIP's names; it is the toolkit's.
#pragma once
#include <cuda_fp8.h>

using __hip_fp8_e4m3 = __nv_fp8_e4m3;
using __hip_fp8_e5m2 = __nv_fp8_e5m2;
using __hip_fp8_storage_t = __nv_fp8_storage_t;
