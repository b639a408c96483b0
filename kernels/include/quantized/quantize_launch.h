// The launch that quantizes rows of activations to q8_1.
#pragma once

#include "../launch.h"
#include "quantize_q8_1.h"

template <class T>
__global__ void __launch_bounds__(candle::quantize_threads)
    quantize_q8_1_kernel(const T *__restrict__ x, void *__restrict__ vy, int kx, int kx_padded) {
  candle::quantize_rows(x, vy, kx, kx_padded);
}

#ifdef CANDLE_HAS_HOST
namespace candle {

template <class T>
inline void launch_quantize_q8_1(const T *x, void *vy, int kx, int kx_padded, int rows, hipStream_t stream) {
  const dim3 grid(ceil_div(kx_padded, quantize_threads * values_per_thread), unsigned(rows));
  quantize_q8_1_kernel<T><<<grid, quantize_threads, 0, stream>>>(x, vy, kx, kx_padded);
}

}  // namespace candle
#endif
