// Direct convolutions and their transposes. Candle launches a thread per output; here a thread computes a tile of
// outputs, so that each value it loads is used in several products, and the other threads exit at once. Large problems
// are products of matrices: convolve_tiled.h.
#pragma once

#include "convolve_tiled.h"

namespace candle {

// The largest tile whose sums fit in registers.
constexpr int tile_channels = 4;
template <class T>
constexpr int tile_positions = sizeof(T) == 8 ? 1 : 2;

// All threads of the first blocks work. Neighbouring runs of tiles go to different blocks, in case there are few.
__device__ inline TileRange spread_tiles(u32 blocks) {
  constexpr u32 run = 64;
  return {(size_t(threadIdx.x / run) * blocks + blockIdx.x) * run + threadIdx.x % run, size_t(blocks) * blockDim.x,
          false};
}

// A tile is a few neighbouring output channels at `positions` positions, which are position_stride apart.
template <bool transposed, int channels, int positions, class Index, class T>
__device__ inline void convolve(const Convolution<Index> &conv, const TileRange &range, const T *__restrict__ src,
                                const T *__restrict__ kernel, T *__restrict__ dst) {
  const Index h_positions = position_count<transposed>(conv.h), w_positions = position_count<transposed>(conv.w);
  const Index total_positions = conv.batches * h_positions * w_positions;
  const Index position_stride = (total_positions + positions - 1) / positions;
  const Index tiles = (conv.c_out + channels - 1) / channels * position_stride;
  for (size_t i = range.first; i < tiles; i += range.step) {
    const auto [channel_tile, first] = div_mod(Index(i), position_stride);
    const Index c = channel_tile * channels;
    Index src_batch[positions], x[positions], y[positions], out_offset[positions];
    bool exists[positions];
#pragma unroll
    for (int j = 0; j < positions; ++j) {
      const auto [row, w] = div_mod(first + j * position_stride, w_positions);
      const auto [b, h] = div_mod(row, h_positions);
      x[j] = position_of<transposed>(w, conv.w);
      y[j] = position_of<transposed>(h, conv.h);
      exists[j] = b < conv.batches && x[j] < conv.w.out && y[j] < conv.h.out;
      src_batch[j] = b * conv.batch_stride;
      out_offset[j] = ((b * conv.c_out + c) * conv.h.out + y[j]) * conv.w.out + x[j];
    }
    SumType<T> sums[channels][positions] = {};
#pragma unroll 1
    for (u32 w = 0; w < conv.w.taps; ++w) {
#pragma unroll 1
      for (u32 h = 0; h < conv.h.taps; ++h) {
        Index src_offset[positions], kernel_offset[channels];
        bool in_bounds[positions], all_in_bounds = true;
#pragma unroll
        for (int j = 0; j < positions; ++j) {
          const Index in_x = source_position<transposed>(x[j], w, conv.w),
                      in_y = source_position<transposed>(y[j], h, conv.h);
          in_bounds[j] = exists[j] && in_x < conv.w.in && in_y < conv.h.in;
          all_in_bounds &= in_bounds[j];
          src_offset[j] = src_batch[j] + in_y * conv.h.in_stride + in_x * conv.w.in_stride;
        }
#pragma unroll
        for (int k = 0; k < channels; ++k) {  // channels beyond the last are computed as the last, and not stored
          const Index channel = c + k < conv.c_out ? c + k : conv.c_out - 1;
          kernel_offset[k] = channel * conv.out_channel_stride + h * conv.h.tap_stride + w * conv.w.tap_stride;
        }
        if (all_in_bounds) {
          accumulate_channels(sums, conv, src, src_offset, kernel, kernel_offset);
          continue;
        }
        if constexpr (positions > 1) {
#pragma unroll
          for (int j = 0; j < positions; ++j) {
            if (!in_bounds[j]) continue;
            const Index one_position[1] = {src_offset[j]};
            SumType<T> position_sums[channels][1];
#pragma unroll
            for (int k = 0; k < channels; ++k) position_sums[k][0] = sums[k][j];
            accumulate_channels(position_sums, conv, src, one_position, kernel, kernel_offset);
#pragma unroll
            for (int k = 0; k < channels; ++k) sums[k][j] = position_sums[k][0];
          }
        }
      }
    }
#pragma unroll
    for (int k = 0; k < channels; ++k) {
#pragma unroll
      for (int j = 0; j < positions; ++j) {
        if (exists[j] && c + k < conv.c_out) dst[out_offset[j] + k * conv.h.out * conv.w.out] = from_sum<T>(sums[k][j]);
      }
    }
  }
}

// The convolution that the parameters of a kernel describe; h_out is 1 in one dimension.
struct Conv1d {
  static constexpr bool transposed = false;

  // Candle multiplies the whole position by the dilation, which is a convolution for a dilation of 1 only.
  static __device__ Convolution<size_t> describe(size_t w_out, size_t, size_t stride, size_t padding, size_t dilation,
                                                 const size_t *__restrict__ info) {
    const Axis<size_t> w{info[2],      w_out,        info[5], info[11], u32(info[8]), u32(stride * dilation),
                         u32(padding), u32(dilation)};
    return {info[0], info[1], info[6], info[3], info[4], info[9], info[10], unit_axis, w};
  }
};

struct ConvTranspose1d {
  static constexpr bool transposed = true;

  static __device__ Convolution<size_t> describe(size_t w_out, size_t, size_t stride, size_t padding, size_t dilation,
                                                 const size_t *__restrict__ info) {
    const Axis<size_t> w{info[2], w_out, info[5], info[11], u32(info[8]), u32(stride), u32(padding), u32(dilation)};
    return {info[0], info[1], info[7], info[3], info[4], info[10], info[9], unit_axis, w};
  }
};

template <bool is_transposed>
struct Conv2dBase {
  static constexpr bool transposed = is_transposed;

  static __device__ Convolution<size_t> describe(size_t w_out, size_t h_out, size_t stride, size_t padding,
                                                 size_t dilation, const size_t *__restrict__ info) {
    const Axis<size_t> h{info[2], h_out, info[6], info[14], u32(info[10]), u32(stride), u32(padding), u32(dilation)};
    const Axis<size_t> w{info[3], w_out, info[7], info[15], u32(info[11]), u32(stride), u32(padding), u32(dilation)};
    const size_t out = transposed ? 1 : 0;  // the dimension of the kernel that counts output channels
    return {info[0], info[1], info[8 + out], info[4], info[5], info[12 + out], info[13 - out], h, w};
  }
};

using Conv2d = Conv2dBase<false>;
using ConvTranspose2d = Conv2dBase<true>;

template <class Kind, class T>
__device__ inline void convolve(size_t w_out, size_t h_out, size_t stride, size_t padding, size_t dilation,
                                const size_t *__restrict__ info, const T *src, const T *kernel, T *dst) {
  constexpr u32 log_tile = sizeof(T) == 8 ? 2 : 3, log_small_tile = 1;
  static_assert(1 << log_tile == tile_channels * tile_positions<T>, "a power of two");
  const auto describe = [=] { return Kind::describe(w_out, h_out, stride, padding, dilation, info); };
  const bool is_small_grid = gridDim.x <= 2 * blocks_to_fill_gpu;
  TileRange range;
  // LLVM reorders the sums of integers: their tiles would not fit in AMD's registers.
  if (!is_integer<T> && gridDim.x >= tiled_grid && blockDim.x == tiled_threads) {
    if (blockIdx.x >= working_blocks()) return;
    if constexpr (!is_integer<T>) {
      if (convolve_tiled<Kind::transposed>(describe, src, kernel, dst)) return;
    }
    range = spread_tiles(working_blocks());
  } else {
    range = is_small_grid ? assign_tiles<log_small_tile>() : assign_tiles<log_tile>();
    if (range.is_empty) return;
  }
  const Convolution<size_t> conv = describe();
  if (!fits_32_bits(conv, tile_channels)) {
    convolve<Kind::transposed, 1, 1>(conv, range, src, kernel, dst);
  } else if (is_small_grid) {
    convolve<Kind::transposed, 1 << log_small_tile, 1>(narrowed(conv), range, src, kernel, dst);
  } else {
    convolve<Kind::transposed, tile_channels, tile_positions<T>>(narrowed(conv), range, src, kernel, dst);
  }
}

}  // namespace candle
