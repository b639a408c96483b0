// Products of matrices by AMD GPUs: MFMA (CDNA) and WMMA (RDNA 3 and 4, in waves of 32); see matrices.h. Where the
// elements of a matrix lie is from AMD's ISA documents.
#pragma once

#if defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
#define CANDLE_MFMA 1
#elif __has_builtin(__builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12)
#define CANDLE_WMMA_GFX12 1
#elif __has_builtin(__builtin_amdgcn_wmma_i32_16x16x16_iu8_w32) && defined(__GFX11__)
#define CANDLE_WMMA_GFX11 1
#endif

namespace candle::target {

// Lane 16 * i + r holds part i % parts of row r of an operand, and results (r, lane_columns * i + result_columns * n).
template <int lanes, int parts_of_row, int results_of_lane, int columns_of_lane, int columns_of_result>
struct MatrixTypes {
  static constexpr int wave_size = lanes, parts = parts_of_row, results = results_of_lane;
  static constexpr int lane_columns = columns_of_lane, result_columns = columns_of_result;
  template <class T, int count>
  using Vector = __attribute__((__vector_size__(count * sizeof(T)))) T;
  using Bytes = Vector<i32, 4 / parts>;
  using Integers = Vector<i32, results>;
};

// The instructions: sums + a * b.
#if defined(CANDLE_MFMA)
struct MatrixInstructions : MatrixTypes<64, 4, 4, 4, 1> {
  static __device__ Integers multiply(Bytes a, Bytes b, Integers sums) {
#if defined(__gfx908__) || defined(__gfx90a__)
    return __builtin_amdgcn_mfma_i32_16x16x16i8(a[0], b[0], sums, 0, 0, 0);
#else  // zeros stand for the other 16 bytes that the instruction takes
    return __builtin_amdgcn_mfma_i32_16x16x32_i8(u32(a[0]), u32(b[0]), sums, 0, 0, 0);
#endif
  }
};
#elif defined(CANDLE_WMMA_GFX12)
struct MatrixInstructions : MatrixTypes<32, 2, 8, 8, 1> {
  static __device__ Integers multiply(Bytes a, Bytes b, Integers sums) {
    return __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(true, a, true, b, sums, false);
  }
};
#elif defined(CANDLE_WMMA_GFX11)
struct MatrixInstructions : MatrixTypes<32, 1, 8, 1, 2> {
  static __device__ Integers multiply(Bytes a, Bytes b, Integers sums) {
    return __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, a, true, b, sums, false);
  }
};
#endif

#if defined(CANDLE_MFMA) || defined(CANDLE_WMMA_GFX12) || defined(CANDLE_WMMA_GFX11)
struct Matrices : MatrixInstructions {
  static constexpr bool integers = true;
  using ByteWords = MatrixWords<4 / parts>;

  static __device__ int operand_row(int lane) { return lane % 16; }
  static __device__ int part(int lane) { return lane / 16 % parts; }
  static __device__ int result_row(int lane, int) { return lane % 16; }
  static __device__ int result_column(int lane, int n) { return lane_columns * (lane / 16) + result_columns * n; }

  static __device__ void multiply_bytes(i32 (&sums)[results], const ByteWords &column, const ByteWords &row) {
    add<Integers>(sums,
                  [&](Integers before) { return multiply(bit_cast<Bytes>(column), bit_cast<Bytes>(row), before); });
  }

  static __device__ void multiply_bytes(i32 (&sums)[results], const ByteWords &column_low, const ByteWords &column_high,
                                        const ByteWords &row_low, const ByteWords &row_high) {
#if defined(__gfx942__) || defined(__gfx950__)
    const auto both = [](const ByteWords &low, const ByteWords &high) {
      return i64(low.word[0] | u64(high.word[0]) << 32);
    };
    add<Integers>(sums, [&](Integers before) {
      return __builtin_amdgcn_mfma_i32_16x16x32_i8(both(column_low, column_high), both(row_low, row_high), before, 0, 0,
                                                   0);
    });
#else
    multiply_bytes(sums, column_low, row_low);
    multiply_bytes(sums, column_high, row_high);
#endif
  }

 private:
  // sums = multiply(sums), as the vector that instructions take.
  template <class Vector, class T, class Multiply>
  static __device__ void add(T (&sums)[results], Multiply multiply) {
    Vector vector;
#pragma unroll
    for (int n = 0; n < results; ++n) vector[n] = sums[n];
    vector = multiply(vector);
#pragma unroll
    for (int n = 0; n < results; ++n) sums[n] = vector[n];
  }
};
#else
using Matrices = NoMatrices;
#endif

}  // namespace candle::target
