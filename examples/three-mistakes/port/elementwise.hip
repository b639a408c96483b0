// Five of Candle's kernels. Three have a mistake that real ports have; README.md finds and mends them.
#include <hip/hip_runtime.h>

#define FIRST (size_t(blockIdx.x) * blockDim.x + threadIdx.x)
#define STEP (size_t(blockDim.x) * gridDim.x)

// Where element i of a row-major tensor lies in memory: dims and strides are in elements.
__device__ static size_t offset(size_t i, size_t num_dims, const size_t *dims, const size_t *strides) {
  size_t at = 0;
  for (size_t d = num_dims; d-- > 0; i /= dims[d]) at += i % dims[d] * strides[d];
  return at;
}

extern "C" __global__ void fill_u32(unsigned *buf, unsigned value, const size_t numel) {
  for (size_t i = FIRST; i < numel; i += STEP) buf[i] = value;
}

extern "C" __global__ void fill_u8(unsigned char *buf, unsigned char value, const size_t numel) {
  for (size_t i = FIRST; i <= numel; i += STEP) buf[i] = value;
}

extern "C" __global__ void usqr_f32(const size_t numel, const size_t num_dims, const size_t *info, const float *inp,
                                    float *out) {
  const float *in = inp ? inp : out;
  const size_t *strides = info ? info + num_dims : nullptr;
  for (size_t i = FIRST; i < numel; i += STEP) {
    const float x = in[strides ? offset(i, num_dims, info, strides) : i];
    out[i] = x * x;
  }
}

extern "C" __global__ void uneg_f32(const size_t numel, const size_t num_dims, const size_t *info, const float *inp,
                                    float *out) {
  const float *in = inp ? inp : out;
  for (size_t i = FIRST; i < numel; i += STEP) out[i] = -in[i];
}

extern "C" __global__ void cast_f32_u8(const size_t numel, const size_t num_dims, const size_t *info, const float *inp,
                                       unsigned char *out) {
  const size_t *strides = info ? info + num_dims : nullptr;
  for (size_t i = FIRST; i < numel; i += STEP) {
    const float x = inp[strides ? offset(i, num_dims, info, strides) : i];
    out[i] = (unsigned char)x;
  }
}
