// What a thread block of a tiled product loads of weights and of activations in 144-byte blocks, and stores in shared
// memory: a step of some groups of every row and column of its tile. The loads of the next step are in flight while a
// step is multiplied. Neighbouring threads load neighbouring words; rows beyond the last are loaded as the last one,
// and not used, and so are groups.
#pragma once

#include "../shuffle.h"
#include "tiled_formats.h"
#include "tiles.h"

namespace candle {

constexpr u32 groups_per_tiled_block = sizeof(BlockQ8_1Tiled::qs) / group_length;

__device__ inline u32 smaller(u32 a, u32 b) { return a < b ? a : b; }

// Two neighbouring values that one instruction loads.
template <class T>
struct alignas(2 * sizeof(T)) Pair {
  T of[2];
};

// A step of the rows, or of the columns, of a tile, in shared memory. An odd number of quads in each puts lanes with
// neighbouring ones in different banks. The scales of two groups lie in the odd quad. Those of more lie by group, so
// that the scales of neighbours are loaded at once; the padding distributes the groups over the banks.
template <class Scales, int count, int groups>
struct TileSide {
  static constexpr bool by_group = groups > 2;
  static constexpr int padding = 128 / groups / sizeof(Scales);
  struct alignas(16) Line {
    Quad quads[groups][2];
    alignas(16) Scales scales[by_group ? 1 : groups];
  };
  static_assert(sizeof(Line) / sizeof(Quad) % 2 == 1);
  Line lines[count];
  alignas(16) Scales scales_by_group[by_group ? groups : 1][by_group ? count + padding : 1];

  __device__ Scales &scales(u32 group, u32 i) {
    if constexpr (by_group) return scales_by_group[group][i];
    return lines[i].scales[group];
  }
  __device__ const Scales &scales(u32 group, u32 i) const { return const_cast<TileSide &>(*this).scales(group, i); }
  // Of i, which is even, and i + 1.
  __device__ Pair<Scales> scale_pair(u32 group, u32 i) const {
    static_assert(by_group, "neighbours lie next to each other");
    return *reinterpret_cast<const Pair<Scales> *>(&scales_by_group[group][i]);
  }
};

// x: weights, y: activations.
template <class P, int rows, int columns, int groups>
struct TileStep {
  TileSide<RowScales, rows, groups> x;
  TileSide<typename P::Layout::ColumnScales, columns, groups> y;
};

// The rows that a thread loads: its first, and every row_step-th from there, as offsets in bytes from the first.
struct TileRows {
  u32 last_pass, pass_bytes;
  __device__ TileRows(u32 first, u32 last_row, u32 row_step, u32 row_bytes)
      : last_pass((last_row - first) / row_step), pass_bytes(row_step * row_bytes) {}
  __device__ i64 offset(u32 pass) const { return i64(u64(smaller(pass, last_pass)) * pass_bytes); }
};

// A group of a step, as a tile multiplies it.
struct TileGroup {
  int index;
  bool quantized_sums;  // the sums of the activations are those of the quants
  int last_column;      // of the tile's columns, the last that is used
};

// Weights. A thread loads all words that share bytes: of a block of 32 words 4 apart, of a K-quant block a word of
// neighbouring groups.
template <class F, int rows, int groups, int threads>
struct WeightLoader {
  using Block = typename F::Block;
  static constexpr bool k_quant = F::length == super_block_length;
  static constexpr u32 words = k_quant ? (groups < 4 ? groups : 4) : F::words_per_load;
  static constexpr u32 own_groups = k_quant ? words : 1, group_threads = group_words * own_groups / words;
  static constexpr u32 threads_per_row = groups * group_words / words, row_step = threads / threads_per_row;
  static constexpr u32 passes = rows / row_step, groups_per_block = F::length / group_length;
  static_assert(rows % row_step == 0, "every pass loads row_step rows");
  static_assert(!k_quant || row_step % 8 == 0, "a pass has all of every eight rows");

  // The first row, group and word of a thread. Of a K-quant a wave stores eight words of every other row: these are in
  // different banks.
  static __device__ u32 row_of(u32 t) {
    const u32 row = t / threads_per_row;
    return k_quant ? row / 8 * 8 + row % 4 * 2 + row % 8 / 4 : row;
  }
  static __device__ u32 group_of(u32 t) { return t % threads_per_row / group_threads * own_groups; }
  static __device__ u32 word_of(u32 t) { return t % group_threads; }
  // Where word k is from there.
  static constexpr u32 groups_to(u32 k) { return k % own_groups; }
  static constexpr u32 words_to(u32 k) { return k / own_groups * group_threads; }
  // The place in its block of a thread's first group, which is a multiple of own_groups.
  static __device__ int in_block(u32 group) { return int(group % groups_per_block / own_groups * own_groups); }

  const Block *x;
  TileRows tile_rows;
  Packed<alignof(Block)> packed[passes][words];

  __device__ WeightLoader(const Block *weights, u32 stride, u32 last_row, u32 t)
      : x(weights + i64(smaller(row_of(t), last_row)) * stride),
        tile_rows(smaller(row_of(t), last_row), last_row, row_step, stride * u32(sizeof(Block))) {}

  __device__ void load(u32 group0, u32 last_group, u32 t) {
    const u32 first = group0 + group_of(t), group = k_quant ? first : smaller(first, last_group);
    const Block &block = x[group / groups_per_block];
    const int word = int(word_of(t));
    const u8 *low = F::low_bytes(block, in_block(group), word), *high = F::high_bytes(block, in_block(group), word);
#pragma unroll
    for (u32 k = 0; k < words; ++k) {
      // Constants, so that word k needs no address of its own.
      const int g = int(groups_to(k)), w = int(words_to(k));
      const auto to_low = F::low_bytes(block, g, w) - F::low_bytes(block, 0, 0);
      const auto to_high = F::high_bytes(block, g, w) - F::high_bytes(block, 0, 0);
#pragma unroll
      for (u32 p = 0; p < passes; ++p) {
        packed[p][k].low = begin_load<alignof(Block)>(low + to_low + tile_rows.offset(p));
        if constexpr (F::has_high_bytes) {
          packed[p][k].high = begin_load<alignof(Block)>(high + to_high + tile_rows.offset(p));
        }
      }
    }
  }

  template <class Side>
  __device__ void store(Side &to, u32 group0, u32 t) const {
    const u32 first_group = group_of(t);
#pragma unroll
    for (u32 p = 0; p < passes; ++p) {
#pragma unroll
      for (u32 k = 0; k < words; ++k) {
        const u32 group = groups_to(k), word = word_of(t) + words_to(k);
        to.lines[row_of(t) + row_step * p].quads[first_group + group][word / 4].word[word % 4] = F::unpack(
            packed[p][k].low.word(), packed[p][k].high.word(), in_block(group0 + first_group) + int(group), int(word));
      }
    }
  }
};

// The scales of the weights: a thread has those of one group of every row_step-th row.
template <class F, int rows, int groups, int threads>
struct RowScaleLoader {
  using Block = typename F::Block;
  static constexpr u32 row_step = threads / groups, passes = (rows + row_step - 1) / row_step;
  static constexpr u32 groups_per_block = F::length / group_length;
  static __device__ u32 first_row(u32 t, u32 last_row) { return smaller(t / groups, last_row); }

  const Block *x;
  TileRows tile_rows;
  Scales scales[passes];

  __device__ RowScaleLoader(const Block *weights, u32 stride, u32 last_row, u32 t)
      : x(weights + i64(first_row(t, last_row)) * stride),
        tile_rows(first_row(t, last_row), last_row, row_step, stride * u32(sizeof(Block))) {}

  __device__ void load(u32 group0, u32 last_group, u32 t) {
    const u32 group = smaller(group0 + t % groups, last_group);
    const Block *first = x + group / groups_per_block;
#pragma unroll
    for (u32 p = 0; p < passes; ++p) {
      const auto *block = reinterpret_cast<const u8 *>(first) + tile_rows.offset(p);
      scales[p] = F::scales(*reinterpret_cast<const Block *>(block), int(group % groups_per_block));
    }
  }

  template <class Side>
  __device__ void store(Side &to, u32 t) const {
#pragma unroll
    for (u32 p = 0; p < passes; ++p) {
      const u32 row = t / groups + row_step * p;
      if (rows % row_step != 0 && row >= rows) return;
      to.scales(t % groups, row) = F::row_scales(scales[p]);
    }
  }
};

// Activations, by quads; block b of column c is y[b * block_stride + c].
template <int columns, int groups, int threads>
struct ActivationLoader {
  static constexpr u32 quads_per_column = 2 * groups, column_step = threads / quads_per_column;
  static constexpr u32 passes = (columns + column_step - 1) / column_step;
  Quad quads[passes];

  __device__ void load(const BlockQ8_1Tiled *y, u32 block_stride, u32 last_column, u32 group0, u32 last_group, u32 t) {
    const u32 quad = t % quads_per_column, group = smaller(group0 + quad / 2, last_group);
    y += i64(group / groups_per_tiled_block) * block_stride;
    const u32 in_block = 2 * (group % groups_per_tiled_block) + quad % 2;
#pragma unroll
    for (u32 p = 0; p < passes; ++p) {
      const BlockQ8_1Tiled &block = y[smaller(t / quads_per_column + column_step * p, last_column)];
      copy(quads[p], reinterpret_cast<const Quad *>(block.qs)[in_block]);
    }
  }

  template <class Side>
  __device__ void store(Side &to, u32 t) const {
    const u32 quad = t % quads_per_column;
#pragma unroll
    for (u32 p = 0; p < passes; ++p) {
      const u32 column = t / quads_per_column + column_step * p;
      if (columns % column_step != 0 && column >= columns) return;
      copy(to.lines[column].quads[quad / 2][quad % 2], quads[p]);
    }
  }
};

__device__ inline bool is_last_of_block(u32 group) {
  return group % groups_per_tiled_block == groups_per_tiled_block - 1;
}

// The scales and sums of the activations: a thread has those of one group of every column_step-th column.
template <class Layout, int columns, int groups, int threads>
struct ColumnScaleLoader {
  static constexpr u32 column_step = threads / groups, passes = (columns + column_step - 1) / column_step;
  HeaderWords words[passes];

  __device__ void load(const BlockQ8_1Tiled *y, u32 block_stride, u32 last_column, u32 group0, u32 last_group, u32 t) {
    const u32 group = smaller(group0 + t % groups, last_group);
    y += i64(group / groups_per_tiled_block) * block_stride;
#pragma unroll
    for (u32 p = 0; p < passes; ++p) {
      const u32 column = smaller(t / groups + column_step * p, last_column);
      words[p] = Layout::load(y[column].header, int(group % groups_per_tiled_block));
    }
  }

  template <class Side>
  __device__ void store(Side &to, u32 group0, u32 t) const {
    const u32 group = (group0 + t % groups) % groups_per_tiled_block;
#pragma unroll
    for (u32 p = 0; p < passes; ++p) {
      const u32 column = t / groups + column_step * p;
      if (columns % column_step != 0 && column >= columns) return;
      const auto scales = Layout::scales(words[p], int(group));
      if (Layout::values_per_sum != 16 || !is_last_of_block(group)) {
        to.scales(t % groups, column) = scales;
      } else {
        to.scales(t % groups, column).d = scales.d;
      }
    }
  }
};

// The sums that layouts with a sum for every 16 values have no room for: those of the quants of the last group of a
// block.
template <class Side, int columns, int groups, int threads>
__device__ inline void store_quant_sums(Side &to, const ActivationLoader<columns, groups, threads> &y, u32 group0,
                                        u32 t) {
  using Loader = ActivationLoader<columns, groups, threads>;
  const u32 quad = t % Loader::quads_per_column;
#pragma unroll
  for (u32 p = 0; p < Loader::passes; ++p) {
    const u32 column = t / Loader::quads_per_column + Loader::column_step * p;
    i32 sum = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) sum = sum4(y.quads[p].word[k], sum);
    const i32 other = shuffle_xor<1>(sum);
    if (columns % Loader::column_step != 0 && column >= columns) continue;
    if (is_last_of_block(group0 + quad / 2) && quad % 2 == 0) {
      const u32 low = narrow<f16>(f32(sum)).bits, high = narrow<f16>(f32(other)).bits;
      to.scales(quad / 2, column).sums = low | high << 16;
    }
  }
}

}  // namespace candle
