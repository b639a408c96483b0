// What the planted kernels share: operands are contiguous, element i is thread i's. With MENDED defined each that has
// ADVISED does what the advice of its cause says.
#pragma once

#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

typedef unsigned char u8;
typedef unsigned int u32;
typedef long long i64;

#ifdef MENDED
#define ADVISED(MENDED_SO, WRONG) MENDED_SO
#else
#define ADVISED(MENDED_SO, WRONG) WRONG
#endif
#define EACH size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x
#define UNARY(NAME, T, BODY)                                                                                   \
  extern "C" __global__ void NAME(const size_t numel, const size_t num_dims, const size_t *info, const T *inp, \
                                  T *out) {                                                                    \
    EACH;                                                                                                      \
    BODY                                                                                                       \
  }
#define ROW(NAME, T, BODY)                                                                                         \
  extern "C" __global__ void NAME(const size_t src_numel, const size_t el_to_sum_per_block, const size_t num_dims, \
                                  const size_t *info, const T *src, T *dst) {                                      \
    const u32 t = threadIdx.x;                                                                                     \
    T x = t < el_to_sum_per_block ? src[blockIdx.x * el_to_sum_per_block + t] : T(0);                              \
    BODY                                                                                                           \
  }

__device__ static u32 lane() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)); }
