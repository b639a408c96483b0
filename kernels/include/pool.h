// Pooling over windows of a source (b, c, w, h), as Candle names its last two dimensions. The output is contiguous and
// covers the windows that fit entirely. info is the dims and strides of the source.
#pragma once

#include "convert.h"
#include "convolve.h"
#include "reduction.h"

namespace candle {

// Sums of u8 and u32 wrap. The factor is an f32 for every type, f64 included.
template <class T>
struct Average {
  SumType<T> sum{};

  __device__ void accumulate(T x) {
    if constexpr (is_integer<T>) {
      sum = T(u32(sum) + u32(x));
    } else {
      sum += to_sum(x);
    }
  }

  __device__ T result(size_t window) const {
    const f32 factor = 1.0f / f32(window);
    if constexpr (is_same<T, f64>) {
      return sum * f64(factor);
    } else {
      return convert<T>(f32(sum) * factor);
    }
  }
};

template <class T>
struct Maximum {
  T largest{};
  bool first = true;

  __device__ void accumulate(T x) {
    largest = first ? x : extremum<true>(largest, x);
    first = false;
  }

  __device__ T result(size_t) const { return largest; }
};

template <template <class> class Op, class T>
__device__ inline void pool2d(size_t w_k, size_t h_k, size_t w_stride, size_t h_stride, const size_t *__restrict__ info,
                              const T *__restrict__ src, T *__restrict__ dst) {
  const size_t channels = info[1];
  const size_t *s = info + 4;
  const size_t w_out = (info[2] - w_k) / w_stride + 1;
  const size_t h_out = (info[3] - h_k) / h_stride + 1;
  const size_t numel = info[0] * channels * w_out * h_out;
  const bool wide = numel >> 32;
  const size_t step = thread_count();
  for (size_t i = thread_index(); i < numel; i += step) {
    size_t b = i;
    const size_t h = divide(b, h_out, wide) * h_stride;
    const size_t w = divide(b, w_out, wide) * w_stride;
    const size_t c = divide(b, channels, wide);
    const T *corner = src + b * s[0] + c * s[1] + w * s[2] + h * s[3];
    Op<T> state;
    for (size_t x = 0; x < w_k; ++x) {
      for (size_t y = 0; y < h_k; ++y) state.accumulate(corner[x * s[2] + y * s[3]]);
    }
    dst[i] = state.result(w_k * h_k);
  }
}

}  // namespace candle
