// A tile of a grouped product, by the matrix instructions of a target.
#pragma once

#include "grouped_tiles.h"
#include "matrix_part.h"

namespace candle {

// A wave has all tokens of some rows, in matrices of 16 by 16 (see matrices.h).
template <class Matrices, class T>
struct MatrixTile {
  static constexpr int depth = 64, tile_tokens = 64;
  static constexpr int token_blocks = tile_tokens / 16;
  static constexpr int row_blocks = grouped_rows / 16 / (grouped_threads / Matrices::wave_size);
  static constexpr int tokens = token_blocks * Matrices::columns, rows = row_blocks * Matrices::rows;
  using Quad = Pack<u32, 4>;

  // By row; the padding puts what eight lanes read at a time into different banks.
  template <int count>
  struct Operand {
    Quad quads[count][depth / 8 + Matrices::row_padding];

    __device__ void store(int row, int column, const Pack<T, 8> &pack) {
      quads[row][column / 8] = bit_cast<Quad>(pack);
    }
    __device__ const Quad &quad(int row, int i) const { return quads[row][i]; }
  };

  using Part = MatrixPart<Matrices>;

  const int lane, row0;
  f32 sums[token_blocks][row_blocks][Matrices::rows * Matrices::columns] = {};

  __device__ explicit MatrixTile(int t)
      : lane(t % Matrices::wave_size), row0(t / Matrices::wave_size * row_blocks * 16) {}

  __device__ int token(int n) const {
    return n / Matrices::columns * 16 + Matrices::column(lane, n % Matrices::columns);
  }
  __device__ int row(int m) const { return row0 + m / Matrices::rows * 16 + Matrices::row(lane, m % Matrices::rows); }
  __device__ f32 sum(int n, int m) const {
    return sums[n / Matrices::columns][m / Matrices::rows]
               [m % Matrices::rows * Matrices::columns + n % Matrices::columns];
  }

  __device__ void add(const Operand<tile_tokens> &of_tokens, const Operand<grouped_rows> &of_rows, int used) {
#pragma unroll
    for (int step = 0; step < depth / 16; step += Part::steps) {
      Part row_parts[row_blocks];
#pragma unroll
      for (int i = 0; i < row_blocks; ++i) row_parts[i].load(of_rows, row0 + 16 * i, lane, step);
#pragma unroll
      for (int j = 0; j < token_blocks; ++j) {
        if (16 * j >= used) break;
        Part token_part;
        token_part.load(of_tokens, 16 * j, lane, step);
#pragma unroll
        for (int s = 0; s < Part::steps; ++s) {
#pragma unroll
          for (int i = 0; i < row_blocks; ++i) {
            Matrices::template multiply_halves<T>(sums[j][i], token_part.of_step(s), row_parts[i].of_step(s));
          }
        }
      }
    }
  }
};

}  // namespace candle
