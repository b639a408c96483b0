// A tile of a grouped product, by fused multiply-adds of f32.
#pragma once

#include "arithmetic.h"
#include "grouped_tiles.h"

namespace candle {

// A thread has four neighbouring tokens and rows.
template <class T>
struct FmaTile {
  static constexpr int depth = 32, tile_tokens = 32, tokens = 4, rows = 4;

  // By column, so that neighbouring rows are read together; the padding spreads the columns over the banks.
  template <int count>
  struct Operand {
    alignas(16) f32 values[depth][count + 4];

    __device__ void store(int row, int column, const Pack<T, 8> &pack) {
#pragma unroll
      for (int k = 0; k < 8; ++k) values[column + k][row] = widen(pack.data[k]);
    }
  };

  const int thread;
  f32 acc[tokens][rows] = {};

  __device__ explicit FmaTile(int t) : thread(t) {}

  __device__ int token(int n) const { return tokens * (thread / (grouped_rows / rows)) + n; }
  __device__ int row(int m) const { return rows * (thread % (grouped_rows / rows)) + m; }
  __device__ f32 sum(int n, int m) const { return acc[n][m]; }

  __device__ void add(const Operand<tile_tokens> &of_tokens, const Operand<grouped_rows> &of_rows, int used) {
    if (token(0) >= used) return;
#pragma unroll 8
    for (int k = 0; k < depth; ++k) {
      const auto a = load_pack<4>(&of_tokens.values[k][token(0)]);
      const auto b = load_pack<4>(&of_rows.values[k][row(0)]);
#pragma unroll
      for (int n = 0; n < tokens; ++n) {
#pragma unroll
        for (int m = 0; m < rows; ++m) acc[n][m] = fma(a.data[n], b.data[m], acc[n][m]);
      }
    }
  }
};

}  // namespace candle
