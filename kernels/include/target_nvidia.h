// NVIDIA GPUs; see target.h. Inline PTX, because the vendor's headers for these types are not always installed.
#pragma once

#define CANDLE_REQUIRE(condition, why) ((condition) ? void() : __trap())
#define CANDLE_ASSUME(condition) __builtin_assume(condition)
#define CANDLE_SHARED_HELPER inline
#define CANDLE_FORCE_INLINE inline
#define CANDLE_NOINLINE_NVIDIA __noinline__
#define CANDLE_NOINLINE_GPU __noinline__
#define CANDLE_UNROLL_COLUMNS _Pragma("unroll")

namespace candle::target {

constexpr bool on_gpu = true;
constexpr bool on_amd = false;
constexpr bool few_registers = false;
constexpr bool integer_matrices_16x8 = __CUDA_ARCH__ >= 800;

__device__ inline f32 f16_to_f32(u16 x) {
  f32 result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(x));
  return result;
}

__device__ inline u16 f32_to_f16(f32 x) {
  u16 result;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result) : "f"(x));
  return result;
}

__device__ inline f32 exp2(f32 x) {
  f32 result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

__device__ inline f32 reciprocal(f32 x) {
  f32 result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

__device__ inline i32 f32_to_i32(f32 x) {
  i32 result;
  asm("cvt.rzi.s32.f32 %0, %1;" : "=r"(result) : "f"(x));
  return result;
}

__device__ inline u16 fma_f16(u16 a, u16 b, u16 c) {
#if __CUDA_ARCH__ >= 530
  u16 result;
  asm("fma.rn.f16 %0, %1, %2, %3;" : "=h"(result) : "h"(a), "h"(b), "h"(c));
  return result;
#else
  return f32_to_f16(portable::fma_f16_round_to_odd(f16_to_f32(a), f16_to_f32(b), f16_to_f32(c)));
#endif
}

template <class T>
constexpr bool adds = __CUDA_ARCH__ >= (is_same<T, f16> ? 530 : 800);

#if __CUDA_ARCH__ >= 530
// .rn: never contracted.
__device__ inline f16 add(f16 a, f16 b) {
  u16 result;
  asm("add.rn.f16 %0, %1, %2;" : "=h"(result) : "h"(a.bits), "h"(b.bits));
  return f16{result};
}

__device__ inline f16 multiply(f16 a, f16 b) {
  u16 result;
  asm("mul.rn.f16 %0, %1, %2;" : "=h"(result) : "h"(a.bits), "h"(b.bits));
  return f16{result};
}
#endif

#if __CUDA_ARCH__ >= 800

// The lower half of a packed conversion: ptxas may turn a single one into an instruction of the slow transcendental
// unit.
__device__ inline u16 f32_to_bf16(f32 x) {
  u32 result;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(0.0f), "f"(x));
  return u16(result);
}

__device__ inline u16 fma_bf16(u16 a, u16 b, u16 c) {
  u16 result;
  asm("fma.rn.bf16 %0, %1, %2, %3;" : "=h"(result) : "h"(a), "h"(b), "h"(c));
  return result;
}

// a * 1 + b and a * b + -0.
__device__ inline bf16 add(bf16 a, bf16 b) { return bf16{fma_bf16(a.bits, 0x3f80, b.bits)}; }
__device__ inline bf16 multiply(bf16 a, bf16 b) { return bf16{fma_bf16(a.bits, b.bits, 0x8000)}; }

#else

using portable::f32_to_bf16;
using portable::fma_bf16;

#endif

#if __CUDA_ARCH__ >= 890

// These instructions convert two values at a time; only the lower byte is used.
__device__ inline f32 f8_to_f32(u8 x) {
  u32 result;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(result) : "h"(u16(x)));
  return f16_to_f32(u16(result));
}

__device__ inline u8 f32_to_f8(f32 x) {
  u16 result;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(result) : "f"(0.0f), "f"(x));
  return u8(result);
}

#else

using portable::f32_to_f8;

__device__ inline f32 f8_to_f32(u8 x) { return f16_to_f32(portable::f8_to_f16_scaled(x)) * 256.0f; }

#endif

__device__ inline i32 dot4(u32 a, u32 b, i32 sum) {
#if __CUDA_ARCH__ >= 610
  i32 result;
  asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
  return result;
#else
  return portable::dot4(a, b, sum);
#endif
}

#if __CUDA_ARCH__ >= 800
// Lane 8 * m + i has the address of row i, 16 bytes of shared memory, of matrix m; lane 4 * r + c gets word c of row r
// of all four.
__device__ inline void load_matrices(u32 (&words)[4], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(u32(__cvta_generic_to_shared(row)))
               : "memory");
}

// `start` is only read: where all sums start alike, they need no moves.
__device__ inline void multiply_matrices_16(i32 (&sums)[4], i32 start, u32 row, u32 row_8, u32 column) {
  asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %7, %7, %7};"
      : "=r"(sums[0]), "=r"(sums[1]), "=r"(sums[2]), "=r"(sums[3])
      : "r"(row), "r"(row_8), "r"(column), "r"(start));
}

__device__ inline void multiply_matrices_32(i32 (&sums)[4], i32 start, const u32 (&rows)[4], u32 column_low,
                                            u32 column_high) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%10, %10, %10, %10};"
      : "=r"(sums[0]), "=r"(sums[1]), "=r"(sums[2]), "=r"(sums[3])
      : "r"(rows[0]), "r"(rows[1]), "r"(rows[2]), "r"(rows[3]), "r"(column_low), "r"(column_high), "r"(start));
}

// sums plus products of eight f16: words are pairs of these.
__device__ inline void add_products_of_halves(f32 (&sums)[4], u32 row, u32 row_8, u32 column) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(row), "r"(row_8), "r"(column));
}
#endif

// The full mask: lanes that have exited, or were never launched, are not waited for.
template <int mask, class Word>
__device__ inline Word shuffle_xor_word(Word x) {
  return __shfl_xor_sync(0xffffffff, x, mask);
}

template <class T>
__device__ inline void store_whole(T *p, const T &x) {
  *p = x;
}

__device__ inline void optimization_barrier(f32 &) {}  // ptxas reorders freely, and does not spill here

__device__ inline int rematerialize(int x) { return x; }

}  // namespace candle::target

#include "matrices_nvidia.h"
