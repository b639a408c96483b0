// im2col and col2im: between a source and the matrix of its patches, so that a convolution is one matrix product.
// Positions as in convolve.h. info is the dims and strides of the source.
#pragma once

#include "elementwise.h"
#include "reduction.h"

namespace candle {

// dst (b, l_out, c, k) of a source (b, c, l). Candle launches a thread per k elements; here a thread computes k
// elements that are a grid stride apart, so that stores are coalesced.
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
    const size_t position = divide(b, l_out, wide) * stride + tap * dilation - padding;
    T value{};
    if (position < length) value = src[b * s[0] + c * s[1] + position * s[2]];
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

// The sum of the taps that contribute to output l of one channel, from the last source position down. `from` points to
// the channel at position 0.
template <class T, class Index>
__device__ inline T sum_taps(Index l, Index l_in, Index taps, Index stride, Index row, const T *__restrict__ from) {
  Index position = l / stride;
  T sum{};
  for (Index tap = l - position * stride; tap < taps; tap += stride) {
    if (position < l_in) sum = add(sum, from[size_t(position) * row + tap]);
    if (position-- == 0) break;
  }
  return sum;
}

constexpr u32 col2im_tile_side = 32;

// Tiles of (side << log_per_thread) outputs by side channels: with more elements per thread, finding a tile costs less
// for each.
template <u32 log_per_thread, class T>
__device__ inline void col2im1d_tiles(const ActiveGrid &grid, u32 batches, u32 l_out, u32 l_in, u32 channels, u32 taps,
                                      u32 stride, const T *__restrict__ src, T *__restrict__ dst,
                                      T (*tile)[col2im_tile_side + 1]) {
  constexpr u32 side = col2im_tile_side, length = side << log_per_thread;
  const u32 x = threadIdx.x % side, y = threadIdx.x / side, row = channels * taps;
  const u32 tiles_l = (l_out + length - 1) / length, tiles_c = (channels + side - 1) / side;
  for (u32 i = grid.block; i < batches * tiles_l * tiles_c; i += grid.blocks) {
    const u32 channel_row = i / tiles_l, b = channel_row / tiles_c;
    const u32 l = (i - channel_row * tiles_l) * length, c = (channel_row - b * tiles_c) * side;
    const T *from = src + size_t(b) * l_in * row + (c + x) * taps;
#pragma unroll
    for (u32 k = 0; k < length; k += side) {
      if (l + k + y < l_out && c + x < channels) tile[k + y][x] = sum_taps(l + k + y, l_in, taps, stride, row, from);
    }
    __syncthreads();
    T *to = dst + size_t(b * channels + c + y) * l_out + l + x;
#pragma unroll
    for (u32 k = 0; k < length; k += side) {
      if (l + k + x < l_out && c + y < channels) to[k] = tile[k + x][y];
    }
    __syncthreads();
  }
}

// dst (b, c, l_out) of a contiguous source (b, l_in, c, k); each sum is in T. Neighbours in c are close together in the
// source, neighbours in l in the output: threads compute along c, transpose a tile in LDS, and store along l.
template <class T>
__device__ inline void col2im1d(size_t numel, size_t l_out, size_t l_in, size_t channels, size_t taps, size_t stride,
                                const T *__restrict__ src, T *__restrict__ dst) {
  constexpr u32 side = col2im_tile_side, log_per_thread = 2;
  const size_t row = channels * taps;
  if (blockDim.x != side * side || channels < side || (numel | l_in * row | (l_out + stride)) >> 31) {
    const size_t step = thread_count();
    for (size_t i = thread_index(); i < numel; i += step) {
      const size_t channel_row = i / l_out, b = channel_row / channels, c = channel_row - b * channels;
      dst[i] = sum_taps(i - channel_row * l_out, l_in, taps, stride, row, src + b * l_in * row + c * taps);
    }
    return;
  }
  __shared__ T tile[side << log_per_thread][side + 1];
  const u32 batches = u32(numel) / (u32(l_out) * u32(channels));
  if (gridDim.x < 256 << log_per_thread) {
    col2im1d_tiles<0>(active_grid(0), batches, l_out, l_in, channels, taps, stride, src, dst, tile);
  } else if (!is_idle_block(log_per_thread)) {
    col2im1d_tiles<log_per_thread>(active_grid(log_per_thread), batches, l_out, l_in, channels, taps, stride, src, dst,
                                   tile);
  }
}

}  // namespace candle
