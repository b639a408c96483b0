// softmax in float32 or float64 throughout: in two passes, or with a sum that is rescaled at every new maximum
// (-D ONLINE=1: in each lane, and then merged; 2: in one thread).
// -D KEPT=f64: in float64 throughout, rounded once.
#include "any_order.h"

#ifndef ONLINE
#define ONLINE 0
#endif

#ifdef KEPT
#define KEPT_IN(T) KEPT
#else
#define KEPT_IN(T) typename Accumulator<T>::type
#endif

namespace sums {

__device__ inline f32 power(f32 x) { return expf(x); }
__device__ inline f64 power(f64 x) { return exp(x); }

template <class W>
struct Running {
  W maximum, sum;

  // What is still minus infinity has no power; an infinite maximum makes a NaN, and a NaN stays.
  __device__ void add(W other, W other_sum) {
    const W next = other > maximum || other != other ? other : maximum;
    if (maximum != -INFINITY) sum *= power(maximum - next);
    if (other != -INFINITY) sum += other_sum * power(other - next);
    maximum = next;
  }
};

template <class T>
__device__ void softmax(const T *src, T *dst, size_t n) {
  using W = KEPT_IN(T);
  const u32 t = threadIdx.y, threads = 32;
  src += blockIdx.x * n, dst += blockIdx.x * n;
  __shared__ Running<W> partials[32];
  Running<W> all{W(-INFINITY), 0};
  if (ONLINE == 1) {
    for (size_t i = t; i < n; i += threads) all.add(W(widen(src[i])), 1);
    partials[t] = all;
    __syncthreads();
    all = {W(-INFINITY), 0};
    for (u32 k = 0; k < threads && k < n; ++k) all.add(partials[k].maximum, partials[k].sum);
  } else {
    if (ONLINE == 2 && t == 0) {
      for (size_t i = 0; i < n; ++i) all.add(W(widen(src[i])), 1);
    } else if (t == 0) {
      for (size_t i = 0; i < n; ++i) all.maximum = W(widen(src[i])) > all.maximum ? W(widen(src[i])) : all.maximum;
    }
    if (t == 0) partials[0] = all;
    __syncthreads();
    all = partials[0];
    if (mistake == no_maximum) all.maximum = 0;
    if (ONLINE == 0) {
      const auto term = [&](size_t i) { return power(W(widen(src[i])) - all.maximum); };
      all.sum = as<W>(block_total<typename Either<mistake == in_storage, T, W>::type>(n, t, threads, term));
    }
  }
  if (all.maximum == -INFINITY) all.sum = NAN;
  if (mistake == scaled) all.sum *= W(1.0003);
  for (size_t i = t; i < n; i += threads) dst[i] = as<T>(power(W(widen(src[i])) - all.maximum) / all.sum);
}

}  // namespace sums

#define SOFTMAX(T)                                                          \
  extern "C" __global__ void __launch_bounds__(32)                          \
      softmax_##T(const candle::T *src, candle::T *dst, const int n_cols) { \
    sums::softmax(src, dst, n_cols);                                        \
  }

SOFTMAX(bf16)
SOFTMAX(f16)
SOFTMAX(f32)
SOFTMAX(f64)
