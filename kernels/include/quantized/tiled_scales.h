// What the tiled products with activations in 144-byte blocks load of scales, and store in LDS with a step.
#pragma once

#include "mmq.h"
#include "tiled_formats.h"

namespace candle {

struct Q8_1Tiled : Format<Q8_1Tiled, BlockQ8_1Tiled> {
  static constexpr int length = 128, words_per_load = 1;
  static __device__ const u8 *low_bytes(const Block &b, int group, int word) { return b.qs + 32 * group + 4 * word; }
  static __device__ u32 unpack(u32 low, u32, int, int) { return low; }
};
constexpr int groups_per_tiled_block = Q8_1Tiled::length / group_length;

// The scales of the rows and columns of a step: a thread has one group of every `row_step`-th of them.
constexpr int scale_row_step = mmq_threads / groups_per_step;

template <class F, int rows>
struct TiledRowScales {
  static constexpr int count = (rows + scale_row_step - 1) / scale_row_step;
  Scales scales[count];

  __device__ void load(const typename F::Block *x, int last_row, int stride, int t, int group0, int last_group) {
    constexpr int groups_per_block = F::length / group_length;
    const int group = clamp_index(group0 + t % groups_per_step, last_group);
#pragma unroll
    for (int p = 0; p < count; ++p) {
      const int row = clamp_index(t / groups_per_step + scale_row_step * p, last_row);
      scales[p] = F::scales(x[i64(row) * stride + group / groups_per_block], group % groups_per_block);
    }
  }

  __device__ void store(TileRow *tile, int t) const {
#pragma unroll
    for (int p = 0; p < count; ++p) {
      const int row = t / groups_per_step + scale_row_step * p;
      if (rows % scale_row_step != 0 && row >= rows) return;
      const RowScales decoded = F::row_scales(scales[p]);
      u32 *to = tile[row].scales + 2 * (t % groups_per_step);
      to[0] = decoded.a;
      to[1] = decoded.b;
    }
  }
};

template <class Layout, int columns>
struct TiledColumnScales {
  static constexpr int count = (columns + scale_row_step - 1) / scale_row_step;
  HeaderWords words[count];

  __device__ void load(const BlockQ8_1Tiled *y, int last_column, int block_stride, int t, int group0) {
    const int group = group0 + t % groups_per_step;
    y += group / groups_per_tiled_block * i64(block_stride);
#pragma unroll
    for (int p = 0; p < count; ++p) {
      const int column = clamp_index(t / groups_per_step + scale_row_step * p, last_column);
      words[p] = Layout::load(y[column].header, group % groups_per_tiled_block);
    }
  }

  __device__ void store(TileRow *tile, int t, int group0) const {
    const int group = (group0 + t % groups_per_step) % groups_per_tiled_block;
#pragma unroll
    for (int p = 0; p < count; ++p) {
      const int column = t / groups_per_step + scale_row_step * p;
      if (columns % scale_row_step != 0 && column >= columns) return;
      const ColumnScales scales = Layout::scales(words[p], group);
      u32 *to = tile[column].scales + 2 * (t % groups_per_step);
      to[0] = bit_cast<u32>(scales.d);
      // The sums of the last group are those of its quants, by other threads.
      if (Layout::values_per_sum != 16 || group < groups_per_tiled_block - 1) to[1] = scales.sums;
    }
  }
};

// In a step that has the last group of a block: sums of the quants of its halves, by four threads each.
template <int columns, bool prefetch>
__device__ inline void store_quant_sums(TileRow *tile, const TileLoader<Q8_1Tiled, columns, prefetch> &words, int t) {
  using Loader = TileLoader<Q8_1Tiled, columns, prefetch>;
#pragma unroll
  for (int p = 0; p < columns / Loader::row_step; ++p) {
    i32 sum = sum4(words.packed[p][0].low.word(), 0);
    sum += shuffle_xor<1>(sum);
    sum += shuffle_xor<2>(sum);
    const i32 other = shuffle_xor<4>(sum);
    const int group = Loader::group_of(t, 0);
    if (group == groups_per_step - 1 && t % group_words == 0) {
      tile[t / Loader::threads_per_row + Loader::row_step * p].scales[2 * group + 1] = u32(u16(sum)) | u32(other) << 16;
    }
  }
}

}  // namespace candle
