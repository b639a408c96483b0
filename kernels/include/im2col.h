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

// What reaches output l of one channel, from the last source position down; `from` is the channel's at position 0.
template <class T, class Index>
__device__ inline T sum_of_columns(Index l, Index l_in, Index taps, Index stride, Index row,
                                   const T *__restrict__ from) {
  Index last = l / stride;
  T sum{};
  for (Index tap = l - last * stride; tap < taps; tap += stride) {
    if (last < l_in) sum = add(sum, from[size_t(last) * row + tap]);
    if (last-- == 0) break;
  }
  return sum;
}

constexpr u32 column_side = 32;

// Tiles of side << log_each outputs of side channels: more for a thread to do makes finding a tile cost each less.
template <u32 log_each, class T>
__device__ inline void col2im1d_tiles(const Part &part, u32 batches, u32 l_out, u32 l_in, u32 channels, u32 taps,
                                      u32 stride, const T *__restrict__ src, T *__restrict__ dst,
                                      T (*lds)[column_side + 1]) {
  constexpr u32 side = column_side, length = side << log_each;
  const u32 x = threadIdx.x % side, y = threadIdx.x / side, row = channels * taps;
  const u32 tiles_l = (l_out + length - 1) / length, tiles_c = (channels + side - 1) / side;
  for (u32 i = part.block; i < batches * tiles_l * tiles_c; i += part.blocks) {
    const u32 line = i / tiles_l, b = line / tiles_c;
    const u32 l = (i - line * tiles_l) * length, c = (line - b * tiles_c) * side;
    const T *from = src + size_t(b) * l_in * row + (c + x) * taps;
#pragma unroll
    for (u32 k = 0; k < length; k += side) {
      if (l + k + y < l_out && c + x < channels)
        lds[k + y][x] = sum_of_columns(l + k + y, l_in, taps, stride, row, from);
    }
    __syncthreads();
    T *to = dst + size_t(b * channels + c + y) * l_out + l + x;
#pragma unroll
    for (u32 k = 0; k < length; k += side) {
      if (l + k + x < l_out && c + y < channels) to[k] = lds[k + x][y];
    }
    __syncthreads();
  }
}

// dst (b, c, l_out) of a contiguous source (b, l_in, c, k), each sum in T. Neighbours in c lie together in the source,
// neighbours in l in the output: threads compute along c and store along l, and in between a tile changes hands in LDS.
template <class T>
__device__ inline void col2im1d(size_t numel, size_t l_out, size_t l_in, size_t channels, size_t taps, size_t stride,
                                const T *__restrict__ src, T *__restrict__ dst) {
  constexpr u32 side = column_side, log_each = 2;
  const size_t row = channels * taps;
  if (blockDim.x != side * side || channels < side || (numel | l_in * row | (l_out + stride)) >> 31) {
    const size_t step = thread_count();
    for (size_t i = thread_index(); i < numel; i += step) {
      const size_t line = i / l_out, b = line / channels, c = line - b * channels;
      dst[i] = sum_of_columns(i - line * l_out, l_in, taps, stride, row, src + b * l_in * row + c * taps);
    }
    return;
  }
  __shared__ T lds[side << log_each][side + 1];
  const u32 batches = u32(numel) / (u32(l_out) * u32(channels));
  if (gridDim.x < 256 << log_each) {
    col2im1d_tiles<0>(active_grid(0), batches, l_out, l_in, channels, taps, stride, src, dst, lds);
  } else if (!is_idle_block(log_each)) {
    col2im1d_tiles<log_each>(active_grid(log_each), batches, l_out, l_in, channels, taps, stride, src, dst, lds);
  }
}

}  // namespace candle
