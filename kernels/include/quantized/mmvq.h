// Quantized weights times one to eight quantized columns, and the same for a mixture of experts. Integer dot products;
// f32 sums in the order of Candle (its threads, lanes and logical waves), on wave32 and wave64.
#pragma once

#include "block32_formats.h"
#include "dmmv.h"
#include "dot.h"
#include "k_quant_formats.h"

namespace candle {

// A thread block has `teams` of `waves` logical waves. A team multiplies `rows` rows, with the loads of `unrolled`
// blocks of weights in flight.
template <int waves_, int rows_, int teams_, int unrolled_>
struct WaveTeams {
  static constexpr int waves = waves_, rows = rows_, teams = teams_, unrolled = unrolled_;
  static constexpr int waves_per_block = waves * teams, threads = logical_wave_size * waves_per_block;
  static constexpr int rows_per_block = rows * teams;
};

// What Candle's launches of the kernels by name have. One iteration of a single column has too few loads to hide their
// latency.
template <int columns>
using VectorTeams = WaveTeams<(columns <= 4 ? 4 : 2), (columns == 1 ? 1 : 2), 1, (columns == 1 ? 2 : 1)>;

// The second argument of __launch_bounds__. For AMD the minimum number of waves per SIMD, 0 for none: with a low one
// the compiler spends the registers of further waves on loads for several columns at a time. For NVIDIA the minimum
// number of thread blocks per multiprocessor, where nvcc takes 0 for the most that there can be.
constexpr int mmvq_min_occupancy(int columns) {
  if (target::on_amd) return columns == 1 ? 0 : 2;
  return columns == 1 ? 16 : columns <= 4 ? 5 : columns == 5 ? 10 : 8;
}

// A thread's fragment of one block of weights.
template <class F>
struct Fragment {
  u32 quants[F::groups_per_thread][F::words_per_thread];
  Scales scales[F::groups_per_thread];
};

// Loads thread t's fragment of a block. Addresses within a block are computed once, and bytes that several words share
// are loaded once.
template <class F>
struct FragmentReader {
  int t;
  __device__ explicit FragmentReader(int t) : t(t) {}
  __device__ Fragment<F> operator()(const typename F::Block &block) const {
    Fragment<F> fragment;
#pragma unroll
    for (int k = 0; k < F::words_per_thread; ++k) fragment.quants[0][k] = F::quants(block, 0, F::word(t, k));
    fragment.scales[0] = F::scales(block, 0);
    return fragment;
  }
};

template <>
struct FragmentReader<Q8_0> {
  u32 quants;
  __device__ explicit FragmentReader(int t) : quants(4 * Q8_0::word(t, 0)) {}
  __device__ Fragment<Q8_0> operator()(const BlockQ8_0 &block) const {
    const WordPair words = load_word_pair(block.qs + quants);
    return {{{words.first, words.second}}, {{block.d.bits, 0}}};
  }
};

template <>
struct FragmentReader<Q2_K> {
  using Block = BlockQ2_K;
  u32 quants, scales, shift;
  __device__ explicit FragmentReader(int t) : quants(4 * t), scales(t & 8), shift(2 * (t & 4)) {}
  __device__ Fragment<Q2_K> operator()(const Block &block) const {
    Fragment<Q2_K> fragment;
    const u32 word = load_word<4>(block.qs + quants);
    const u32 dm = load_word<4>(&block.d);
    // Scales 0, 2, 4 and 6 of eight, or 1, 3, 5 and 7.
    const u32 scale_words[2] = {load_word<4>(block.scales + scales) >> shift,
                                load_word<4>(block.scales + scales + 4) >> shift};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      fragment.quants[i][0] = word >> 2 * i & 0x03030303;
      fragment.scales[i] = {dm, scale_words[i / 2] >> 16 * (i & 1) & 0xff};
    }
    return fragment;
  }
};

template <>
struct FragmentReader<Q3_K> {
  using Block = BlockQ3_K;
  u32 quants, high, shift, scales_shift;
  __device__ explicit FragmentReader(int t)
      : quants(4 * t), high(4 * (t & 7)), shift(t >> 1 & 4), scales_shift(2 * (t & 4) + shift) {}
  __device__ Fragment<Q3_K> operator()(const Block &block) const {
    Fragment<Q3_K> fragment;
    const u32 word = load_word<2>(block.qs + quants);
    const u32 high_clear = ~load_word<2>(block.hmask + high) >> shift;
    const u32 dm = u32(block.d.bits);
    // Scales 0, 2, 4 and 6 of eight, or 1, 3, 5 and 7: the low four and the high two bits of each.
    const u32 top = load_word<2>(block.scales + 8) >> scales_shift;
    const u32 scale_words[2] = {
        (load_word<2>(block.scales) >> scales_shift & 0x000f000f) | (top & 0x00030003) << 4,
        (load_word<2>(block.scales + 4) >> scales_shift & 0x000f000f) | (top >> 2 & 0x00030003) << 4,
    };
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      // 0..3, minus 4 where the high bit is not set: 0xfc sets all bits above.
      fragment.quants[i][0] = (word >> 2 * i & 0x03030303) | (high_clear >> i & 0x01010101) * 0xfc;
      fragment.scales[i] = {dm, (scale_words[i / 2] >> 16 * (i & 1) & 0xff) - 32};
    }
    return fragment;
  }
};

// Q4_K and Q5_K. The scales of a pair of groups are in two bytes, and so are its minima. The last two pairs have their
// low four bits next to each other, and their high two bits above the scales and minima of the first two pairs.
template <class F>
struct PairedFragmentReader {
  using Block = typename F::Block;
  u32 quants, scales, pair;
  __device__ explicit PairedFragmentReader(int t)
      : quants(32 * (t >> 2) + 4 * (t & 3)), scales(t >> 1 & 2), pair(t >> 2) {}
  __device__ Fragment<F> operator()(const Block &block) const {
    Fragment<F> fragment;
    const u32 dm = load_word<4>(&block.d);
    const u32 a = load_half(block.scales + scales), b = load_half(block.scales + scales + 4),
              c = load_half(block.scales + scales + 8);
    const bool is_last_pair = pair >= 2;
    const u32 scale = is_last_pair ? (c & 0x0f0f) | (a & 0xc0c0) >> 2 : a & 0x3f3f;
    const u32 minimum = is_last_pair ? (c >> 4 & 0x0f0f) | (b & 0xc0c0) >> 2 : b & 0x3f3f;
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      const u32 word = load_word<4>(block.qs + quants + 16 * k);
      fragment.quants[0][k] = word & 0x0f0f0f0f;
      fragment.quants[1][k] = word >> 4 & 0x0f0f0f0f;
    }
    fragment.scales[0] = {dm, (scale & 0xff) | minimum << 8};
    fragment.scales[1] = {dm, scale >> 8 | (minimum & 0xff00)};
    return fragment;
  }
};

template <>
struct FragmentReader<Q4_K> : PairedFragmentReader<Q4_K> {
  using PairedFragmentReader::PairedFragmentReader;
};

template <>
struct FragmentReader<Q5_K> : PairedFragmentReader<Q5_K> {
  u32 high;
  __device__ explicit FragmentReader(int t) : PairedFragmentReader(t), high(4 * (t & 3)) {}
  __device__ Fragment<Q5_K> operator()(const Block &block) const {
    Fragment<Q5_K> fragment = PairedFragmentReader::operator()(block);
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      const u32 bits = load_word<4>(block.qh + high + 16 * k) >> 2 * pair;
      fragment.quants[0][k] |= bits << 4 & 0x10101010;
      fragment.quants[1][k] |= bits << 3 & 0x10101010;
    }
    return fragment;
  }
};

template <>
struct FragmentReader<Q6_K> {
  using Block = BlockQ6_K;
  u32 low, high, scales, shift;
  __device__ explicit FragmentReader(int t)
      : low(4 * t), high(32 * (t >> 4) + 4 * (t & 7)), scales(8 * (t >> 4) + (t >> 2 & 3)), shift(t >> 2 & 2) {}
  __device__ Fragment<Q6_K> operator()(const Block &block) const {
    Fragment<Q6_K> fragment;
    const u32 nibbles = load_word<2>(block.ql + low);
    const u32 bits = load_word<2>(block.qh + high) >> shift;
    const u32 dm = u32(block.d.bits);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      fragment.quants[i][0] =
          subtract_from_bytes((nibbles >> 4 * i & 0x0f0f0f0f) | (bits >> 4 * i & 0x03030303) << 4, 32);
      fragment.scales[i] = {dm, block.scales[scales + 4 * i]};
    }
    return fragment;
  }
};

// acc plus a fragment times the same part of a column. d and quants point to the first group and word of the column
// that the thread uses in the block; the distances to the others are the same for every thread.
template <class F>
__device__ inline f32 multiply_fragment(f32 acc, const Fragment<F> &fragment, const u8 *d, const u8 *quants) {
  VectorSums<F::groups_per_thread> sums;
#pragma unroll
  for (int i = 0; i < F::groups_per_thread; ++i) {
    const int distance = sizeof(BlockQ8_1) * (F::group(0, i) - F::group(0, 0));
    const Scales scales{load_word<4>(d + distance), 0};
    sums.d[i] = scales.d();
    if (i == 0) sums.s = scales.m();
    i32 sum = 0;
    sums.dot[i] = 0;
#pragma unroll
    for (int k = 0; k < F::words_per_thread; ++k) {
      const u32 u = load_word<4>(quants + distance + 4 * (F::word(0, k) - F::word(0, 0)));
      sums.dot[i] = dot4(fragment.quants[i][k], u, sums.dot[i]);
      if constexpr (F::uses_sums) sum = sum4(u, sum);
    }
    sums.sum[i] = sums.d[i] * f32(sum);
  }
  return F::accumulate_vector(acc, fragment.scales, sums);
}

// The thread's team. Where there is one, what depends on it is the same for all threads of the block.
template <class Teams>
__device__ inline u32 team() {
  return Teams::teams == 1 ? 0 : threadIdx.y / Teams::waves;
}

// The first row of the thread's team, of those of the thread block.
template <class Teams>
__device__ inline int first_row() {
  return int(blockIdx.x * Teams::rows_per_block + team<Teams>() * Teams::rows);
}

// Rows row0, row0 + 1, ... of x, of which each team has its own, times columns of y, which are `stride_y` bytes apart;
// one thread calls store(column, row, result) for each. All threads of the thread block call it.
template <class F, int columns, class Teams, class Store>
__device__ inline void multiply_vectors(const typename F::Block *__restrict__ x, const BlockQ8_1 *__restrict__ y,
                                        int blocks, int row0, int nrows, i64 stride_y, Store store) {
  constexpr int waves = Teams::waves, rows = Teams::rows;
  const int lane = threadIdx.x, wave = int(threadIdx.y - team<Teams>() * waves);
  const u32 t = logical_wave_size * wave + lane;
  const u32 block_lane = t % F::lanes;
  const FragmentReader<F> read(block_lane);
  const int first = t / F::lanes;
  constexpr int step = waves * logical_wave_size / F::lanes;
  constexpr int column_bytes = F::length / group_length * sizeof(BlockQ8_1);  // bytes of a column per block of weights
  // Rows beyond the last are read as the last one. A single team's first row is none of these.
  const int begin_row = Teams::teams == 1 || row0 < nrows ? row0 : nrows - 1;
  const typename F::Block *weights = x + i64(begin_row) * blocks + first;
  int to_row[rows];
#pragma unroll
  for (int i = 0; i < rows; ++i) to_row[i] = row0 + i < nrows ? blocks * i : i == 0 ? 0 : to_row[i - 1];
  const u8 *d = reinterpret_cast<const u8 *>(y + F::group(block_lane, 0)) + i64(first) * column_bytes;
  const u8 *quants = d + sizeof(BlockQ8_1) - group_length + 4 * F::word(block_lane, 0);
  f32 acc[columns][rows] = {};
#pragma unroll Teams::unrolled
  for (int block = first; block < blocks; block += step) {
    Fragment<F> fragments[rows];
#pragma unroll
    for (int i = 0; i < rows; ++i) fragments[i] = read(weights[to_row[i]]);
    weights += step;
    CANDLE_UNROLL_COLUMNS
    for (int j = 0; j < columns; ++j) {
#pragma unroll
      for (int i = 0; i < rows; ++i) {
        acc[j][i] = multiply_fragment<F>(acc[j][i], fragments[i], d + j * stride_y, quants + j * stride_y);
      }
    }
    d += step * column_bytes;
    quants += step * column_bytes;
  }
  if constexpr (waves > 1) {
    __shared__ f32 all_partials[Teams::teams][waves - 1][columns][rows][logical_wave_size];
    auto &partials = all_partials[team<Teams>()];
    if (wave > 0) {
      CANDLE_UNROLL_COLUMNS
      for (int j = 0; j < columns; ++j) {
#pragma unroll
        for (int i = 0; i < rows; ++i) partials[wave - 1][j][i][lane] = acc[j][i];
      }
    }
    __syncthreads();
    if (wave > 0) return;
    CANDLE_UNROLL_COLUMNS
    for (int j = 0; j < columns; ++j) {
#pragma unroll
      for (int i = 0; i < rows; ++i) {
#pragma unroll
        for (int k = 0; k < waves - 1; ++k) acc[j][i] += partials[k][j][i][lane];
      }
    }
  }
  CANDLE_UNROLL_COLUMNS
  for (int j = 0; j < columns; ++j) {
#pragma unroll
    for (int i = 0; i < rows; ++i) acc[j][i] = wave_reduce_sum(acc[j][i]);
  }
  // Not in the loop above: after a branch each reduction would wait for the one before.
  CANDLE_UNROLL_COLUMNS
  for (int j = 0; j < columns; ++j) {
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      if (lane == i && row0 + i < nrows) store(j, row0 + i, acc[j][i]);
    }
  }
}

// Columns of y are stride_y blocks apart.
template <class F, int columns, class Teams, class Store>
__device__ inline void mul_mat_vec(const void *__restrict__ vx, const void *__restrict__ vy, int ncols_x, int nrows,
                                   int stride_y, Store store) {
  multiply_vectors<F, columns, Teams>(static_cast<const typename F::Block *>(vx), static_cast<const BlockQ8_1 *>(vy),
                                      ncols_x / F::length, first_row<Teams>(), nrows, i64(stride_y) * sizeof(BlockQ8_1),
                                      store);
}

// Thread block (row, batch, k): task batch * topk + k multiplies a row of the task's expert with the column of the
// batch, or with that of the task. Candle computes the size of an expert as if all formats had 256 weights in a block,
// so that experts of q8_0 overlap; this does the same.
template <class F>
__device__ inline void indexed_moe(const void *__restrict__ weights, const void *__restrict__ inputs,
                                   const u32 *__restrict__ experts, f32 *__restrict__ outputs, int n, int k,
                                   int k_padded, int input_dim1) {
  const int row = blockIdx.x;
  if (row >= n) return;
  const u32 task = blockIdx.y * gridDim.z + blockIdx.z;
  const u32 input = input_dim1 == 1 ? blockIdx.y : task;
  const size_t stride = size_t(n * k) / super_block_length * sizeof(typename F::Block);
  const u8 *expert = static_cast<const u8 *>(weights) + experts[task] * stride;
  const auto *y = static_cast<const BlockQ8_1 *>(inputs) + size_t(input) * (k_padded / group_length);
  f32 *output = outputs + size_t(task) * n;
  multiply_vectors<F, 1, VectorTeams<1>>(reinterpret_cast<const typename F::Block *>(expert), y, k / F::length, row, n,
                                         0, [=](int, int i, f32 total) { output[i] = total; });
}

}  // namespace candle
