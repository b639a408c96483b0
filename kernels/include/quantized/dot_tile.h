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

  template <class Sums, class Step>
  __device__ void add_group(const Step &step, const TileGroup &group) {
    const int g = group.index;
    Quad quads[rows][2];
    RowScales scales[rows];
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      const int row = tx + row_threads * i;
      quads[i][0] = step.x.lines[row].quads[g][0];
      quads[i][1] = step.x.lines[row].quads[g][1];
      scales[i] = step.x.scales(g, row);
    }
    CANDLE_UNROLL_COLUMNS
    for (int j = 0; j < columns; ++j) {
      // Not on a GPU: a branch per column costs registers, and computing an unused column costs nothing.
      if (!target::on_gpu && column_threads * j > group.last_column) break;
      const int column = ty + column_threads * j;
      const Quad low = step.y.lines[column].quads[g][0], high = step.y.lines[column].quads[g][1];
      const auto column_scales = step.y.scales(g, column);
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
