#include "each.cuh"
#include "cuda_fp16.h"
#include <cuda_bf16.h>
UNARY(uneg_f32, float, -x)
UNARY(usqr_f16, __half, x * x)
UNARY(uneg_bf16, __nv_bfloat16, -x)
// Every lane that is there takes part, with a mask of HIP's width.
UNARY(ucopy_f32, float, __shfl_sync(FULL_MASK & __activemask(), x, threadIdx.x % warpSize) * PORT_ONE)
