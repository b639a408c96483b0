// How the waves of a target hold the matrices of 16 rows and 16 columns that they multiply. Its `Matrices` has
//
//   integers                 whether there is multiply_bytes; if not, nothing else need be there
//   wave_size
//   operand_row(lane)        the row of an operand that a lane holds a part of; columns are held likewise
//   parts, part(lane)        how many equal parts a row has, and which of them the lane holds
//   results                  of a lane; result_row(lane, n) and result_column(lane, n) say which
//   result_columns           how many columns apart results n and n + 1 of a lane are
//   multiply_bytes(sums, column, row)    adds the products of 16 signed bytes
//   multiply_bytes(sums, column_low, column_high, row_low, row_high)     of twice 16
//
// Which bytes of a row a lane's part stands for does not matter as long as rows and columns agree. All lanes of the
// wave must be active.
#pragma once

#include "types.h"

namespace candle::target {

// A lane's part of a row.
template <int count>
struct MatrixWords {
  u32 word[count];
};

struct NoMatrices {
  static constexpr bool integers = false;
};

}  // namespace candle::target
