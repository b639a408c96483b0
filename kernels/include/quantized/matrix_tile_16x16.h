// A tile of a product, by the matrix instructions of AMD's CDNA.
#pragma once

#include "tiled_loaders.h"

namespace candle {

// DotTile by products of matrices of 16 rows and 16 columns, by the waves of 64 lanes of AMD's CDNA: lane 16 * c + r
// holds words c of row r and of column r, and results (r, 4 * c) to (r, 4 * c + 3).
template <class P, int tile_rows, int tile_columns, int threads>
struct MatrixTile16x16 {
  static constexpr int wave_size = 64, waves = threads / wave_size;
  static constexpr int rows = tile_rows / 16 / waves, columns = tile_columns / 16;
  const int r, c, row0;
  f32 acc[rows][columns][4] = {};

  __device__ explicit MatrixTile16x16(int thread)
      : r(thread % 16), c(thread % wave_size / 16), row0(thread / wave_size * 16 * rows) {}

  template <class Sums, int groups>
  __device__ void add_group(const TiledRow<groups> *tile_x, const TiledRow<groups> *tile_y, const TileGroup &group) {
    const int g = group.index;
    u32 words[rows][2];
    RowScales scales[rows];
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      const TiledRow<groups> &row = tile_x[row0 + 16 * i + r];
      words[i][0] = row.quads[g][0].word[c];
      words[i][1] = row.quads[g][1].word[c];
      scales[i] = {row.scales[2 * g], row.scales[2 * g + 1]};
    }
#pragma unroll
    for (int j = 0; j < columns; ++j) {
      const TiledRow<groups> &column = tile_y[16 * j + r];
      const u32 low = column.quads[g][0].word[c], high = column.quads[g][1].word[c];
      ColumnScales column_scales[4];
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        const u32 *from = tile_y[16 * j + 4 * c + n].scales + 2 * g;
        column_scales[n] = {bit_cast<f32>(from[0]), from[1]};
      }
#pragma unroll
      for (int i = 0; i < rows; ++i) {
        i32 sums_low[4] = {}, sums_high[4] = {};
        if constexpr (P::halves) {
          target::multiply_matrices_16x16(sums_low, low, words[i][0]);
          target::multiply_matrices_16x16(sums_high, high, words[i][1]);
        } else {
          target::multiply_matrices_16x16(sums_low, low, high, words[i][0], words[i][1]);
        }
#pragma unroll
        for (int n = 0; n < 4; ++n) {
          const Sums sums{f32(sums_low[n]), f32(sums_high[n])};
          acc[i][j][n] = P::accumulate(acc[i][j][n], scales[i], sums, column_scales[n], group.quantized_sums);
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
        for (int n = 0; n < 4; ++n) f(row0 + 16 * i + r, 16 * j + 4 * c + n, acc[i][j][n]);
      }
    }
  }
};

}  // namespace candle
