// Kernels in the shape that Candle gives them: a loop for each combination of contiguous and strided operands.
#include <hip/hip_runtime.h>

__device__ bool is_contiguous(const size_t num_dims, const size_t *dims, const size_t *strides) {
  size_t expected = 1;
  for (size_t d = num_dims; d-- > 0;) {
    if (dims[d] > 1 && strides[d] != expected) return false;
    expected *= dims[d];
  }
  return true;
}

__device__ unsigned place(unsigned i, const size_t num_dims, const size_t *dims, const size_t *strides) {
  unsigned offset = 0;
  for (size_t d = num_dims; d-- > 0;) {
    offset += i % dims[d] * strides[d];
    i /= dims[d];
  }
  return offset;
}

template <class T>
__device__ void affine(const size_t numel, const size_t num_dims, const size_t *info, const T *inp, T *out, const T mul,
                       const T add) {
  const unsigned first = blockIdx.x * blockDim.x + threadIdx.x, step = blockDim.x * gridDim.x;
  if (info == nullptr || is_contiguous(num_dims, info, info + num_dims)) {
    for (unsigned i = first; i < numel; i += step) out[i] = (inp ? inp[i] : out[i]) * mul + add;
  } else {
    for (unsigned i = first; i < numel; i += step) {
      out[i] = (inp ? inp[place(i, num_dims, info, info + num_dims)] : out[i]) * mul + add;
    }
  }
}

template <class T>
__device__ void add(const size_t numel, const size_t num_dims, const size_t *dims, const T *lhs, const T *rhs, T *out) {
  const size_t *lhs_strides = dims + num_dims, *rhs_strides = dims + 2 * num_dims;
  const bool left = dims == nullptr || is_contiguous(num_dims, dims, lhs_strides);
  const bool right = dims == nullptr || is_contiguous(num_dims, dims, rhs_strides);
  const unsigned first = blockIdx.x * blockDim.x + threadIdx.x, step = blockDim.x * gridDim.x;
  if (left && right) {
    for (unsigned i = first; i < numel; i += step) out[i] = lhs[i] + rhs[i];
  } else if (right) {
    for (unsigned i = first; i < numel; i += step) out[i] = lhs[place(i, num_dims, dims, lhs_strides)] + rhs[i];
  } else if (left) {
    for (unsigned i = first; i < numel; i += step) out[i] = lhs[i] + rhs[place(i, num_dims, dims, rhs_strides)];
  } else {
    for (unsigned i = first; i < numel; i += step) {
      const unsigned at = i;
      out[i] = lhs[place(at, num_dims, dims, lhs_strides)] + rhs[place(at, num_dims, dims, rhs_strides)];
    }
  }
}

#define AFFINE(name, T)                                                                                   \
  extern "C" __global__ void affine_##name(const size_t numel, const size_t num_dims, const size_t *info, \
                                           const T *inp, T *out, const T mul, const T add) {              \
    affine(numel, num_dims, info, inp, out, mul, add);                                                    \
  }

#define ADD(name, T)                                                                                                \
  extern "C" __global__ void badd_##name(const size_t numel, const size_t num_dims, const size_t *dims_and_strides, \
                                         const T *lhs, const T *rhs, T *out) {                                      \
    add(numel, num_dims, dims_and_strides, lhs, rhs, out);                                                          \
  }

AFFINE(u32, unsigned)
AFFINE(i64, long long)
ADD(u8, unsigned char)
ADD(u32, unsigned)
ADD(i64, long long)
ADD(f32, float)
