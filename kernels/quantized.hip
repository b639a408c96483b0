// Weights in the packed GGUF formats: dequantized, gathered by row, and multiplied with f32 or quantized activations.
#include "include/quantized/dequantize.h"
#include "include/quantized/dmmv.h"
#include "include/quantized/mmq.h"
#include "include/quantized/mmvq.h"
#include "include/quantized/quantize_q8_1.h"

using namespace candle;

// The parameters are those of Candle; some are not used.
#pragma clang diagnostic ignored "-Wunused-parameter"

#define KERNEL(...) extern "C" __global__ void __launch_bounds__(__VA_ARGS__)

// ---- dequantize_block

#define DEQUANTIZE_SUPER(Q, NAME, THREADS)                             \
  KERNEL(1024) dequantize_block_##NAME##_f32(const void *vx, f32 *y) { \
    dequantize_256<THREADS, Q>(vx, y, i64(gridDim.x));                 \
  }                                                                    \
  KERNEL(1024) dequantize_block_##NAME##_f16(const void *vx, f16 *y) { \
    dequantize_256<THREADS, Q>(vx, y, i64(gridDim.x));                 \
  }

// k is the number of blocks.
#define DEQUANTIZE_BLOCKS(Q, NAME)                                                                                     \
  KERNEL(1024) dequantize_block_##NAME##_f32(const void *vx, f32 *y, const int k) { dequantize_256<32, Q>(vx, y, k); } \
  KERNEL(1024) dequantize_block_##NAME##_f16(const void *vx, f16 *y, const int k) { dequantize_256<32, Q>(vx, y, k); }

// k is the number of values.
#define DEQUANTIZE_FLAT(Q, NAME)                                                                                    \
  KERNEL(1024) dequantize_block_##NAME##_f32(const void *vx, f32 *y, const int k) { dequantize_flat<Q>(vx, y, k); } \
  KERNEL(1024) dequantize_block_##NAME##_f16(const void *vx, f16 *y, const int k) { dequantize_flat<Q>(vx, y, k); }

DEQUANTIZE_SUPER(Q2_K, q2_K, 64)
DEQUANTIZE_SUPER(Q3_K, q3_K, 64)
DEQUANTIZE_SUPER(Q4_K, q4_K, 32)
DEQUANTIZE_SUPER(Q5_K, q5_K, 64)
DEQUANTIZE_SUPER(Q6_K, q6_K, 64)
DEQUANTIZE_SUPER(Q8_K, q8_K, 32)
DEQUANTIZE_BLOCKS(Q4_0Sum, q4_0)
DEQUANTIZE_BLOCKS(Q4_1, q4_1)
DEQUANTIZE_BLOCKS(Q8_0, q8_0)
DEQUANTIZE_FLAT(Q5_0, q5_0)
DEQUANTIZE_FLAT(Q5_1, q5_1)

// ---- get_rows

#define GET_ROWS(Q, NAME)                                                                           \
  KERNEL(1024)                                                                                      \
  get_rows_##NAME(const void *src0, const u32 *src1, f32 *dst, const i64 ne00, const size_t nb01) { \
    get_rows<Q>(src0, src1, dst, ne00, nb01);                                                       \
  }

#define GET_ROWS_PLAIN(T)                                                                                  \
  KERNEL(1024) get_rows_##T(const T *src0, const u32 *src1, f32 *dst, const i64 ne00, const size_t nb01) { \
    get_rows_unquantized(src0, src1, dst, ne00);                                                           \
  }

GET_ROWS(Q4_0, q4_0)
GET_ROWS(Q4_1, q4_1)
GET_ROWS(Q5_0, q5_0)
GET_ROWS(Q5_1, q5_1)
GET_ROWS(Q8_0, q8_0)
GET_ROWS(Q2_K, q2_K)
GET_ROWS(Q3_K, q3_K)
GET_ROWS(Q4_K, q4_K)
GET_ROWS(Q5_K, q5_K)
GET_ROWS(Q6_K, q6_K)
GET_ROWS_PLAIN(f32)
GET_ROWS_PLAIN(f16)
GET_ROWS_PLAIN(bf16)

// ---- quantize_q8_1

KERNEL(1024) quantize_q8_1(const f32 *x, void *vy, const int kx, const int kx_padded) {
  quantize_q8_1_block(x, vy, kx, kx_padded);
}

// ---- dequantize_mul_mat_vec

#define DMMV(Q, NAME, DISTANCE)                                                                                    \
  KERNEL(32)                                                                                                       \
  dequantize_mul_mat_vec_##NAME##_cuda(const void *vx, const f32 *y, f32 *dst, const int ncols, const int nrows) { \
    dmmv_blocks_of_32<Q, DISTANCE>(vx, y, dst, ncols, nrows);                                                      \
  }

#define DMMV_SUPER(Q, NAME)                                                                                  \
  KERNEL(32)                                                                                                 \
  dequantize_mul_mat_vec_##NAME(const void *vx, const f32 *yy, f32 *dst, const int ncols, const int nrows) { \
    const int row = blockIdx.x * blockDim.y + threadIdx.y;                                                   \
    if (row < nrows) dmmv_super_blocks<Dot##Q>(vx, yy, dst, ncols, row);                                     \
  }

DMMV(Q4_0, q4_0, 16)
DMMV(Q4_1, q4_1, 16)
DMMV(Q5_0, q5_0, 16)
DMMV(Q5_1, q5_1, 16)
DMMV(Q8_0, q8_0, 1)
DMMV_SUPER(Q2_K, q2_k)
DMMV_SUPER(Q3_K, q3_k)
DMMV_SUPER(Q4_K, q4_k)
DMMV_SUPER(Q6_K, q6_k)

// The only one without nrows: one thread block per row.
KERNEL(32) dequantize_mul_mat_vec_q5_k(const void *vx, const f32 *yy, f32 *dst, const int ncols) {
  dmmv_super_blocks<DotQ5_K>(vx, yy, dst, ncols, blockIdx.x);
}

// ---- mul_mat_vec

#define MMVQ(Q, NAME, B)                                                                                            \
  KERNEL(VectorTeams<B>::threads, mmvq_min_occupancy(B))                                                            \
  mul_mat_vec_##NAME##_q8_1_cuda##B(const void *vx, const void *vy, f32 *dst, const int ncols_x, const int nrows_x, \
                                    const int nrows_y, const int nrows_dst) {                                       \
    mul_mat_vec<Q, B, VectorTeams<B>>(                                                                              \
        vx, vy, ncols_x, nrows_dst, nrows_y / group_length,                                                         \
        [=](int column, int row, f32 total) { dst[i64(column) * nrows_dst + row] = total; });                       \
  }

#define MMVQ_ALL(Q, NAME) \
  MMVQ(Q, NAME, 1)        \
  MMVQ(Q, NAME, 2)        \
  MMVQ(Q, NAME, 3)        \
  MMVQ(Q, NAME, 4)        \
  MMVQ(Q, NAME, 5)        \
  MMVQ(Q, NAME, 6)        \
  MMVQ(Q, NAME, 7)        \
  MMVQ(Q, NAME, 8)

MMVQ_ALL(Q4_0, q4_0)
MMVQ_ALL(Q4_1, q4_1)
MMVQ_ALL(Q5_0, q5_0)
MMVQ_ALL(Q5_1, q5_1)
MMVQ_ALL(Q8_0, q8_0)
MMVQ_ALL(Q2_K, q2_K)
MMVQ_ALL(Q3_K, q3_K)
MMVQ_ALL(Q4_K, q4_K)
MMVQ_ALL(Q5_K, q5_K)
MMVQ_ALL(Q6_K, q6_K)

// ---- mul_mat: COLUMNS and ROWS of a tile are those of Candle's launch; ROWS_PER_THREAD is the rows of a tile that a
// thread computes; PREFETCH says where there are registers for the loads of the next step; MIN_WAVES is the minimum
// number of waves per SIMD that the registers have to allow

#define MMQ(Q, NAME, COLUMNS, ROWS, ROWS_PER_THREAD, PREFETCH, MIN_WAVES)                                           \
  KERNEL(128, MIN_WAVES)                                                                                            \
  mul_mat_##NAME(const void *vx, const void *vy, f32 *dst, const int ncols_x, const int nrows_x, const int ncols_y, \
                 const int nrows_y, const int nrows_dst) {                                                          \
    mul_mat<Q, COLUMNS, ROWS, ROWS_PER_THREAD, Prefetch::PREFETCH>(vx, vy, dst, ncols_x, nrows_x, ncols_y, nrows_y, \
                                                                   nrows_dst);                                      \
  }

MMQ(Q4_0, q4_0, 64, 128, 4, always, 2)
MMQ(Q4_1, q4_1, 64, 128, 4, always, 2)
MMQ(Q5_0Signed, q5_0, 128, 64, 4, always, 2)
MMQ(Q5_1, q5_1, 128, 64, 4, always, 2)
MMQ(Q8_0, q8_0, 128, 64, 4, always, 2)
MMQ(Q2_K, q2_K, 64, 128, 4, always, 2)
MMQ(Q3_K, q3_K, 128, 128, 4, never, 1)
MMQ(Q4_K, q4_K, 64, 128, 4, always, 2)
MMQ(Q5_K, q5_K, 64, 128, 4, always, 2)
MMQ(Q6_K, q6_K, 64, 64, 4, small_grids, 2)

// ---- indexed_moe_forward

#define MOE(Q, NAME)                                                                                             \
  KERNEL(128)                                                                                                    \
  indexed_moe_forward_##NAME##_q8_1(const void *all_weights, const void *all_inputs, const u32 *indices,         \
                                    f32 *all_outputs, const int n, const int k, const int batch, const int topk, \
                                    const int k_padded, const int input_dim1) {                                  \
    indexed_moe<Q>(all_weights, all_inputs, indices, all_outputs, n, k, k_padded, input_dim1);                   \
  }

MOE(Q2_K, q2k)
MOE(Q3_K, q3k)
MOE(Q4_K, q4k)
MOE(Q5_K, q5k)
MOE(Q6_K, q6k)
MOE(Q8_0, q8_0)
