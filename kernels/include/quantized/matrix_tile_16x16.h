// A tile of a product, by the matrix instructions of AMD GPUs.
#pragma once

#include "tiled_scales.h"

namespace candle {

// DotTile by products of matrices of 16 rows and 16 columns (target::Matrices). Where there are fewer of them than
// waves, `sharers` waves multiply the same ones, each for a part of the results: its columns are exchanged, so that
// these are the first.
template <class Matrices, class P, int tile_rows, int tile_columns>
struct MatrixTile16x16 {
  static constexpr int smaller(int a, int b) { return a < b ? a : b; }
  static constexpr int waves = mmq_threads / Matrices::wave_size;
  static constexpr int column_waves = smaller(tile_columns / 16, waves / 2),
                       row_waves = smaller(tile_rows / 16, waves / column_waves);
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

  // A sum of integers below 2^22 is also the sum of f32 that starts with 1.5 * 2^23: subtracting that is cheaper than
  // to convert, but it takes a register for each result of a lane.
  static constexpr bool has_offset = rows * columns > 1;
  static __device__ f32 number(i32 sum) { return has_offset ? bit_cast<f32>(sum) - 12582912.0f : f32(sum); }

  __device__ int column_of(int n) const { return Matrices::column(lane, n) ^ exchange; }

  __device__ void add_group(const TileRow *tile_x, const TileRow *tile_y, int g, bool quantized_sums, int) {
    Operand row_words[rows];
    RowScales scales[rows];
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      const TileRow &row = tile_x[row0 + 16 * i + Matrices::row(lane, 0)];
      row_words[i] = operand(row.quads[g]);
      scales[i] = {row.scales[2 * g], row.scales[2 * g + 1]};
    }
#pragma unroll
    for (int j = 0; j < columns; ++j) {
      const TileRow &column = tile_y[column0 + 16 * j + (Matrices::row(lane, 0) ^ exchange)];
      const Operand words = operand(column.quads[g]);
      ColumnScales column_scales[results];
#pragma unroll
      for (int n = 0; n < results; ++n) {
        const u32 *from = tile_y[column0 + 16 * j + column_of(n)].scales + 2 * g;
        column_scales[n] = {bit_cast<f32>(from[0]), from[1]};
      }
#pragma unroll
      for (int i = 0; i < rows; ++i) {
        i32 sums_low[Matrices::columns], sums_high[Matrices::columns];
#pragma unroll
        for (int n = 0; n < Matrices::columns; ++n) sums_low[n] = sums_high[n] = has_offset ? 0x4b400000 : 0;
        if constexpr (P::halves) {
          Matrices::multiply_bytes(sums_low, words.low, row_words[i].low);
          Matrices::multiply_bytes(sums_high, words.high, row_words[i].high);
        } else {
          Matrices::multiply_bytes(sums_low, words.low, words.high, row_words[i].low, row_words[i].high);
        }
#pragma unroll
        for (int n = 0; n < results; ++n) {
          const GroupSums sums{number(sums_low[n]), number(sums_high[n])};
          acc[i][j][n] = P::accumulate(acc[i][j][n], scales[i], sums, column_scales[n], quantized_sums);
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
