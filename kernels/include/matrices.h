// How the waves of a target hold the matrices of 16 rows and 16 columns that they multiply. Its `Matrices` has
//
//   integers, halves           whether there is multiply_bytes, multiply_halves; without both it has nothing else
//   wave_size
//   rows, row(lane, i)         how many rows of an operand, and of the results, a lane has, and which; columns of an
//                              operand are held as rows are
//   parts, part(lane)          how many equal parts a row of an operand has, and which of them the lane holds
//   row_padding                of 16 bytes each: between rows of 128 bytes in LDS, of which lanes read 16 bytes
//   columns, column(lane, n)   how many columns of the results a lane has, and which
//   multiply_bytes(sums, column, row)                                  adds the products of 16 signed bytes
//   multiply_bytes(sums, column_low, column_high, row_low, row_high)   of twice 16
//   multiply_halves<T>(sums, column, row)                              of 16 f16 or bf16, in f32
//
// sums[columns * i + n] is that of row i and column n of the lane, and an operand has its words row after row. Which
// elements of a row a lane's part stands for does not matter as long as rows and columns agree. All lanes of the wave
// must be active.
#pragma once

#include "types.h"

namespace candle::target {

// What a lane holds of an operand.
template <int count>
struct MatrixWords {
  u32 word[count];
};

struct NoMatrices {
  static constexpr bool integers = false, halves = false;
};

}  // namespace candle::target
