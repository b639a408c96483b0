// fast_sum with its sums in any order, in the type itself or in a wider one; sum without atomics, a thread an output.
#include "any_order.h"

namespace sums {

template <class T>
__device__ void fast_sum(size_t numel, size_t length, size_t num_dims, const size_t *info, const T *src, T *dst) {
  const size_t start = blockIdx.x * length;
  const auto element = [&](size_t i) { return src[offset_of(start + i, num_dims, info)]; };
  const T result = as<T>(block_total<Own<T>>(length, threadIdx.x, blockDim.x, element));
  if (threadIdx.x == 0) dst[blockIdx.x] = result;
}

template <class T>
__device__ void sum(size_t numel, size_t num_dims, size_t num_sum_dims, const size_t *info, const T *inp, T *out) {
  size_t outputs = numel;
  const size_t *sizes = info + 2 * num_dims, *strides = sizes + num_sum_dims;
  for (size_t d = 0; d < num_sum_dims; ++d) outputs /= sizes[d] ? sizes[d] : 1;
  for_each(numel ? outputs : 0, [&](size_t j) {
    const size_t count = numel / outputs;
    const auto term = [&](size_t k) {
      if (k == count) return out[j];
      size_t i = j;  // the k-th element that is added to output j: each dimension that is summed gets its digit of k
      for (size_t d = num_sum_dims; d-- > 0; k /= sizes[d])
        i = i / strides[d] * strides[d] * sizes[d] + k % sizes[d] * strides[d] + i % strides[d];
      return inp[offset_of(i, num_dims, info)];
    };
    out[j] = as<T>(total<Own<T>>(count + 1, term));
  });
}

}  // namespace sums

#define SUMS(T)                                                                                         \
  extern "C" __global__ void __launch_bounds__(1024)                                                    \
      fast_sum_##T(const size_t src_numel, const size_t el_to_sum_per_block, const size_t num_dims,     \
                   const size_t *info, const candle::T *src, candle::T *dst) {                          \
    sums::fast_sum(src_numel, el_to_sum_per_block, num_dims, info, src, dst);                           \
  }                                                                                                     \
  extern "C" __global__ void __launch_bounds__(1024)                                                    \
      sum_##T(const size_t numel, const size_t num_dims, const size_t num_sum_dims, const size_t *info, \
              const candle::T *inp, candle::T *out) {                                                   \
    sums::sum(numel, num_dims, num_sum_dims, info, inp, out);                                           \
  }

SUMS(bf16)
SUMS(f16)
SUMS(f32)
SUMS(f64)
