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

// Lane 16 * i + r has part i % parts of row r of an operand, and results (r, lane_columns * i + column_step * n).
template <int lanes, int parts_of_row, int columns_of_lane, int columns_between_lanes, int columns_between_results>
struct MatrixTypes {
  static constexpr int wave_size = lanes, rows = 1, parts = parts_of_row, columns = columns_of_lane;
  static constexpr int row_padding = parts == 1 ? 1 : 2;
  static constexpr int lane_columns = columns_between_lanes, column_step = columns_between_results;
  template <class T, int count>
  using Vector = __attribute__((__vector_size__(count * sizeof(T)))) T;
  using Bytes = Vector<i32, 4 / parts>;
  using F16s = Vector<_Float16, 16 / parts>;
  using Bf16s = Vector<i16, 16 / parts>;
  using Integers = Vector<i32, columns>;
  using Floats = Vector<f32, columns>;
};

// The instructions: sums + a * b.
#if defined(CANDLE_MFMA)
struct MatrixInstructions : MatrixTypes<64, 4, 4, 4, 1> {
#if defined(__gfx908__) || defined(__gfx90a__)
  static __device__ Integers multiply(Bytes a, Bytes b, Integers sums) {
    return __builtin_amdgcn_mfma_i32_16x16x16i8(a[0], b[0], sums, 0, 0, 0);
  }
#else  // zeros stand for the other 16 bytes that the instruction takes
  static __device__ Integers multiply(Bytes a, Bytes b, Integers sums) {
    return __builtin_amdgcn_mfma_i32_16x16x32_i8(u32(a[0]), u32(b[0]), sums, 0, 0, 0);
  }
#endif
#if !defined(__gfx908__)
  static __device__ Floats multiply(F16s a, F16s b, Floats sums) {
    return __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, sums, 0, 0, 0);
  }
  static __device__ Floats multiply(Bf16s a, Bf16s b, Floats sums) {
    return __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(a, b, sums, 0, 0, 0);
  }
#endif
};
#elif defined(CANDLE_WMMA_GFX12)
struct MatrixInstructions : MatrixTypes<32, 2, 8, 8, 1> {
  static __device__ Integers multiply(Bytes a, Bytes b, Integers sums) {
    return __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(true, a, true, b, sums, false);
  }
  static __device__ Floats multiply(F16s a, F16s b, Floats sums) {
    return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a, b, sums);
  }
  static __device__ Floats multiply(Bf16s a, Bf16s b, Floats sums) {
    return __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(a, b, sums);
  }
};
#elif defined(CANDLE_WMMA_GFX11)
struct MatrixInstructions : MatrixTypes<32, 1, 8, 1, 2> {
  static __device__ Integers multiply(Bytes a, Bytes b, Integers sums) {
    return __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, a, true, b, sums, false);
  }
  static __device__ Floats multiply(F16s a, F16s b, Floats sums) {
    return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, sums);
  }
  static __device__ Floats multiply(Bf16s a, Bf16s b, Floats sums) {
    return __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(a, b, sums);
  }
};
#endif

#if defined(CANDLE_MFMA) || defined(CANDLE_WMMA_GFX12) || defined(CANDLE_WMMA_GFX11)
struct Matrices : MatrixInstructions {
  static constexpr bool integers = true;
#if defined(__gfx908__)
  static constexpr bool halves = false;  // its bf16 are others
#else
  static constexpr bool halves = true;
#endif
#if defined(__gfx90a__)
  static constexpr bool subnormals = false;
#else
  static constexpr bool subnormals = true;
#endif
  using ByteWords = MatrixWords<4 / parts>;
  using HalfWords = MatrixWords<8 / parts>;

  static __device__ int row(int lane, int) { return lane % 16; }
  static __device__ int part(int lane) { return lane / 16 % parts; }
  static __device__ int column(int lane, int n) { return lane_columns * (lane / 16) + column_step * n; }

  static __device__ void multiply_bytes(i32 (&sums)[columns], const ByteWords &column, const ByteWords &row) {
    add<Bytes, Integers>(sums, column, row);
  }

  static __device__ void multiply_bytes(i32 (&sums)[columns], const ByteWords &column_low, const ByteWords &column_high,
                                        const ByteWords &row_low, const ByteWords &row_high) {
#if defined(__gfx942__) || defined(__gfx950__)
    const auto both = [](const ByteWords &low, const ByteWords &high) {
      return i64(low.word[0] | u64(high.word[0]) << 32);
    };
    update<Integers>(sums, [&](Integers before) {
      return __builtin_amdgcn_mfma_i32_16x16x32_i8(both(column_low, column_high), both(row_low, row_high), before, 0, 0,
                                                   0);
    });
#else
    multiply_bytes(sums, column_low, row_low);
    multiply_bytes(sums, column_high, row_high);
#endif
  }

  static __device__ void keep_apart() {
    if constexpr (wave_size == 32) __builtin_amdgcn_sched_barrier(0);
  }

  template <class T>
  static __device__ void multiply_halves(f32 (&sums)[columns], const HalfWords &column, const HalfWords &row) {
    if constexpr (is_same<T, f16>) {
      add<F16s, Floats>(sums, column, row);
    } else {
      add<Bf16s, Floats>(sums, column, row);
    }
  }

 private:
  template <class Operand, class Vector, class T, class Words>
  static __device__ void add(T (&sums)[columns], const Words &column, const Words &row) {
    update<Vector>(sums,
                   [&](Vector before) { return multiply(bit_cast<Operand>(column), bit_cast<Operand>(row), before); });
  }

  // sums = f(sums), as the vector that instructions take.
  template <class Vector, class T, class Call>
  static __device__ void update(T (&sums)[columns], Call f) {
    Vector vector;
#pragma unroll
    for (int n = 0; n < columns; ++n) vector[n] = sums[n];
    vector = f(vector);
#pragma unroll
    for (int n = 0; n < columns; ++n) sums[n] = vector[n];
  }
};
#else
using Matrices = NoMatrices;
#endif

}  // namespace candle::target
