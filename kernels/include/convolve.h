// Direct convolutions and their transposes, one output per thread and step.
//
// info is the dims and strides of the source, then those of the kernel: (b, c, l) and (c_out, c_in, k), in two
// dimensions (b, c, h, w) and (c_out, c_in, h, w); a transpose's kernel has c_in before c_out. The output is
// contiguous. Unsigned positions: one before the source wraps to a number beyond it, so that a single comparison finds
// both.
#pragma once

#include "elementwise.h"
#include "number.h"

namespace candle {

// What a sum of T is kept in: f32 for the 16-bit floats, T itself otherwise, so that u8 wraps at 256.
template <class T>
struct sum_of {
  using type = T;
};
template <>
struct sum_of<f16> {
  using type = f32;
};
template <>
struct sum_of<bf16> {
  using type = f32;
};
template <class T>
using Sum_of = typename sum_of<T>::type;

template <class T>
__device__ inline Sum_of<T> to_sum(T x) {
  if constexpr (is_integer<T>) {
    return x;
  } else {
    return widen(x);
  }
}

template <class T>
__device__ inline T from_sum(Sum_of<T> sum) {
  if constexpr (is_integer<T>) {
    return sum;
  } else {
    return narrow<T>(sum);
  }
}

// Floats round once per step.
template <class T>
__device__ inline Sum_of<T> plus_product(Sum_of<T> sum, T x, T y) {
  if constexpr (is_integer<T>) {
    return T(u32(x) * u32(y) + u32(sum));
  } else {
    return fused(to_sum(x), to_sum(y), sum);
  }
}

// One tap: the products over the input channels, in order.
template <class T>
__device__ inline Sum_of<T> over_channels(Sum_of<T> sum, const T *x, size_t x_step, const T *k, size_t k_step,
                                          size_t channels) {
#pragma unroll 2
  for (size_t c = 0; c < channels; ++c) {
    sum = plus_product<T>(sum, *x, *k);
    x += x_step;
    k += k_step;
  }
  return sum;
}

// Candle multiplies the whole position by the dilation, which is a convolution for a dilation of 1 only.
template <class T>
__device__ inline void conv1d(size_t l_out, size_t stride, size_t padding, size_t dilation,
                              const size_t *__restrict__ info, const T *__restrict__ src, const T *__restrict__ kernel,
                              T *__restrict__ dst) {
  const size_t channels = info[1], length = info[2], c_out = info[6], taps = info[8];
  const size_t *s = info + 3;
  const size_t *k = info + 9;
  const size_t numel = info[0] * c_out * l_out;
  const bool wide = numel >> 32;
  const size_t step = thread_count();
  for (size_t i = thread_index(); i < numel; i += step) {
    size_t b = i;
    const size_t l = divide(b, l_out, wide);
    const size_t c = divide(b, c_out, wide);
    Sum_of<T> sum{};
    for (size_t tap = 0; tap < taps; ++tap) {
      const size_t at = (stride * l + tap) * dilation - padding;
      if (at >= length) continue;
      sum = over_channels(sum, src + b * s[0] + at * s[2], s[1], kernel + c * k[0] + tap * k[2], k[1], channels);
    }
    dst[i] = from_sum<T>(sum);
  }
}

template <class T>
__device__ inline void conv2d(size_t w_out, size_t h_out, size_t stride, size_t padding, size_t dilation,
                              const size_t *__restrict__ info, const T *__restrict__ src, const T *__restrict__ kernel,
                              T *__restrict__ dst) {
  const size_t channels = info[1], height = info[2], width = info[3];
  const size_t c_out = info[8], h_taps = info[10], w_taps = info[11];
  const size_t *s = info + 4;
  const size_t *k = info + 12;
  const size_t numel = info[0] * c_out * h_out * w_out;
  const bool wide = numel >> 32;
  const size_t step = thread_count();
  for (size_t i = thread_index(); i < numel; i += step) {
    size_t b = i;
    const size_t left = divide(b, w_out, wide) * stride - padding;
    const size_t top = divide(b, h_out, wide) * stride - padding;
    const size_t c = divide(b, c_out, wide);
    Sum_of<T> sum{};
    for (size_t w = 0; w < w_taps; ++w) {
      const size_t x = left + w * dilation;
      if (x >= width) continue;
      const T *column = src + b * s[0] + x * s[3];
      const T *tap = kernel + c * k[0] + w * k[3];
      for (size_t h = 0; h < h_taps; ++h) {
        const size_t y = top + h * dilation;
        if (y >= height) continue;
        sum = over_channels(sum, column + y * s[2], s[1], tap + h * k[2], k[1], channels);
      }
    }
    dst[i] = from_sum<T>(sum);
  }
}

// The source position that reaches `at` through a tap `reach` before it, or one beyond every source.
__device__ inline size_t source_of(size_t at, size_t reach, size_t stride, bool wide) {
  if (at < reach) return ~size_t(0);
  size_t position = at - reach;
  return divide(position, stride, wide) == 0 ? position : ~size_t(0);
}

template <class T>
__device__ inline void conv_transpose1d(size_t l_out, size_t stride, size_t padding, size_t dilation,
                                        const size_t *__restrict__ info, const T *__restrict__ src,
                                        const T *__restrict__ kernel, T *__restrict__ dst) {
  const size_t channels = info[1], length = info[2], c_out = info[7], taps = info[8];
  const size_t *s = info + 3;
  const size_t *k = info + 9;
  const size_t numel = info[0] * c_out * l_out;
  const bool wide = (numel + padding + stride) >> 32;
  const size_t step = thread_count();
  for (size_t i = thread_index(); i < numel; i += step) {
    size_t b = i;
    const size_t l = divide(b, l_out, wide) + padding;
    const size_t c = divide(b, c_out, wide);
    Sum_of<T> sum{};
    for (size_t tap = 0; tap < taps; ++tap) {
      const size_t at = source_of(l, tap * dilation, stride, wide);
      if (at >= length) continue;
      sum = over_channels(sum, src + b * s[0] + at * s[2], s[1], kernel + c * k[1] + tap * k[2], k[0], channels);
    }
    dst[i] = from_sum<T>(sum);
  }
}

template <class T>
__device__ inline void conv_transpose2d(size_t w_out, size_t h_out, size_t stride, size_t padding, size_t dilation,
                                        const size_t *__restrict__ info, const T *__restrict__ src,
                                        const T *__restrict__ kernel, T *__restrict__ dst) {
  const size_t channels = info[1], height = info[2], width = info[3];
  const size_t c_out = info[9], h_taps = info[10], w_taps = info[11];
  const size_t *s = info + 4;
  const size_t *k = info + 12;
  const size_t numel = info[0] * c_out * h_out * w_out;
  const bool wide = (numel + padding + stride) >> 32;
  const size_t step = thread_count();
  for (size_t i = thread_index(); i < numel; i += step) {
    size_t b = i;
    const size_t left = divide(b, w_out, wide) + padding;
    const size_t top = divide(b, h_out, wide) + padding;
    const size_t c = divide(b, c_out, wide);
    Sum_of<T> sum{};
    for (size_t w = 0; w < w_taps; ++w) {
      const size_t x = source_of(left, w * dilation, stride, wide);
      if (x >= width) continue;
      const T *column = src + b * s[0] + x * s[3];
      const T *tap = kernel + c * k[1] + w * k[3];
      for (size_t h = 0; h < h_taps; ++h) {
        const size_t y = source_of(top, h * dilation, stride, wide);
        if (y >= height) continue;
        sum = over_channels(sum, column + y * s[2], s[1], tap + h * k[2], k[0], channels);
      }
    }
    dst[i] = from_sum<T>(sum);
  }
}

}  // namespace candle
