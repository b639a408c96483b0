// Convolutions as products of matrices, which thread blocks compute in tiles: the output of a channel and a position is
// the sum over taps and input channels of a weight times a value of the source.
//
// The operands of a slice, a few input channels of one tap, are loaded while the slice before it is multiplied. What a
// tap takes from outside the source is zero. Of an infinite weight that makes a NaN: tiles with a NaN are computed
// again, tap by tap.
#pragma once

#include "convolve_products.h"

namespace candle {

// Grids of fewer blocks have too few tiles to fill a large GPU.
constexpr u32 tiled_grid = 512;

// Of such a grid only the first blocks work, so that the others exit without loading the sizes.
__device__ inline u32 working_blocks() {
  return gridDim.x / 8 > blocks_to_fill_gpu ? gridDim.x / 8 : blocks_to_fill_gpu;
}

// The order of the positions in tiles: those of a transpose are sorted by their remainder modulo the strides, as all
// that have the same use the same taps.
template <bool transposed>
struct PositionOrder {
  u32 h_step, w_step, h_count, w_count;

  __device__ explicit PositionOrder(const Convolution<u32> &conv)
      : h_step(transposed ? conv.h.stride : 1),
        w_step(transposed ? conv.w.stride : 1),
        h_count((conv.h.out + h_step - 1) / h_step),
        w_count((conv.w.out + w_step - 1) / w_step) {}

  // How many positions of all batches have the same remainders.
  __device__ u32 alike(const Convolution<u32> &conv) const { return conv.batches * h_count * w_count; }
};

// Where a position is in the output, and where its batch starts in the source.
struct Position {
  u32 y, x, src_offset, out_offset;  // x is beyond all for a position that does not exist
  static constexpr u32 nowhere = ~0u;

  Position() = default;

  template <bool transposed>
  __device__ Position(u32 i, const PositionOrder<transposed> &order, const Convolution<u32> &conv) {
    const auto [row, x_index] = div_mod(i, order.w_count);
    const auto [plane, y_index] = div_mod(row, order.h_count);
    const auto [remainders, batch] = div_mod(plane, conv.batches);
    const auto [y_remainder, x_remainder] = div_mod(remainders, order.w_step);
    y = y_index * order.h_step + y_remainder;
    x = x_index * order.w_step + x_remainder;
    src_offset = batch * conv.batch_stride;
    out_offset = (batch * conv.c_out * conv.h.out + y) * conv.w.out + x;
    if (y_remainder >= order.h_step || y >= conv.h.out || x >= conv.w.out) x = nowhere;
  }
};

// What a position and an output channel read of source and kernel by tap (h, w).
struct Tap {
  u32 src_offset, kernel_offset;
  bool in_bounds;

  template <bool transposed>
  __device__ void set(u32 h, u32 w, const Position &position, const Convolution<u32> &conv) {
    const u32 y = source_position<transposed>(position.y, h, conv.h),
              x = source_position<transposed>(position.x, w, conv.w);
    in_bounds = position.x != Position::nowhere && y < conv.h.in && x < conv.w.in;
    src_offset = position.src_offset + y * conv.h.in_stride + x * conv.w.in_stride;
    kernel_offset = h * conv.h.tap_stride + w * conv.w.tap_stride;
  }
};

template <bool transposed, class T>
__device__ inline T convolve_one(const Convolution<u32> &conv, const Position &position, u32 channel, const T *src,
                                 const T *kernel) {
  SumType<T> sums[1][1] = {};
#pragma unroll 1
  for (u32 w = 0; w < conv.w.taps; ++w) {
#pragma unroll 1
    for (u32 h = 0; h < conv.h.taps; ++h) {
      Tap tap;
      tap.set<transposed>(h, w, position, conv);
      const u32 x[1] = {tap.src_offset}, k[1] = {tap.kernel_offset + channel * conv.out_channel_stride};
      if (tap.in_bounds) accumulate_channels(sums, conv, src, x, kernel, k);
    }
  }
  return from_sum<T>(sums[0][0]);
}

template <bool transposed, class T>
__device__ inline bool is_worth_tiles(const Convolution<size_t> &conv) {
  return fits_32_bits(conv, tiled_channels) && conv.channels >= 16 && conv.c_out >= tiled_channels / 2 &&
         PositionOrder<transposed>(narrowed(conv)).alike(narrowed(conv)) >= Products<T>::tile_positions;
}

// Whether the convolution is one for tiles, and done. Out of line it does not share the registers of the direct one.
template <bool transposed, class T, class Describe>
__device__ CANDLE_NOINLINE_NVIDIA bool convolve_tiled(Describe describe, const T *__restrict__ src,
                                                      const T *__restrict__ kernel, T *__restrict__ dst) {
  using Tile = Products<T>;
  constexpr u32 depth = Tile::depth, positions = Tile::tile_positions;
  constexpr u32 value_count = depth * positions / tiled_threads;  // of a thread, neighbouring input channels
  constexpr u32 weight_count = depth * tiled_channels < tiled_threads ? 1 : depth * tiled_channels / tiled_threads;
  __shared__ typename Tile::Operands operands[2];
  __shared__ Position shared_positions[positions];
  __shared__ Convolution<u32> conv;  // for lack of registers
  __shared__ u32 last_vote[2];
  {
    const Convolution<size_t> described = describe();
    if (!is_worth_tiles<transposed, T>(described)) return false;
    if (threadIdx.x == 0) {
      conv = narrowed(described);
      last_vote[0] = last_vote[1] = 0;
    }
  }
  u32 votes = 0;
  // Whether any thread says so. By turns in two words, for some threads may still read the vote before: one barrier,
  // where __syncthreads_or takes several.
  const auto any = [&](bool yes) {
    ++votes;
    if (yes) last_vote[votes % 2] = votes;
    __syncthreads();
    return last_vote[votes % 2] == votes;
  };

  const u32 t = threadIdx.x, value_k = t / positions * value_count;
  const u32 weight_channel = t / (depth / weight_count), weight_k = t % (depth / weight_count) * weight_count;
  for (u32 i = blockIdx.x;; i += working_blocks()) {
    __syncthreads();
    const PositionOrder<transposed> order(conv);
    const u32 channel_tiles = (conv.c_out + tiled_channels - 1) / tiled_channels;
    const u32 position_tiles = (order.alike(conv) * order.h_step * order.w_step + positions - 1) / positions;
    if (i >= position_tiles * channel_tiles) return true;
    const auto [position_tile, channel_tile] = div_mod(i, channel_tiles);
    const u32 channel0 = channel_tile * tiled_channels, channels = conv.c_out - channel0;
    const bool has_weight = weight_channel < tiled_channels && weight_channel < channels;
    const u32 weight_offset = (channel0 + weight_channel) * conv.out_channel_stride;
    if (t < positions) shared_positions[t] = Position(position_tile * positions + t, order, conv);
    __syncthreads();
    const Position &position = shared_positions[t % positions];

    // The next slice.
    u32 h = 0, w = 0, c = 0;
    Tap tap;
    // To the first tap from here that any position takes from the source.
    const auto find_tap = [&] {
      for (; w < conv.w.taps; ++w, h = 0) {
        for (; h < conv.h.taps; ++h) {
          tap.set<transposed>(h, w, position, conv);
          if (any(tap.in_bounds)) return true;
        }
      }
      return false;
    };
    Pack<T, value_count> values;
    Pack<T, weight_count> weights;
    const u32 channel_count = conv.channels, value_stride = conv.in_channel_stride;
    // Behind the last input channel there are zero weights, and the last channel's values.
    const auto load = [&] {
      values = {};
      if (tap.in_bounds) {
        const u32 k = c + value_k, last = channel_count - 1;
        u32 offset = tap.src_offset + (k < last ? k : last) * value_stride;
#pragma unroll
        for (u32 j = 0; j < value_count; ++j) {
          values.data[j] = src[offset];
          if (k + j < last) offset += value_stride;
        }
      }
#pragma unroll
      for (u32 j = 0; j < weight_count; ++j) {
        const u32 k = c + weight_k + j;
        weights.data[j] = T{};
        if (has_weight && k < channel_count) {
          weights.data[j] = kernel[weight_offset + tap.kernel_offset + k * conv.kernel_channel_stride];
        }
      }
    };

    Tile tile(t);
    bool has_slice = find_tap();
    if (has_slice) load();
    for (u32 slice = 0; has_slice; ++slice) {
      typename Tile::Operands &now = operands[slice % 2];
      now.store_values(t % positions, value_k, values);
      if (weight_channel < tiled_channels) now.store_weights(weight_channel, weight_k, weights);
      __syncthreads();
      c += depth;
      if (c >= channel_count) {
        c = 0;
        ++h;
        has_slice = find_tap();
      }
      if (has_slice) load();
      tile.add(now);
    }

    const u32 plane = conv.h.out * conv.w.out;
    bool has_nan = false;
    tile.each([&](u32 channel, u32 p, typename Tile::Sum sum) {
      const Position &to = shared_positions[p];
      if (to.x == Position::nowhere || channel >= channels) return;
      has_nan |= sum != sum;
      dst[to.out_offset + (channel0 + channel) * plane] = from_sum<T>(sum);
    });
    if (!any(has_nan) || position.x == Position::nowhere) continue;
    for (u32 channel = t / positions; channel < tiled_channels && channel < channels;
         channel += tiled_threads / positions) {
      dst[position.out_offset + (channel0 + channel) * plane] =
          convolve_one<transposed>(conv, position, channel0 + channel, src, kernel);
    }
  }
}

}  // namespace candle
