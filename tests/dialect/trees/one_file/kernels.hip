// Several families in one file, as some ports have them. bsub_f32 has its operands the wrong way round.
#include <hip/hip_runtime.h>

__device__ size_t strided(size_t i, size_t num_dims, const size_t *dims, const size_t *strides) {
  size_t offset = 0;
  for (size_t d = num_dims; d-- > 0; i /= dims[d]) offset += i % dims[d] * strides[d];
  return offset;
}

#define EVERY(I, COUNT) for (size_t I = blockIdx.x * blockDim.x + threadIdx.x; I < COUNT; I += blockDim.x * gridDim.x)

extern "C" __global__ void uabs_f32(size_t numel, size_t num_dims, const size_t *info, const float *inp, float *out) {
  EVERY(i, numel) {
    size_t at = info == nullptr ? i : strided(i, num_dims, info, info + num_dims);
    out[i] = fabsf(inp != nullptr ? inp[at] : out[i]);
  }
}

extern "C" __global__ void affine_f32(size_t numel, size_t num_dims, const size_t *info, const float *inp, float *out,
                                      float mul, float add) {
  EVERY(i, numel) {
    size_t at = info == nullptr ? i : strided(i, num_dims, info, info + num_dims);
    out[i] = (inp != nullptr ? inp[at] : out[i]) * mul + add;
  }
}

#define BINARY(NAME, EXPRESSION)                                                                       \
  extern "C" __global__ void NAME(size_t numel, size_t num_dims, const size_t *info, const float *lhs, \
                                  const float *rhs, float *out) {                                      \
    EVERY(i, numel) {                                                                                  \
      float x = lhs[info == nullptr ? i : strided(i, num_dims, info, info + num_dims)];                \
      float y = rhs[info == nullptr ? i : strided(i, num_dims, info, info + 2 * num_dims)];            \
      out[i] = EXPRESSION;                                                                             \
    }                                                                                                  \
  }
BINARY(badd_f32, x + y)
BINARY(bsub_f32, y - x)
BINARY(bmaximum_f32, fmaxf(x, y))

// Out of range a byte is the low one of 32 bits, as on the GPU.
extern "C" __global__ void cast_f32_u8(size_t numel, size_t num_dims, const size_t *info, const float *inp,
                                       unsigned char *out) {
  EVERY(i, numel) { out[i] = inp[info == nullptr ? i : strided(i, num_dims, info, info + num_dims)]; }
}
