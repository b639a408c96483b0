// A tile of a product, by the matrix instructions of NVIDIA GPUs.
#pragma once

#include "tiled_scales.h"

namespace candle {

// DotTile by products of matrices of 16 rows and 8 columns, which a logical wave of an NVIDIA GPU multiplies at once:
// lane 4 * r + c holds words c of rows r and r + 8 and of column r, and results (r, 2 * c), (r, 2 * c + 1), and those
// of row r + 8.
template <class P, int tile_rows, int tile_columns>
struct MatrixTile16x8 {
  static constexpr int waves = mmq_threads / logical_wave_size;
  static constexpr int row_waves = tile_rows / 16 < waves ? tile_rows / 16 : waves, column_waves = waves / row_waves;
  static constexpr int rows = tile_rows / 16 / row_waves, columns = tile_columns / 8 / column_waves;
  const int r, c, row0, column0;
  f32 acc[rows][columns][4] = {};

  __device__ explicit MatrixTile16x8(int thread)
      : r(thread % logical_wave_size / 4),
        c(thread % 4),
        row0(thread / logical_wave_size % row_waves * 16 * rows),
        column0(thread / logical_wave_size / row_waves * 8 * columns) {}

  __device__ void add_group(const TileRow *tile_x, const TileRow *tile_y, int g, bool quantized_sums, int) {
    u32 words[rows][2][2];  // of the half, of the row
    RowScales scales[rows][2];
#pragma unroll
    for (int i = 0; i < rows; ++i) {
#pragma unroll
      for (int n = 0; n < 2; ++n) {
        const TileRow &row = tile_x[row0 + 16 * i + 8 * n + r];
        words[i][0][n] = row.quads[g][0].word[c];
        words[i][1][n] = row.quads[g][1].word[c];
        scales[i][n] = {row.scales[2 * g], row.scales[2 * g + 1]};
      }
    }
#pragma unroll
    for (int j = 0; j < columns; ++j) {
      const TileRow &column = tile_y[column0 + 8 * j + r];
      const u32 low = column.quads[g][0].word[c], high = column.quads[g][1].word[c];
      ColumnScales column_scales[2];
#pragma unroll
      for (int n = 0; n < 2; ++n) {
        const u32 *from = tile_y[column0 + 8 * j + 2 * c + n].scales + 2 * g;
        column_scales[n] = {bit_cast<f32>(from[0]), from[1]};
      }
#pragma unroll
      for (int i = 0; i < rows; ++i) {
        // A sum of integers below 2^22 is also the sum of f32 that starts with 1.5 * 2^23: no conversion is needed.
        constexpr f32 offset = 12582912.0f;
        i32 sums_low[4], sums_high[4];
#pragma unroll
        for (int n = 0; n < 4; ++n) sums_low[n] = sums_high[n] = 0x4b400000;
        if constexpr (P::halves) {
          target::multiply_matrices_16(sums_low, words[i][0], low);
          target::multiply_matrices_16(sums_high, words[i][1], high);
        } else {
          target::multiply_matrices_32(sums_low, words[i][0], words[i][1], low, high);
        }
#pragma unroll
        for (int n = 0; n < 4; ++n) {
          const GroupSums sums{bit_cast<f32>(sums_low[n]) - offset, bit_cast<f32>(sums_high[n]) - offset};
          acc[i][j][n] = P::accumulate(acc[i][j][n], scales[i][n / 2], sums, column_scales[n % 2], quantized_sums);
        }
      }
    }
  }

  template <class Each>
  __device__ void each(Each f) const {
#pragma unroll
    for (int j = 0; j < columns; ++j) {
#pragma unroll
      for (int i = 0; i < rows; ++i) {
#pragma unroll
        for (int n = 0; n < 4; ++n) {
          f(row0 + 16 * i + 8 * (n / 2) + r, column0 + 8 * j + 2 * c + n % 2, acc[i][j][n]);
        }
      }
    }
  }
};

}  // namespace candle
