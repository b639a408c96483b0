// Calls body(i, offset) for every element of a strided tensor that is this thread's.
#pragma once
template <class Body>
__device__ void each(size_t numel, size_t num_dims, const size_t *info, Body body) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += blockDim.x * gridDim.x) {
    size_t left = i, offset = 0;
    for (size_t d = num_dims; info != nullptr && d-- > 0; left /= info[d]) offset += left % info[d] * info[num_dims + d];
    body(i, info == nullptr ? i : offset);
  }
}
#define UNARY(NAME, T, EXPRESSION)                                                                            \
  extern "C" __global__ void NAME(size_t numel, size_t num_dims, const size_t *info, const T *inp, T *out) {  \
    each(numel, num_dims, info, [&](size_t i, size_t offset) {                                                \
      T x = inp ? inp[offset] : out[i];                                                                       \
      out[i] = EXPRESSION;                                                                                    \
    });                                                                                                       \
  }
