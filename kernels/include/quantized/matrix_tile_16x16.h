// A tile of a product, by the matrix instructions of AMD GPUs.
#pragma once

#include "tiled_loaders.h"

namespace candle {

// DotTile by products of matrices of 16 rows and 16 columns (target::Matrices). Where there are fewer of them than
// waves, `sharers` waves multiply the same ones, each for a part of the results: its columns are exchanged, so that
// these are the first.
template <class Matrices, class P, int tile_rows, int tile_columns, int threads>
struct MatrixTile16x16 {
  static constexpr int waves = threads / Matrices::wave_size;
  static constexpr int column_waves = clamp_index(tile_columns / 16, waves / 2),
                       row_waves = clamp_index(tile_rows / 16, waves / column_waves);
  static constexpr int sharers = waves / row_waves / column_waves, results = Matrices::columns / sharers;
  static constexpr int rows = tile_rows / 16 / row_waves, columns = tile_columns / 16 / column_waves;
  static_assert(sharers == 1 || rows * columns == 1, "the matrices are distributed evenly");
  using Words = target::MatrixWords<4 / Matrices::parts>;
  const int lane, row0, column0, exchange;
  f32 acc[rows][columns][results] = {};

  __device__ explicit MatrixTile16x16(int thread)
      : lane(thread % Matrices::wave_size),
        row0(thread / Matrices::wave_size % row_waves * 16 * rows),
        column0(thread / Matrices::wave_size / row_waves % column_waves * 16 * columns),
        exchange(sharers == 1 ? 0 : thread / Matrices::wave_size / row_waves * results * Matrices::column_step) {}

  // A lane's part of each half of a group, or of all of it.
  struct Operand {
    Words low, high;
  };
  __device__ Operand operand(const Quad (&quads)[2]) const {
    constexpr int count = 4 / Matrices::parts;
    const int part = Matrices::part(lane), first = P::halves ? count * part : 2 * count * part;
    const auto load = [&](int begin) {
      Words words;
#pragma unroll
      for (int k = 0; k < count; ++k) words.word[k] = quads[(begin + k) / 4].word[(begin + k) % 4];
      return words;
    };
    return {load(first), load(first + (P::halves ? 4 : count))};
  }

  // Sums that start from sum_offset take a register for each result of a lane, and conversions time.
  static constexpr bool has_offset = rows * columns > 1;

  __device__ int column_of(int n) const { return Matrices::column(lane, n) ^ exchange; }

  template <class Sums, class Step>
  __device__ void add_group(const Step &step, const TileGroup &group) {
    const int g = group.index;
    Operand row_words[rows];
    RowScales scales[rows];
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      const int row = row0 + 16 * i + Matrices::row(lane, 0);
      row_words[i] = operand(step.x.lines[row].quads[g]);
      scales[i] = step.x.scales(g, row);
    }
#pragma unroll
    for (int j = 0; j < columns; ++j) {
      const Operand words = operand(step.y.lines[column0 + 16 * j + (Matrices::row(lane, 0) ^ exchange)].quads[g]);
      typename P::Layout::ColumnScales column_scales[results];
#pragma unroll
      for (int n = 0; n < results; ++n) {
        column_scales[n] = step.y.scales(g, column0 + 16 * j + column_of(n));
      }
#pragma unroll
      for (int i = 0; i < rows; ++i) {
        i32 sums_low[Matrices::columns], sums_high[Matrices::columns];
#pragma unroll
        for (int n = 0; n < Matrices::columns; ++n) sums_low[n] = sums_high[n] = has_offset ? sum_offset_bits : 0;
        if constexpr (P::halves) {
          Matrices::multiply_bytes(sums_low, words.low, row_words[i].low);
          Matrices::multiply_bytes(sums_high, words.high, row_words[i].high);
        } else {
          Matrices::multiply_bytes(sums_low, words.low, words.high, row_words[i].low, row_words[i].high);
        }
#pragma unroll
        for (int n = 0; n < results; ++n) {
          const Sums sums =
              has_offset ? Sums::from_offset(sums_low[n], sums_high[n]) : Sums{f32(sums_low[n]), f32(sums_high[n])};
          acc[i][j][n] = P::accumulate(acc[i][j][n], scales[i], sums, column_scales[n], group.quantized_sums);
        }
      }
      if constexpr (columns > 1 && !P::halves) Matrices::keep_apart();
    }
  }

  template <class Each>
  __device__ void each(Each f) const {
#pragma unroll
    for (int j = 0; j < columns; ++j) {
#pragma unroll
      for (int i = 0; i < rows; ++i) {
#pragma unroll
        for (int n = 0; n < results; ++n) {
          f(row0 + 16 * i + Matrices::row(lane, 0), column0 + 16 * j + column_of(n), acc[i][j][n]);
        }
      }
    }
  }
};

}  // namespace candle
