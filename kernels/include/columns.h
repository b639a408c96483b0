// Outputs of rows (outer, middle, inner), each of `columns` elements or packs: a thread computes one column of every
// n-th row. What depends on the column is computed once, and the next row takes additions instead of divisions. Offsets
// fit in 31 bits.
#pragma once

#include "strided.h"

namespace candle {

struct Row {
  u32 index, outer, middle, inner;
};

// The columns and rows of a thread: those columns from `column` on that are column_step apart (one, unless there are
// fewer threads than columns), and of each the rows from `first` on that are `step` apart.
struct ColumnRange {
  u32 columns, middle_size, inner_size, rows, column, column_step;
  Row first, step;

  __device__ ColumnRange(const ActiveGrid &grid, u32 columns, u32 outer_size, u32 middle_size, u32 inner_size)
      : columns(columns),
        middle_size(middle_size),
        inner_size(inner_size),
        rows(outer_size * middle_size * inner_size) {
    const u32 thread = u32(grid.first()), threads = u32(grid.step());
    u32 row_step = threads / columns;
    const u32 first_row = thread / columns;
    column = thread - first_row * columns;
    column_step = columns;
    if (row_step == 0) {
      row_step = 1;
      column_step = threads;
    } else if (first_row == row_step || first_row >= rows) {
      column = columns;
    }
    first = row_at(first_row);
    step = {row_step, 0, 0, 0};
    if (first_row + row_step < rows) step = row_at(row_step);
  }

  __device__ Row row_at(u32 i) const {
    const u32 plane = i / inner_size, outer = plane / middle_size;
    return {i, outer, plane - outer * middle_size, i - plane * inner_size};
  }

  // The thread's next row, if there is one.
  __device__ bool advance(Row &row) const {
    if (row.index + step.index >= rows) return false;
    row.index += step.index;
    row.outer += step.outer;
    row.middle += step.middle;
    row.inner += step.inner;
    if (row.inner >= inner_size) {
      row.inner -= inner_size;
      ++row.middle;
    }
    if (row.middle >= middle_size) {
      row.middle -= middle_size;
      ++row.outer;
    }
    return true;
  }
};

}  // namespace candle
