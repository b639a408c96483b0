// Rows of a strided tensor: the elements that one block reduces.
#pragma once

#include "elementwise.h"

namespace candle {

// Whether every run of `length` consecutive elements from a multiple of `length` on has one stride, and which.
// Control flow is uniform over the grid.
__device__ CANDLE_ONE_COPY bool has_row_stride(size_t length, size_t num_dims, const size_t *info, bool wide,
                                               size_t &stride) {
  stride = 1;
  size_t size = 1;
  for (size_t d = num_dims; d-- > 0;) {
    if (info[d] == 1) continue;
    const size_t step = info[num_dims + d];
    if (size == 1) {
      stride = step;
    } else if (step != size * stride) {
      return false;
    }
    size *= info[d];
    size_t runs = size;
    if (divide(runs, length, wide) == 0) return true;
  }
  return length == 1;
}

}  // namespace candle
