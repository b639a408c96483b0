// Products of matrices of f16 and bf16 by NVIDIA GPUs (sm_80 and newer), as two of 16 rows and 8 columns; see
// matrices.h.
#pragma once

namespace candle::target {

#if __CUDA_ARCH__ >= 800
// Lane 4 * r + i has part i of rows r and r + 8, and the results of these rows in columns 2 * i, 2 * i + 1, 2 * i + 8
// and 2 * i + 9.
struct Matrices {
  static constexpr bool integers = false, halves = true, subnormals = true;
  static constexpr int wave_size = 32, rows = 2, parts = 4, columns = 4, row_padding = 4;

  static __device__ int row(int lane, int i) { return lane / 4 + 8 * i; }
  static __device__ int part(int lane) { return lane % 4; }
  static __device__ int column(int lane, int n) { return n / 2 * 8 + lane % 4 * 2 + n % 2; }

  template <class T>
  static __device__ void multiply_halves(f32 (&sums)[rows * columns], const MatrixWords<4> &column,
                                         const MatrixWords<4> &row) {
#define CANDLE_MMA(TYPE)                                                                                          \
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." TYPE "." TYPE                                             \
               ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                             \
               : "+f"(sums[2 * n]), "+f"(sums[2 * n + 1]), "+f"(sums[2 * n + 4]), "+f"(sums[2 * n + 5])           \
               : "r"(row.word[0]), "r"(row.word[2]), "r"(row.word[1]), "r"(row.word[3]), "r"(column.word[2 * n]), \
                 "r"(column.word[2 * n + 1]))
#pragma unroll
    for (int n = 0; n < 2; ++n) {
      if constexpr (is_same<T, f16>) {
        CANDLE_MMA("f16");
      } else {
        CANDLE_MMA("bf16");
      }
    }
#undef CANDLE_MMA
  }
};
#else
using Matrices = NoMatrices;
#endif

}  // namespace candle::target
