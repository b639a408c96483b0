// Quantized weights times one to eight quantized columns, and the same for the experts of a mixture. Integer dot
// products; sums of f32 in Candle's order: its thread, lane and group order, on waves of 32 and of 64.
#pragma once

#include "dmmv.h"
#include "dot.h"
#include "formats.h"

namespace candle {

constexpr int thread_groups(int columns) { return columns <= 4 ? 4 : 2; }
constexpr int mmvq_threads(int columns) { return group_lanes * thread_groups(columns); }
constexpr int rows_at_once(int columns) { return columns == 1 ? 1 : 2; }

// A thread's part of one block of weights.
template <class F>
struct Part {
  u32 quants[F::pieces][F::words];
  Scales scales[F::pieces];
};

template <class F>
__device__ inline Part<F> part_of(const typename F::Block &block, int t) {
  Part<F> part;
#pragma unroll
  for (int i = 0; i < F::pieces; ++i) {
    const int group = F::group(t, i);
#pragma unroll
    for (int k = 0; k < F::words; ++k) part.quants[i][k] = F::quants(block, group, F::word(t, k));
    part.scales[i] = F::scales(block, group);
    if constexpr (F::length == super_length) part.scales[i] = F::of_word(part.scales[i], F::word(t, 0));
  }
  return part;
}

// acc plus a thread's part of a block times the same part of a column; y is where the column's part of the block
// begins.
template <class F>
__device__ inline f32 add_part(f32 acc, const Part<F> &part, const BlockQ8_1 *y, int t) {
  VectorSums<F::pieces> sums;
#pragma unroll
  for (int i = 0; i < F::pieces; ++i) {
    const BlockQ8_1 &activations = y[F::group(t, i)];
    const Scales scales{load_word<4>(&activations.d), 0};
    sums.d[i] = scales.d();
    if (i == 0) sums.s = scales.m();
    sums.dot[i] = sums.sum[i] = 0;
#pragma unroll
    for (int k = 0; k < F::words; ++k) {
      const u32 u = load_word<4>(activations.qs + 4 * F::word(t, k));
      sums.dot[i] = dot4(part.quants[i][k], u, sums.dot[i]);
      if constexpr (F::uses_sums) sums.sum[i] = sum4(u, sums.sum[i]);
    }
  }
  return F::vector(acc, part.scales, sums);
}

// Rows row0, row0 + 1, ... of x times columns of y, `stride_y` blocks apart; dst[column * nrows_dst + row].
template <class F, int columns>
__device__ inline void multiply_vectors(const typename F::Block *__restrict__ x, const BlockQ8_1 *__restrict__ y,
                                        f32 *__restrict__ dst, int blocks, int row0, int nrows, i64 stride_y) {
  constexpr int groups = thread_groups(columns), rows = rows_at_once(columns);
  __shared__ f32 shelf[groups - 1][columns][rows][group_lanes];
  const int lane = threadIdx.x, group = threadIdx.y;
  const u32 t = group_lanes * group + lane;
  const int own = t % F::lanes;
  f32 acc[columns][rows] = {};
  for (int block = int(t / F::lanes); block < blocks; block += groups * group_lanes / F::lanes) {
    Part<F> parts[rows];
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      const int row = row0 + i < nrows ? row0 + i : nrows - 1;
      parts[i] = part_of<F>(x[i64(row) * blocks + block], own);
    }
    const BlockQ8_1 *first = y + i64(block) * (F::length / group_length);
    CANDLE_UNROLL_COLUMNS
    for (int j = 0; j < columns; ++j) {
#pragma unroll
      for (int i = 0; i < rows; ++i) acc[j][i] = add_part<F>(acc[j][i], parts[i], first + j * stride_y, own);
    }
  }
  if (group > 0) {
    CANDLE_UNROLL_COLUMNS
    for (int j = 0; j < columns; ++j) {
#pragma unroll
      for (int i = 0; i < rows; ++i) shelf[group - 1][j][i][lane] = acc[j][i];
    }
  }
  __syncthreads();
  if (group > 0) return;
  CANDLE_UNROLL_COLUMNS
  for (int j = 0; j < columns; ++j) {
#pragma unroll
    for (int i = 0; i < rows; ++i) {
#pragma unroll
      for (int k = 0; k < groups - 1; ++k) acc[j][i] += shelf[k][j][i][lane];
      const f32 total = sum_lanes(acc[j][i]);
      if (lane == i && row0 + i < nrows) dst[i64(j) * nrows + row0 + i] = total;
    }
  }
}

// nrows_y is the padded length of a column of y. Candle's launch has rows_at_once(columns) rows in a thread block.
template <class F, int columns>
__device__ inline void mul_mat_vec(const void *__restrict__ vx, const void *__restrict__ vy, f32 *__restrict__ dst,
                                   int ncols_x, int nrows_y, int nrows_dst) {
  multiply_vectors<F, columns>(static_cast<const typename F::Block *>(vx), static_cast<const BlockQ8_1 *>(vy), dst,
                               ncols_x / F::length, blockIdx.x * rows_at_once(columns), nrows_dst,
                               nrows_y / group_length);
}

// Block (row, batch, k): task batch * topk + k is a row of the task's expert times the batch's column, or the task's.
// Candle counts an expert's blocks as if all were of 256 weights; for q8_0 experts so overlap, as they do here.
template <class F>
__device__ inline void indexed_moe(const void *__restrict__ weights, const void *__restrict__ inputs,
                                   const u32 *__restrict__ experts, f32 *__restrict__ outputs, int n, int k,
                                   int k_padded, int input_dim1) {
  const int row = blockIdx.x;
  if (row >= n) return;
  const u32 task = blockIdx.y * gridDim.z + blockIdx.z;
  const u32 input = input_dim1 == 1 ? blockIdx.y : task;
  const size_t stride = size_t(n * k) / super_length * sizeof(typename F::Block);
  const u8 *expert = static_cast<const u8 *>(weights) + experts[task] * stride;
  const auto *y = static_cast<const BlockQ8_1 *>(inputs) + size_t(input) * (k_padded / group_length);
  multiply_vectors<F, 1>(reinterpret_cast<const typename F::Block *>(expert), y, outputs + size_t(task) * n,
                         k / F::length, row, n, 0);
}

}  // namespace candle
