// CUDA as it is: plain conversions, whose results outside the range are the hardware's.
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include "each.cuh"
#if !defined(__CUDACC__) || __CUDA_ARCH__ < 890 || defined(__HIP_PLATFORM_AMD__)
#error "this is CUDA"
#endif
#define CAST(NAME, FROM, TO)                                                                                       \
  extern "C" __global__ void NAME(size_t numel, size_t num_dims, const size_t *info, const FROM *inp, TO *out) {   \
    each(numel, num_dims, info, [&](size_t i, size_t offset) { out[i] = inp[offset]; });                           \
  }
CAST(cast_f32_u8, float, unsigned char)
CAST(cast_f64_u32, double, unsigned)
CAST(cast_f64_i64, double, long long)
CAST(cast_f16_f32, __half, float)

extern "C" __global__ void cast_f32_f8_e4m3(size_t numel, size_t num_dims, const size_t *info, const float *inp,
                                            __nv_fp8_e4m3 *out) {
  each(numel, num_dims, info, [&](size_t i, size_t offset) { out[i] = __nv_fp8_e4m3(inp[offset]); });
}

extern "C" __global__ void affine_f16(size_t numel, size_t num_dims, const size_t *info, const __half *inp, __half *out,
                                      __half mul, __half add) {
  each(numel, num_dims, info, [&](size_t i, size_t offset) {
    __half x = inp ? inp[offset] : out[i];
    out[i] = x * mul + add;
  });
}
