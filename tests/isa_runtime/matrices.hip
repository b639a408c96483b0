// Products of matrices as target.h has them for AMD GPUs, by one wave: rows and columns of eight words, results by row.
#include "../../kernels/include/target.h"

using namespace candle;
using target::Matrices;

template <int count>
__device__ target::MatrixWords<count> words(const u32 *operand, int lane, int first) {
  target::MatrixWords<count> found;
  const u32 *row = operand + 8 * Matrices::row(lane, 0) + first + count * Matrices::part(lane);
  for (int k = 0; k < count; ++k) found.word[k] = row[k];
  return found;
}

// Stores what multiply(sums) makes of c as product `n` of out.
template <class T, class Multiply>
__device__ void put(const i32 *c, T *out, int n, int lane, Multiply multiply) {
  T sums[Matrices::columns];
  const auto at = [&](int column) { return 16 * Matrices::row(lane, 0) + Matrices::column(lane, column); };
  for (int k = 0; k < Matrices::columns; ++k) sums[k] = T(c[at(k)]);
  multiply(sums);
  for (int k = 0; k < Matrices::columns; ++k) out[256 * n + at(k)] = sums[k];
}

extern "C" __global__ void k(const u32 *rows, const u32 *columns, const i32 *c, void *out) {
  const int lane = int(threadIdx.x);
  constexpr int of_bytes = 4 / Matrices::parts, of_halves = 8 / Matrices::parts;
  const auto row = words<of_bytes>(rows, lane, 0), column = words<of_bytes>(columns, lane, 0);
  const auto row_high = words<of_bytes>(rows, lane, 4), column_high = words<of_bytes>(columns, lane, 4);
  const auto half_row = words<of_halves>(rows, lane, 0), half_column = words<of_halves>(columns, lane, 0);
  auto *integers = static_cast<i32 *>(out);
  auto *floats = static_cast<f32 *>(out);
  put(c, integers, 0, lane, [&](auto &sums) { Matrices::multiply_bytes(sums, column, row); });
  put(c, integers, 1, lane, [&](auto &sums) { Matrices::multiply_bytes(sums, column, column_high, row, row_high); });
  put(c, floats, 2, lane, [&](auto &sums) { Matrices::multiply_halves<f16>(sums, half_column, half_row); });
  put(c, floats, 3, lane, [&](auto &sums) { Matrices::multiply_halves<bf16>(sums, half_column, half_row); });
}
