// Products of matrices as target.h has them for AMD GPUs, by one wave: rows and columns of eight words, results by row.
#include "../../kernels/include/target.h"

using namespace candle;
using target::Matrices;

template <int count>
__device__ target::MatrixWords<count> words(const u32 *operand, int lane, int first) {
  target::MatrixWords<count> found;
  const u32 *row = operand + 8 * Matrices::operand_row(lane) + first + count * Matrices::part(lane);
  for (int k = 0; k < count; ++k) found.word[k] = row[k];
  return found;
}

// Adds to c what multiply(sums) adds, and stores it as product n of out.
template <class T, class Multiply>
__device__ void put(const u32 *c, u32 *out, int lane, int product, Multiply multiply) {
  T sums[Matrices::results];
  const auto at = [&](int n) { return 16 * Matrices::result_row(lane, n) + Matrices::result_column(lane, n); };
  for (int n = 0; n < Matrices::results; ++n) sums[n] = T(i32(c[at(n)]));
  multiply(sums);
  for (int n = 0; n < Matrices::results; ++n) out[256 * product + at(n)] = bit_cast<u32>(sums[n]);
}

extern "C" __global__ void k(const u32 *rows, const u32 *columns, const u32 *c, u32 *out) {
  const int lane = int(threadIdx.x);
  constexpr int count = 4 / Matrices::parts;
  const auto row = words<count>(rows, lane, 0), column = words<count>(columns, lane, 0);
  const auto row_high = words<count>(rows, lane, 4), column_high = words<count>(columns, lane, 4);
  put<i32>(c, out, lane, 0, [&](auto &sums) { Matrices::multiply_bytes(sums, column, row); });
  put<i32>(c, out, lane, 1, [&](auto &sums) { Matrices::multiply_bytes(sums, column, column_high, row, row_high); });
}
