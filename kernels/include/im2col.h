// im2col and col2im: between a source and the matrix of its patches, so that a convolution is one matrix product.
// Positions as in convolve.h. info is the dims and strides of the source.
#pragma once

#include "columns.h"
#include "convolution.h"
#include "reduction.h"

namespace candle {

// A source (b, c, h, w) whose patches go to dst (b, h_out, w_out, c, h_k, w_k).
template <class Index>
struct Patches {
  Index batches, channels, batch_stride, channel_stride;
  Axis<Index> h, w;

  // The element of a tap at an output position, or 0 outside.
  template <class T>
  __device__ T element(const T *src, Index b, Index c, Index h_out, Index h_tap, Index w_out, Index w_tap) const {
    const Index y = source_position<false>(h_out, h_tap, h), x = source_position<false>(w_out, w_tap, w);
    if (y >= h.in || x >= w.in) return T{};
    return src[b * batch_stride + c * channel_stride + y * h.in_stride + x * w.in_stride];
  }
};

template <class T>
__device__ inline void im2col(const Patches<size_t> &patches, const T *__restrict__ src, T *__restrict__ dst) {
  const ActiveGrid grid = active_grid(shift_for_few_active_blocks());
  const auto [batches, channels, batch_stride, channel_stride, h, w] = patches;
  const size_t numel = batches * h.out * w.out * channels * h.taps * w.taps;
  const size_t last = batches * batch_stride + channels * channel_stride + h.in * h.in_stride + w.in * w.in_stride;
  if ((numel | last | max_index(h) | max_index(w) | thread_count()) >> 31) {
    for (size_t i = grid.first(); i < numel; i += grid.step()) {
      size_t b = i;
      const size_t w_tap = divide(b, w.taps, true), h_tap = divide(b, h.taps, true), c = divide(b, channels, true);
      const size_t w_out = divide(b, w.out, true), h_out = divide(b, h.out, true);
      dst[i] = patches.element(src, b, c, h_out, h_tap, w_out, w_tap);
    }
  } else if (numel > 0) {
    const Patches<u32> narrow{u32(batches),        u32(channels), u32(batch_stride),
                              u32(channel_stride), narrowed(h),   narrowed(w)};
    const ColumnRange range(grid, u32(channels * h.taps * w.taps), narrow.batches, narrow.h.out, narrow.w.out);
#pragma unroll 1
    for (u32 column = range.column; column < range.columns; column += range.column_step) {
      const DivMod<u32> w_tap = div_mod(column, narrow.w.taps), h_tap = div_mod(w_tap.quotient, narrow.h.taps);
      const auto load = [&](const Row &row) {
        return narrow.element(src, row.outer, h_tap.quotient, row.middle, h_tap.remainder, row.inner, w_tap.remainder);
      };
      Row row = range.first;
      T value = load(row);
      for (bool last = false; !last;) {  // the next element is loaded before one is stored
        T *to = dst + (row.index * range.columns + column);
        last = !range.advance(row);
        const T next = last ? value : load(row);
        *to = value;
        value = next;
      }
    }
  }
}

// dst (b, l_out, c, k) of a source (b, c, l). Candle launches a thread per k elements.
template <class T>
__device__ inline void im2col1d(size_t l_out, size_t taps, size_t stride, size_t padding, size_t dilation,
                                const size_t *__restrict__ info, const T *__restrict__ src, T *__restrict__ dst) {
  if (is_idle_of_few()) return;
  const Axis<size_t> axis{info[2], l_out, info[5], 0, u32(taps), u32(stride), u32(padding), u32(dilation)};
  im2col(Patches<size_t>{info[0], info[1], info[3], info[4], unit_axis, axis}, src, dst);
}

template <class T>
__device__ inline void im2col2d(size_t h_out, size_t w_out, size_t h_taps, size_t w_taps, size_t stride, size_t padding,
                                size_t dilation, const size_t *__restrict__ info, const T *__restrict__ src,
                                T *__restrict__ dst) {
  if (is_idle_of_few()) return;
  const u32 s = u32(stride), p = u32(padding), d = u32(dilation);
  const Axis<size_t> h{info[2], h_out, info[6], 0, u32(h_taps), s, p, d},
      w{info[3], w_out, info[7], 0, u32(w_taps), s, p, d};
  im2col(Patches<size_t>{info[0], info[1], info[4], info[5], h, w}, src, dst);
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

constexpr u32 log_max_col2im_outputs = 2;

template <class T>
struct Col2imTile {
  u32 b, c, l;  // of its first element
  T sums[col2im_tile_side << log_max_col2im_outputs][col2im_tile_side + 1];
};

// Tiles of (side << log_per_thread) outputs by side channels: with more elements per thread, finding a tile costs less
// for each. One thread divides for its block.
template <u32 log_per_thread, class T>
__device__ inline void col2im1d_tiles(const ActiveGrid &grid, size_t numel, u32 l_out, u32 l_in, u32 channels, u32 taps,
                                      u32 stride, const T *__restrict__ src, T *__restrict__ dst, Col2imTile<T> &tile) {
  constexpr u32 side = col2im_tile_side, length = side << log_per_thread;
  const u32 x = threadIdx.x % side, y = threadIdx.x / side, row = channels * taps;
  const u32 tiles_l = (l_out + length - 1) / length, tiles_c = (channels + side - 1) / side;
  for (u32 i = grid.block;; i += grid.blocks) {
    if (threadIdx.x == 0) {
      const u32 channel_row = i / tiles_l;
      tile.b = channel_row / tiles_c;
      tile.c = (channel_row - tile.b * tiles_c) * side;
      tile.l = (i - channel_row * tiles_l) * length;
    }
    __syncthreads();
    const u32 b = tile.b, c = tile.c, l = tile.l;
    if (size_t(b) * channels * l_out >= numel) return;
    const T *from = src + size_t(b) * l_in * row + (c + x) * taps;
#pragma unroll
    for (u32 k = 0; k < length; k += side) {
      if (l + k + y < l_out && c + x < channels) {
        tile.sums[k + y][x] = sum_taps(l + k + y, l_in, taps, stride, row, from);
      }
    }
    __syncthreads();
    T *to = dst + size_t(b * channels + c + y) * l_out + l + x;
#pragma unroll
    for (u32 k = 0; k < length; k += side) {
      if (l + k + x < l_out && c + y < channels) to[k] = tile.sums[k + x][y];
    }
  }
}

// dst (b, c, l_out) of a contiguous source (b, l_in, c, k); each sum is in T. Neighbours in c are close together in the
// source, neighbours in l in the output: threads compute along c, transpose a tile in LDS, and store along l.
template <class T>
__device__ inline void col2im1d(size_t numel, size_t l_out, size_t l_in, size_t channels, size_t taps, size_t stride,
                                const T *__restrict__ src, T *__restrict__ dst) {
  constexpr u32 side = col2im_tile_side, log_per_thread = log_max_col2im_outputs;
  const size_t row = channels * taps;
  if (blockDim.x != side * side || channels < side || (numel | l_in * row | (l_out + stride)) >> 31) {
    const size_t step = thread_count();
    for (size_t i = thread_index(); i < numel; i += step) {
      const size_t channel_row = i / l_out, b = channel_row / channels, c = channel_row - b * channels;
      dst[i] = sum_taps(i - channel_row * l_out, l_in, taps, stride, row, src + b * l_in * row + c * taps);
    }
    return;
  }
  __shared__ Col2imTile<T> tile;
  const u32 length = u32(l_out);
  if (gridDim.x < 256 << log_per_thread) {
    col2im1d_tiles<0>(active_grid(0), numel, length, l_in, channels, taps, stride, src, dst, tile);
  } else if (!is_idle_block(log_per_thread)) {
    col2im1d_tiles<log_per_thread>(active_grid(log_per_thread), numel, length, l_in, channels, taps, stride, src, dst,
                                   tile);
  }
}

}  // namespace candle
