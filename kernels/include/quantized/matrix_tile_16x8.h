// A tile of a product, by the matrix instructions of NVIDIA GPUs.
#pragma once

#include "tiled_loaders.h"

namespace candle {

// DotTile by products of matrices of 16 rows and 8 columns, which a logical wave of an NVIDIA GPU multiplies at once:
// lane 4 * r + c holds words c of rows r and r + 8 and of column r, and results (r, 2 * c), (r, 2 * c + 1), and those
// of row r + 8.
template <class P, int tile_rows, int tile_columns, int threads>
struct MatrixTile16x8 {
  static constexpr int waves = threads / logical_wave_size;
  static constexpr int row_waves = 2, column_waves = waves / row_waves;
  static constexpr int rows = tile_rows / 16 / row_waves, columns = tile_columns / 8 / column_waves;
  static constexpr bool minima_by_block = P::Layout::values_per_sum == 16;
  const int r, c, row0, column0;
  f32 acc[rows][columns][4] = {};

  __device__ explicit MatrixTile16x8(int thread)
      : r(thread % logical_wave_size / 4),
        c(thread % 4),
        row0(thread / logical_wave_size % row_waves * 16 * rows),
        column0(thread / logical_wave_size / row_waves * 8 * columns) {}

  template <class Sums, class Step>
  __device__ void add_group(const Step &step, const TileGroup &group) {
    const int g = group.index, lane = 4 * r + c, matrix = lane / 8, matrix_row = lane % 8;
    u32 words[rows][4];  // of rows r and r + 8 in the low half of the group, of both in the high half
    RowScales scales[rows][2];
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      const int first = row0 + 16 * i;
      target::load_matrices(words[i], &step.x.lines[first + matrix_row + 8 * (matrix % 2)].quads[g][matrix / 2]);
#pragma unroll
      for (int n = 0; n < 2; ++n) scales[i][n] = step.x.scales(g, first + 8 * n + r);
    }
#pragma unroll
    for (int j = 0; j < columns; j += 2) {
      u32 column_words[4];  // of column r, low and high half, and of column r + 8
      const int first = column0 + 8 * j, second = columns == 1 ? 0 : matrix / 2 * 8;
      target::load_matrices(column_words, &step.y.lines[first + matrix_row + second].quads[g][matrix % 2]);
#pragma unroll
      for (int half = 0; half < 2 && j + half < columns; ++half) {
        const auto column_scales = step.y.scale_pair(g, first + 8 * half + 2 * c);
        const u32 low = column_words[2 * half], high = column_words[2 * half + 1];
#pragma unroll
        for (int i = 0; i < rows; ++i) {
          i32 sums_low[4], sums_high[4];
          if constexpr (P::halves) {
            target::multiply_matrices_16(sums_low, sum_offset_bits, words[i][0], words[i][1], low);
            target::multiply_matrices_16(sums_high, sum_offset_bits, words[i][2], words[i][3], high);
          } else {
            target::multiply_matrices_32(sums_low, sum_offset_bits, words[i], low, high);
          }
#pragma unroll
          for (int n = 0; n < 4; ++n) {
            const auto sums = Sums::from_offset(sums_low[n], P::halves ? sums_high[n] : sum_offset_bits);
            f32 &to = acc[i][j + half][n];
            if constexpr (minima_by_block) {
              to = P::accumulate_scaled(to, scales[i][n / 2], sums, column_scales.of[n % 2]);
            } else {
              to = P::accumulate(to, scales[i][n / 2], sums, column_scales.of[n % 2], group.quantized_sums);
            }
          }
        }
      }
    }
  }

  // Subtracts the minima times the sums of activations, of all groups of a block of these: lane 4 * r + c has group c.
  // Those of the last group are multiplied by d, and apart from the others, as zero times infinity would be NaN.
  template <class Step>
  __device__ void subtract_minima(const Step &step, int first_group) {
    const int g = first_group + c, last_group = first_group + int(groups_per_tiled_block) - 1;
    const auto others = [=](u32 pair) { return g == last_group ? 0 : pair; };
    const auto last = [=](u32 pair) { return g == last_group ? pair : 0; };
    u32 minima[rows][2];
#pragma unroll
    for (int i = 0; i < rows; ++i) {
#pragma unroll
      for (int n = 0; n < 2; ++n) {
        minima[i][n] = P::negative_minima(step.x.scales(g, row0 + 16 * i + 8 * n + r));
      }
    }
#pragma unroll
    for (int j = 0; j < columns; ++j) {
      const int first = column0 + 8 * j;
      const u32 sums = step.y.scales(g, first + r).sums;
      const auto last_scales = step.y.scale_pair(last_group, first + 2 * c);
#pragma unroll
      for (int i = 0; i < rows; ++i) {
        f32 of_quants[4] = {};
        target::add_products_of_halves(acc[i][j], others(minima[i][0]), others(minima[i][1]), others(sums));
        target::add_products_of_halves(of_quants, last(minima[i][0]), last(minima[i][1]), last(sums));
#pragma unroll
        for (int n = 0; n < 4; ++n) {
          acc[i][j][n] = fma(of_quants[n], last_scales.of[n % 2].d, acc[i][j][n]);
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
