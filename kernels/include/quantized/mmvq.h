// Quantized weights times one to eight quantized columns, and the same for the experts of a mixture. Integer dot
// products; sums of f32 in Candle's order: its thread, lane and group order, on waves of 32 and of 64.
#pragma once

#include "dmmv.h"
#include "dot.h"
#include "formats.h"

namespace candle {

constexpr int thread_groups(int columns) { return columns <= 4 ? 4 : 2; }
constexpr int mmvq_threads(int columns) { return logical_wave_size * thread_groups(columns); }
constexpr int rows_at_once(int columns) { return columns == 1 ? 1 : 2; }

// The least number of waves on a SIMD, 0 for any. Where a low one is stated, compilers give the registers of further
// waves to loads that several columns need at a time.
constexpr int mmvq_waves(int columns) { return columns == 1 ? 0 : 2; }

// A thread's part of one block of weights.
template <class F>
struct Part {
  u32 quants[F::pieces][F::words];
  Scales scales[F::pieces];
};

// Reads thread t's part of blocks. Where it lies in a block is counted once; pieces that share bytes read them once.
template <class F>
struct Reader {
  int t;
  __device__ explicit Reader(int t) : t(t) {}
  __device__ Part<F> operator()(const typename F::Block &block) const {
    Part<F> part;
#pragma unroll
    for (int k = 0; k < F::words; ++k) part.quants[0][k] = F::quants(block, 0, F::word(t, k));
    part.scales[0] = F::scales(block, 0);
    return part;
  }
};

template <>
struct Reader<Q2_K> {
  using Block = BlockQ2_K;
  u32 quants, scales, shift;
  __device__ explicit Reader(int t) : quants(4 * t), scales(t & 8), shift(2 * (t & 4)) {}
  __device__ Part<Q2_K> operator()(const Block &block) const {
    Part<Q2_K> part;
    const u32 word = load_word<4>(block.qs + quants);
    const u32 dm = load_word<4>(&block.d);
    // Scales 0 and 2, 4 and 6 of eight, or 1 and 3, 5 and 7.
    const u32 two[2] = {load_word<4>(block.scales + scales) >> shift, load_word<4>(block.scales + scales + 4) >> shift};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      part.quants[i][0] = word >> 2 * i & 0x03030303;
      part.scales[i] = {dm, two[i / 2] >> 16 * (i & 1) & 0xff};
    }
    return part;
  }
};

template <>
struct Reader<Q3_K> {
  using Block = BlockQ3_K;
  u32 quants, high, shift, scales_shift;
  __device__ explicit Reader(int t)
      : quants(4 * t), high(4 * (t & 7)), shift(t >> 1 & 4), scales_shift(2 * (t & 4) + shift) {}
  __device__ Part<Q3_K> operator()(const Block &block) const {
    Part<Q3_K> part;
    const u32 word = load_word<2>(block.qs + quants);
    const u32 none = ~load_word<2>(block.hmask + high) >> shift;
    const u32 dm = u32(block.d.bits);
    // Scales 0 and 2, 4 and 6 of eight, or 1 and 3, 5 and 7: their low four and high two bits.
    const u32 top = load_word<2>(block.scales + 8) >> scales_shift;
    const u32 two[2] = {
        (load_word<2>(block.scales) >> scales_shift & 0x000f000f) | (top & 0x00030003) << 4,
        (load_word<2>(block.scales + 4) >> scales_shift & 0x000f000f) | (top >> 2 & 0x00030003) << 4,
    };
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      // 0..3, less 4 where the high bit is not set: its bits above are all set then.
      part.quants[i][0] = (word >> 2 * i & 0x03030303) | (none >> i & 0x01010101) * 0xfc;
      part.scales[i] = {dm, (two[i / 2] >> 16 * (i & 1) & 0xff) - 32};
    }
    return part;
  }
};

// Q4_K and Q5_K. A pair of groups has its scales, and its minima, in two bytes; the last two pairs have their low four
// bits side by side and their high two bits above the scales and minima of the first two.
template <class F>
struct PairReader {
  using Block = typename F::Block;
  u32 quants, scales, pair;
  __device__ explicit PairReader(int t) : quants(32 * (t >> 2) + 4 * (t & 3)), scales(t >> 1 & 2), pair(t >> 2) {}
  __device__ Part<F> operator()(const Block &block) const {
    Part<F> part;
    const u32 dm = load_word<4>(&block.d);
    const u32 a = load_half(block.scales + scales), b = load_half(block.scales + scales + 4),
              c = load_half(block.scales + scales + 8);
    const bool last = pair >= 2;
    const u32 scale = last ? (c & 0x0f0f) | (a & 0xc0c0) >> 2 : a & 0x3f3f;
    const u32 minimum = last ? (c >> 4 & 0x0f0f) | (b & 0xc0c0) >> 2 : b & 0x3f3f;
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      const u32 word = load_word<4>(block.qs + quants + 16 * k);
      part.quants[0][k] = word & 0x0f0f0f0f;
      part.quants[1][k] = word >> 4 & 0x0f0f0f0f;
    }
    part.scales[0] = {dm, (scale & 0xff) | minimum << 8};
    part.scales[1] = {dm, scale >> 8 | (minimum & 0xff00)};
    return part;
  }
};

template <>
struct Reader<Q4_K> : PairReader<Q4_K> {
  using PairReader::PairReader;
};

template <>
struct Reader<Q5_K> : PairReader<Q5_K> {
  u32 high;
  __device__ explicit Reader(int t) : PairReader(t), high(4 * (t & 3)) {}
  __device__ Part<Q5_K> operator()(const Block &block) const {
    Part<Q5_K> part = PairReader::operator()(block);
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      const u32 bits = load_word<4>(block.qh + high + 16 * k) >> 2 * pair;
      part.quants[0][k] |= bits << 4 & 0x10101010;
      part.quants[1][k] |= bits << 3 & 0x10101010;
    }
    return part;
  }
};

template <>
struct Reader<Q6_K> {
  using Block = BlockQ6_K;
  u32 low, high, scales, shift;
  __device__ explicit Reader(int t)
      : low(4 * t), high(32 * (t >> 4) + 4 * (t & 7)), scales(8 * (t >> 4) + (t >> 2 & 3)), shift(t >> 2 & 2) {}
  __device__ Part<Q6_K> operator()(const Block &block) const {
    Part<Q6_K> part;
    const u32 nibbles = load_word<2>(block.ql + low);
    const u32 bits = load_word<2>(block.qh + high) >> shift;
    const u32 dm = u32(block.d.bits);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      part.quants[i][0] = minus_each((nibbles >> 4 * i & 0x0f0f0f0f) | (bits >> 4 * i & 0x03030303) << 4, 32);
      part.scales[i] = {dm, block.scales[scales + 4 * i]};
    }
    return part;
  }
};

// acc plus a thread's part of a block times the same part of a column. d and quants are of the column's first group and
// word that the thread takes in the block; the others lie the same bytes apart for every thread.
template <class F>
__device__ inline f32 add_part(f32 acc, const Part<F> &part, const u8 *d, const u8 *quants) {
  VectorSums<F::pieces> sums;
#pragma unroll
  for (int i = 0; i < F::pieces; ++i) {
    const int apart = sizeof(BlockQ8_1) * (F::group(0, i) - F::group(0, 0));
    const Scales scales{load_word<4>(d + apart), 0};
    sums.d[i] = scales.d();
    if (i == 0) sums.s = scales.m();
    sums.dot[i] = sums.sum[i] = 0;
#pragma unroll
    for (int k = 0; k < F::words; ++k) {
      const u32 u = load_word<4>(quants + apart + 4 * (F::word(0, k) - F::word(0, 0)));
      sums.dot[i] = dot4(part.quants[i][k], u, sums.dot[i]);
      if constexpr (F::uses_sums) sums.sum[i] = sum4(u, sums.sum[i]);
    }
  }
  return F::vector(acc, part.scales, sums);
}

// Rows row0, row0 + 1, ... of x times columns of y, `stride_y` bytes apart; dst[column * nrows_dst + row].
template <class F, int columns>
__device__ inline void multiply_vectors(const typename F::Block *__restrict__ x, const BlockQ8_1 *__restrict__ y,
                                        f32 *__restrict__ dst, int blocks, int row0, int nrows, i64 stride_y) {
  constexpr int groups = thread_groups(columns), rows = rows_at_once(columns);
  __shared__ f32 shelf[groups - 1][columns][rows][logical_wave_size];
  const int lane = threadIdx.x, group = threadIdx.y;
  const u32 t = logical_wave_size * group + lane;
  const u32 own = t % F::lanes;
  const Reader<F> read(own);
  const int first = t / F::lanes;
  constexpr int step = groups * logical_wave_size / F::lanes;
  constexpr int apart = F::length / group_length * sizeof(BlockQ8_1);  // blocks of a column
  const typename F::Block *weights[rows];
#pragma unroll
  for (int i = 0; i < rows; ++i) {
    const int row = row0 + i < nrows ? row0 + i : nrows - 1;
    weights[i] = x + (i64(row) * blocks + first);
  }
  const u8 *d = reinterpret_cast<const u8 *>(y + F::group(own, 0)) + i64(first) * apart;
  const u8 *quants = d + sizeof(BlockQ8_1) - group_length + 4 * F::word(own, 0);
  f32 acc[columns][rows] = {};
  const auto add_block = [&] {
    Part<F> parts[rows];
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      parts[i] = read(*weights[i]);
      weights[i] += step;
    }
    CANDLE_UNROLL_COLUMNS
    for (int j = 0; j < columns; ++j) {
#pragma unroll
      for (int i = 0; i < rows; ++i) {
        acc[j][i] = add_part<F>(acc[j][i], parts[i], d + j * stride_y, quants + j * stride_y);
      }
    }
    d += step * apart;
    quants += step * apart;
  };
  if constexpr (columns == 1) {
    // One step has too few loads to wait for at a time.
#pragma unroll 2
    for (int block = first; block < blocks; block += step) add_block();
  } else {
    for (int block = first; block < blocks; block += step) add_block();
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
      const f32 total = wave_reduce_sum(acc[j][i]);
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
                               i64(nrows_y / group_length) * sizeof(BlockQ8_1));
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
