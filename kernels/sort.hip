// Argsort of the rows of a contiguous matrix, one block per row. The launch gives 4 * ncols_pad bytes of LDS; ncols_pad
// is ncols rounded up to a power of two.
#include "include/bitonic.h"

using namespace candle;

namespace {

extern __shared__ int indices[];

template <class T, bool descending>
__device__ inline void argsort(const T *__restrict__ x, u32 *__restrict__ dst, int ncols, int ncols_pad) {
  using Network = Bitonic<T, descending>;
  __shared__ typename Network::Key keys[max_threads];
  const size_t start = size_t(blockIdx.x) * ncols;
  const Network network{x + start, ncols};
  network.sort(indices, keys, dst + start, ncols_pad, int(threadIdx.x), int(blockDim.x));
}

}  // namespace

#define ARGSORT(T)                                                           \
  extern "C" __global__ void __launch_bounds__(1024, 2)                      \
      asort_asc_##T(const T *x, u32 *dst, const int ncols, int ncols_pad) {  \
    argsort<T, false>(x, dst, ncols, ncols_pad);                             \
  }                                                                          \
  extern "C" __global__ void __launch_bounds__(1024, 2)                      \
      asort_desc_##T(const T *x, u32 *dst, const int ncols, int ncols_pad) { \
    argsort<T, true>(x, dst, ncols, ncols_pad);                              \
  }

ARGSORT(bf16)
ARGSORT(f16)
ARGSORT(f32)
ARGSORT(f64)
ARGSORT(u8)
ARGSORT(u32)
ARGSORT(i64)
