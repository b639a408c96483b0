// Quantized weights times activations in 144-byte blocks, in tiles; any number of rows and columns. The sums over the
// groups of a row are in order.
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
  Scales scales[rows / scale_row_step];

  __device__ void load(const typename F::Block *x, int last_row, int stride, int t, int group0, int last_group) {
    constexpr int groups_per_block = F::length / group_length;
    const int group = clamp_index(group0 + t % groups_per_step, last_group);
#pragma unroll
    for (int p = 0; p < rows / scale_row_step; ++p) {
      const int row = clamp_index(t / groups_per_step + scale_row_step * p, last_row);
      scales[p] = F::scales(x[i64(row) * stride + group / groups_per_block], group % groups_per_block);
    }
  }

  __device__ void store(TileRow *tile, int t) const {
#pragma unroll
    for (int p = 0; p < rows / scale_row_step; ++p) {
      const RowScales row = F::row_scales(scales[p]);
      u32 *to = tile[t / groups_per_step + scale_row_step * p].scales + 2 * (t % groups_per_step);
      to[0] = row.a;
      to[1] = row.b;
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

// Thread block (bx, by) of mmq_threads threads computes rows bx * tile_rows.. of columns by * tile_columns.., each
// thread `rows` rows of them: dst[column * stride_dst + row]. Rows of x are stride_x blocks apart. Block b of column c
// of y is y[b * ncols_y + c].
template <class P, int tile_columns, int tile_rows, int rows>
__device__ CANDLE_FORCE_INLINE void tiled_product(const void *__restrict__ vx, const void *__restrict__ vy,
                                                  f32 *__restrict__ dst, int ncols_x, int nrows_x, int ncols_y,
                                                  int stride_x, int stride_dst) {
  constexpr int row_threads = tile_rows / rows, column_threads = mmq_threads / row_threads;
  constexpr int columns = tile_columns / column_threads;
  using Layout = typename P::Layout;
  __shared__ TileRow tile_x[tile_rows], tile_y[tile_columns];
  const int thread = threadIdx.x, tx = thread % row_threads, ty = thread / row_threads;
  const int row0 = blockIdx.x * tile_rows, column0 = blockIdx.y * tile_columns;
  const auto *x = static_cast<const typename P::Block *>(vx) + i64(row0) * stride_x;
  const auto *y = static_cast<const BlockQ8_1Tiled *>(vy) + column0;
  const int last_row = nrows_x - 1 - row0, last_column = clamp_index(ncols_y - column0, tile_columns) - 1;
  const int groups = ncols_x / group_length;
  TileLoader<P, tile_rows, true> weights;
  TileLoader<Q8_1Tiled, tile_columns, true> activations;
  TiledRowScales<P, tile_rows> weight_scales;
  TiledColumnScales<Layout, tile_columns> activation_scales;
  const auto load = [&](int group0, int t) {
    weights.load(x, last_row, stride_x, t, group0, groups - 1);
    weight_scales.load(x, last_row, stride_x, t, group0, groups - 1);
    activations.load(y, last_column, 1, t, group0, groups - 1, ncols_y);
    activation_scales.load(y, last_column, ncols_y, t, clamp_index(group0, groups - 1));
  };
  if (groups > 0) load(0, thread);
  f32 acc[rows][columns] = {};
  for (int group0 = 0; group0 < groups; group0 += groups_per_step) {
    const int groups_in_step = clamp_index(groups - group0, groups_per_step);
    const int t = target::few_registers ? target::rematerialize(thread) : thread;
    const bool has_last_group = group0 % groups_per_tiled_block == groups_per_tiled_block - groups_per_step;
    __syncthreads();
    weights.store(tile_x, t, group0);
    weight_scales.store(tile_x, t);
    activations.store(tile_y, t, group0);
    activation_scales.store(tile_y, t, group0);
    if (Layout::values_per_sum == 16 && has_last_group) store_quant_sums(tile_y, activations, t);
    __syncthreads();
    load(group0 + groups_per_step < groups ? group0 + groups_per_step : group0, t);
#pragma unroll 1
    for (int g = 0; g < groups_in_step; ++g) {
      Quad quads[rows][2];
      RowScales scales[rows];
#pragma unroll
      for (int i = 0; i < rows; ++i) {
        const TileRow &row = tile_x[tx + row_threads * i];
        quads[i][0] = row.quads[g][0];
        quads[i][1] = row.quads[g][1];
        scales[i] = {row.scales[2 * g], row.scales[2 * g + 1]};
      }
      CANDLE_UNROLL_COLUMNS
      for (int j = 0; j < columns; ++j) {
        // Not on a GPU: a branch per column costs registers, and computing an unused column costs nothing.
        if (!target::on_gpu && column_threads * j > last_column) break;
        const TileRow &column = tile_y[ty + column_threads * j];
        const Quad low = column.quads[g][0], high = column.quads[g][1];
        const ColumnScales column_scales{bit_cast<f32>(column.scales[2 * g]), column.scales[2 * g + 1]};
#pragma unroll
        for (int i = 0; i < rows; ++i) {
          GroupSums sums{dot16(quads[i][0], low, 0), 0};
          (P::halves ? sums.high : sums.low) = dot16(quads[i][1], high, P::halves ? 0 : sums.low);
          acc[i][j] =
              P::accumulate(acc[i][j], scales[i], sums, column_scales, has_last_group && g == groups_per_step - 1);
          // Without the barrier the loads of all columns are hoisted, and hundreds of registers spill.
          target::optimization_barrier(acc[i][j]);
        }
      }
    }
  }
  CANDLE_UNROLL_COLUMNS
  for (int j = 0; j < columns; ++j) {
    const int column = ty + column_threads * j;
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      const int row = tx + row_threads * i;
      if (column <= last_column && row <= last_row) dst[i64(column0 + column) * stride_dst + row0 + row] = acc[i][j];
    }
  }
}

}  // namespace candle
