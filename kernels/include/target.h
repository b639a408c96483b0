// Everything that differs between the targets of these kernels: AMD GPUs, NVIDIA GPUs and the host. Each target's
// header defines, in namespace candle::target, the following functions. Results have the same bits on every target,
// except for the sign and payload of a NaN, and for exp2 and reciprocal.
//
//   f16_to_f32, f8_to_f32                 exact
//   f32_to_f16, f32_to_bf16, f32_to_f8    to nearest even; subnormals are kept; f8 saturates, its only NaN is 0x7f
//   fma_f16, fma_bf16                     a * b + c, rounded once; subnormals are kept
//   adds<T>                               there are add and multiply, rounded once, of T, f16 or bf16
//   exp2, reciprocal                      of f32, off by 2 and 1 ulp at most; a GPU may flush subnormal results to zero
//   f32_to_i32                            truncates and saturates; NaN: 0
//   dot4(a, b, sum)                       sum + a0 * b0 + a1 * b1 + a2 * b2 + a3 * b3 of signed bytes, wrapping
//   shuffle_xor_word<mask>(x)             the x of lane (lane ^ mask) in a logical wave of 32, for u32 and u64
//   store_whole(p, x)                     *p = x, by one instruction where x has at most 16 bytes
//   optimization_barrier(x)               on AMD GPUs: hides x from the compiler, which has to compute it before this
//   rematerialize(x)                      x; on AMD GPUs values that depend on it are recomputed, not kept in registers
//   on_gpu, on_amd
//   integer_matrices_16x8                 there are load_matrices, multiply_matrices_16 and _32: a logical wave adds
//                                         the products of 16 rows with 8 columns of 16 or 32 signed bytes (see
//                                         MatrixTile16x8)
//   Matrices                              the matrices of 16 rows and 16 columns that a wave multiplies (matrices.h)
//   few_registers                         a tile of a quantized product takes all registers of a thread
//
// and these macros:
//
//   CANDLE_REQUIRE(condition, why)        traps unless the condition holds
//   CANDLE_ASSUME(condition)              lets the compiler rely on the condition
//   CANDLE_SHARED_HELPER                  a helper that every kernel of a file calls
//   CANDLE_FORCE_INLINE                   a function that would need a stack on AMD GPUs if it were called
//   CANDLE_NOINLINE_NVIDIA                the same, but faster out of line on NVIDIA GPUs
//   CANDLE_NOINLINE_GPU                   a function that is faster out of line on every GPU
//   CANDLE_UNROLL_COLUMNS                 before a loop over an array that must stay in registers
#pragma once

#include "matrices.h"
#include "portable.h"

namespace candle::target {

// Defined only where adds<T> says so.
__device__ f16 add(f16 a, f16 b);
__device__ f16 multiply(f16 a, f16 b);
__device__ bf16 add(bf16 a, bf16 b);
__device__ bf16 multiply(bf16 a, bf16 b);

// Defined only where integer_matrices_16x8 says so.
__device__ void load_matrices(u32 (&words)[4], const void *row);
__device__ void multiply_matrices_16(i32 (&sums)[4], i32 start, u32 row, u32 row_8, u32 column);
__device__ void multiply_matrices_32(i32 (&sums)[4], i32 start, const u32 (&rows)[4], u32 column_low, u32 column_high);
__device__ void add_products_of_halves(f32 (&sums)[4], u32 row, u32 row_8, u32 column);

}  // namespace candle::target

#if defined(__AMDGCN__) && defined(__HIP_DEVICE_COMPILE__)  // hipcc's pass for the host defines the first one too
#include "target_amd.h"
#elif defined(__CUDA_ARCH__)
#include "target_nvidia.h"
#else
#include "target_host.h"
#endif
