// The operands of matrix instructions as lanes load them from shared memory.
#pragma once

#include "pack.h"
#include "target.h"

namespace candle {

// What a lane loads of a block of 16 rows of f16 or bf16 at a time, for `steps` multiplications. from.quad(row, i) are
// elements 8 * i to 8 * i + 7 of a row.
template <class Matrices>
struct MatrixPart {
  using Quad = Pack<u32, 4>;
  static constexpr int words = 8 / Matrices::parts, count = words < 4 ? 1 : words / 4, steps = 4 * count / words;
  Quad quads[Matrices::rows][count];

  template <class Operand>
  __device__ void load(const Operand &from, int first_row, int lane, int step) {
#pragma unroll
    for (int i = 0; i < Matrices::rows; ++i) {
      const int row = first_row + Matrices::row(lane, i);
#pragma unroll
      for (int q = 0; q < count; ++q) {
        quads[i][q] = from.quad(row, (step / steps * Matrices::parts + Matrices::part(lane)) * count + q);
      }
    }
  }

  __device__ target::MatrixWords<Matrices::rows * words> of_step(int step) const {
    target::MatrixWords<Matrices::rows * words> found;
#pragma unroll
    for (int i = 0; i < Matrices::rows; ++i) {
#pragma unroll
      for (int k = 0; k < words; ++k) {
        found.word[words * i + k] = quads[i][(step * words + k) / 4].data[(step * words + k) % 4];
      }
    }
    return found;
  }
};

}  // namespace candle
