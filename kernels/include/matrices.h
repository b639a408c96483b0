// How the waves of a target hold the matrices of 16 rows and 16 columns that they multiply. Its `Matrices` has
//
//   integers, halves             whether there is multiply_bytes, multiply_halves; if neither, nothing else is there
//   subnormals                   whether multiply_halves takes subnormal operands for what they are, not for zero
//   wave_size
//   rows, row(lane, i)           how many rows of an operand and of the results a lane has, and which; the columns of
//                                an operand are held as its rows would be
//   parts, part(lane)            how many equal parts a row of an operand has, and which of them the lane has
//   columns, column(lane, n)     how many columns of the results a lane has, and which
//   multiply_bytes(sums, column, row)            adds the products of 16 signed bytes
//   multiply_bytes(sums, column_low, column_high, row_low, row_high)       of twice 16
//   keep_apart()                 keeps the compiler from mixing multiplications before it with those behind it, where
//                                that would take too many registers
//   multiply_halves<T>(sums, column, row)        adds the products of 16 f16 or bf16, in f32
//   row_padding                  in multiples of 16 bytes: what has to be between rows of 128 bytes in LDS, so that
//                                the eight lanes that read at a time, 16 bytes each, read from different banks
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
  static constexpr bool integers = false, halves = false, subnormals = false;
};

}  // namespace candle::target
