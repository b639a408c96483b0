// A tile of a product, by dot products of four bytes.
#pragma once

#include "tiled_loaders.h"

namespace candle {

// The results of a thread block, distributed over its threads: add_group adds group g of a step, each(f) calls
// f(row, column, sum) for the thread's part. Here by dot products: a thread has `rows` rows of some columns.
template <class P, int tile_rows, int tile_columns, int threads, int rows>
struct DotTile {
  static constexpr int row_threads = tile_rows / rows, column_threads = threads / row_threads;
  static constexpr int columns = tile_columns / column_threads;
  const int tx, ty;
  f32 acc[rows][columns] = {};

  __device__ explicit DotTile(int thread) : tx(thread % row_threads), ty(thread / row_threads) {}

  template <class Sums, int groups>
  __device__ void add_group(const TiledRow<groups> *tile_x, const TiledRow<groups> *tile_y, const TileGroup &group) {
    const int g = group.index;
    Quad quads[rows][2];
    RowScales scales[rows];
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      const TiledRow<groups> &row = tile_x[tx + row_threads * i];
      quads[i][0] = row.quads[g][0];
      quads[i][1] = row.quads[g][1];
      scales[i] = {row.scales[2 * g], row.scales[2 * g + 1]};
    }
    CANDLE_UNROLL_COLUMNS
    for (int j = 0; j < columns; ++j) {
      // Not on a GPU: a branch per column costs registers, and computing an unused column costs nothing.
      if (!target::on_gpu && column_threads * j > group.last_column) break;
      const TiledRow<groups> &column = tile_y[ty + column_threads * j];
      const Quad low = column.quads[g][0], high = column.quads[g][1];
      const ColumnScales column_scales{bit_cast<f32>(column.scales[2 * g]), column.scales[2 * g + 1]};
#pragma unroll
      for (int i = 0; i < rows; ++i) {
        i32 sum_low = dot16(quads[i][0], low, 0), sum_high = 0;
        (P::halves ? sum_high : sum_low) = dot16(quads[i][1], high, P::halves ? 0 : sum_low);
        acc[i][j] =
            P::accumulate(acc[i][j], scales[i], Sums{f32(sum_low), f32(sum_high)}, column_scales, group.quantized_sums);
        // Without the barrier the loads of all columns are hoisted, and hundreds of registers spill.
        target::optimization_barrier(acc[i][j]);
      }
    }
  }

  template <class Each>
  __device__ void each(Each f) const {
    CANDLE_UNROLL_COLUMNS
    for (int j = 0; j < columns; ++j) {
#pragma unroll
      for (int i = 0; i < rows; ++i) f(tx + row_threads * i, ty + column_threads * j, acc[i][j]);
    }
  }
};

}  // namespace candle
