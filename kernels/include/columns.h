// Between a source and the matrix of its patches, so that a convolution is one matrix product. Positions as in
// convolve.h. info is the dims and strides of the source.
#pragma once

#include "elementwise.h"
#include "reduction.h"

namespace candle {

// dst (b, l_out, c, k) of a source (b, c, l). Candle launches a thread per k elements; neighbouring threads take
// neighbouring elements here, k of them one after another.
template <class T>
__device__ inline void im2col1d(size_t patches, size_t l_out, size_t taps, size_t stride, size_t padding,
                                size_t dilation, const size_t *__restrict__ info, const T *__restrict__ src,
                                T *__restrict__ dst) {
  const size_t channels = info[1], length = info[2];
  const size_t *s = info + 3;
  const size_t numel = patches * taps;
  const bool wide = numel >> 32;
  const size_t step = thread_count();
  for (size_t i = thread_index(); i < numel; i += step) {
    size_t b = i;
    const size_t tap = divide(b, taps, wide);
    const size_t c = divide(b, channels, wide);
    const size_t at = divide(b, l_out, wide) * stride + tap * dilation - padding;
    T value{};
    if (at < length) value = src[b * s[0] + c * s[1] + at * s[2]];
    dst[i] = value;
  }
}

// dst (b, h_out, w_out, c, h_k, w_k) of a source (b, c, h, w).
template <class T>
__device__ inline void im2col(size_t numel, size_t h_out, size_t w_out, size_t h_taps, size_t w_taps, size_t stride,
                              size_t padding, size_t dilation, const size_t *__restrict__ info,
                              const T *__restrict__ src, T *__restrict__ dst) {
  const size_t channels = info[1], height = info[2], width = info[3];
  const size_t *s = info + 4;
  const bool wide = numel >> 32;
  const size_t step = thread_count();
  for (size_t i = thread_index(); i < numel; i += step) {
    size_t b = i;
    const size_t w = divide(b, w_taps, wide);
    const size_t h = divide(b, h_taps, wide);
    const size_t c = divide(b, channels, wide);
    const size_t x = divide(b, w_out, wide) * stride + w * dilation - padding;
    const size_t y = divide(b, h_out, wide) * stride + h * dilation - padding;
    T value{};
    if (x < width && y < height) value = src[b * s[0] + c * s[1] + y * s[2] + x * s[3]];
    dst[i] = value;
  }
}

// dst (b, c, l_out) of a contiguous source (b, l_in, c, k): the sum, in T, of what reaches a position, from the last
// source position down.
template <class T>
__device__ inline void col2im1d(size_t numel, size_t l_out, size_t l_in, size_t channels, size_t taps, size_t stride,
                                const T *__restrict__ src, T *__restrict__ dst) {
  // Neighbours in l are far apart in the source, neighbours in c in the output: a tile has some of both.
  constexpr size_t tile_l = 8, tile_c = 4;
  const size_t tiles_l = (l_out + tile_l - 1) / tile_l, tiles_c = (channels + tile_c - 1) / tile_c;
  if (numel == 0) return;
  size_t batches = numel;
  divide(batches, channels * l_out, numel >> 32);
  const size_t places = batches * (tiles_l * tile_l) * (tiles_c * tile_c);
  const bool wide = (places + stride) >> 32;
  const size_t step = thread_count();
  const size_t row = channels * taps;
  for (size_t i = thread_index(); i < places; i += step) {
    size_t b = i / (tile_l * tile_c);
    const size_t l = divide(b, tiles_l, wide) * tile_l + i % tile_l;
    const size_t c = divide(b, tiles_c, wide) * tile_c + i / tile_l % tile_c;
    if (l >= l_out || c >= channels) continue;
    size_t last = l;
    size_t tap = divide(last, stride, wide);
    const T *from = src + b * l_in * row + c * taps;
    T sum{};
    for (; tap < taps; tap += stride) {
      if (last < l_in) sum = add(sum, from[last * row + tap]);
      if (last-- == 0) break;
    }
    dst[(b * channels + c) * l_out + l] = sum;
  }
}

}  // namespace candle
