// Quantized weights times a quantized matrix, in tiles. Every result is a sum over the groups of a row in order, as in
// Candle, so that how a tile is cut into steps and threads does not show.
#pragma once

#include "../lanes.h"
#include "dot.h"
#include "formats.h"

namespace candle {

constexpr int step_groups = 2;    // groups of a row in LDS at a time
constexpr int mmq_threads = 128;  // 32 x 4
constexpr int group_words = group_length / 4;

// Sixteen bytes of LDS in one access.
struct alignas(16) Quad {
  u32 at[4];
};

// What a tile has of a row of weights or of a column of activations. Its five quads keep lanes with neighbouring rows
// in different banks.
template <class Scale>
struct alignas(16) Step {
  Quad quads[step_groups][2];
  Scale scales[step_groups];
};

// Of a group of activations: d, and s or the sums of its halves, whichever the format uses.
struct Column {
  f32 d;
  u32 extra;
};

struct Q8_1 : Format<Q8_1, BlockQ8_1> {
  static constexpr int length = 32;
  static __device__ PackedWord packed(const Block &b, int, int word) { return {load(b.qs + 4 * word), {}}; }
  static __device__ u32 unpacked(const PackedWord &p, int, int) { return p.low.word(); }
  static __device__ PackedScales packed_scales(const Block &b, int) { return {load_word<4>(&b.d)}; }
  static __device__ Column unpacked(const PackedScales &p, int) {
    const Scales scales{p.dm, 0};
    return {scales.d(), bit_cast<u32>(scales.m())};
  }
};

// What a thread brings into one side of a tile of `rows` rows, as it is in memory: the loads of the next step are on
// their way while this one is multiplied. Eight threads share a row; each takes words that share their bytes: two of a
// block of 32, or one word of both groups. A row or group that does not exist is the last one again, and no result has
// it.
template <class F, int rows, bool half_sums = false>
struct Side {
  using Block = typename F::Block;
  static constexpr int sharers = step_groups * group_words / 2, apart = mmq_threads / sharers;
  static constexpr int items = rows / apart, units = rows * step_groups / mmq_threads;
  static constexpr bool super = F::length == super_length;
  typename F::PackedWord packed[items][2];
  PackedScales scales[units];

  static __device__ int group_of(int t, int k) { return super ? k : t % sharers / 4; }
  static __device__ int word_of(int t, int k) { return super ? t % sharers : t % 4 + 4 * k; }

  __device__ void load(const Block *x, int last_row, i64 stride, int t, int group0, int last_group) {
    constexpr int in_block = F::length / group_length;
    const auto limited = [&](int group) { return super || group < last_group ? group : last_group; };
#pragma unroll
    for (int p = 0; p < items; ++p) {
      const int row = t / sharers + apart * p < last_row ? t / sharers + apart * p : last_row;
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        const int group = limited(group0 + group_of(t, k));
        packed[p][k] = F::packed(x[row * stride + group / in_block], group % in_block, word_of(t, k));
      }
    }
#pragma unroll
    for (int p = 0; p < units; ++p) {
      const int unit = t * units + p, group = limited(group0 + unit % step_groups);
      const int row = unit / step_groups < last_row ? unit / step_groups : last_row;
      scales[p] = F::packed_scales(x[row * stride + group / in_block], group % in_block);
    }
  }

  template <class Scale>
  __device__ void store(Step<Scale> *tile, int t, int group0) const {
#pragma unroll
    for (int p = 0; p < items; ++p) {
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        const int group = group_of(t, k), word = word_of(t, k);
        tile[t / sharers + apart * p].quads[group][word / 4].at[word % 4] =
            F::unpacked(packed[p][k], (group0 + group) % (F::length / group_length), word);
      }
      if constexpr (half_sums) {  // over the four threads that have a group
        i32 sums[2];
#pragma unroll
        for (int k = 0; k < 2; ++k) {
          sums[k] = sum4(F::unpacked(packed[p][k], 0, 0), 0);
          sums[k] += swap<1>(sums[k]);
          sums[k] += swap<2>(sums[k]);
        }
        const u32 extra = u32(u16(sums[0])) | u32(sums[1]) << 16;
        if (t % 4 == 0) tile[t / sharers + apart * p].scales[group_of(t, 0)].extra = extra;
      }
    }
#pragma unroll
    for (int p = 0; p < units; ++p) {
      const int unit = t * units + p, group = unit % step_groups;
      const auto all = F::unpacked(scales[p], (group0 + group) % (F::length / group_length));
      if constexpr (half_sums) {
        tile[unit / step_groups].scales[group].d = all.d;
      } else {
        tile[unit / step_groups].scales[group] = all;
      }
    }
  }
};

__device__ inline i32 dot16(const Quad &a, const Quad &b, i32 sum) {
#pragma unroll
  for (int k = 0; k < 4; ++k) sum = dot4(a.at[k], b.at[k], sum);
  return sum;
}

// Block (bx, by) of 32 x 4 threads computes rows bx * tile_rows.. of columns by * tile_columns..: thread (tx, ty) rows
// tx + 32 i of columns ty + 4 j. dst[column * nrows_dst + row]. Candle reads on into the next row where a row is no
// multiple of its step, times activations of zero; here the step is shorter.
template <class F, int tile_columns, int tile_rows>
__device__ inline void mul_mat(const void *__restrict__ vx, const void *__restrict__ vy, f32 *__restrict__ dst,
                               int ncols_x, int nrows_x, int ncols_y, int nrows_y, int nrows_dst) {
  constexpr int rows = tile_rows / 32, columns = tile_columns / 4, span = F::span;
  __shared__ Step<Scales> tile_x[tile_rows];
  __shared__ Step<Column> tile_y[tile_columns];
  const int tx = threadIdx.x, ty = threadIdx.y, t = 32 * ty + tx;
  const int row0 = blockIdx.x * tile_rows, column0 = blockIdx.y * tile_columns;
  const i64 stride_x = ncols_x / F::length, stride_y = nrows_y / group_length;
  const auto *x = static_cast<const typename F::Block *>(vx) + row0 * stride_x;
  const auto *y = static_cast<const BlockQ8_1 *>(vy) + column0 * stride_y;
  const int used = ncols_y - column0 < tile_columns ? ncols_y - column0 : tile_columns;
  const int groups = ncols_x / group_length;
  Side<F, tile_rows> weights;
  Side<Q8_1, tile_columns, F::uses_sums && F::halves> activations;
  const auto load = [&](int group0) {
    weights.load(x, nrows_x - 1 - row0, stride_x, t, group0, groups - 1);
    activations.load(y, used - 1, stride_y, t, group0, groups - 1);
  };
  constexpr bool ahead = rows * columns <= 64;  // else registers would spill
  if constexpr (ahead) {
    if (groups > 0) load(0);
  }
  f32 acc[rows][columns] = {};
  for (int group0 = 0; group0 < groups; group0 += step_groups) {
    const int here = groups - group0 < step_groups ? groups - group0 : step_groups;
    if constexpr (!ahead) load(group0);
    __syncthreads();
    weights.store(tile_x, t, group0);
    activations.store(tile_y, t, group0);
    __syncthreads();
    if constexpr (ahead) load(group0 + step_groups < groups ? group0 + step_groups : group0);
#pragma unroll 1
    for (int g = 0; g < here; g += span) {
      Quad own[rows][span][2];
      Scales scales[rows][span];
#pragma unroll
      for (int i = 0; i < rows; ++i) {
#pragma unroll
        for (int s = 0; s < span; ++s) {
          own[i][s][0] = tile_x[tx + 32 * i].quads[g + s][0];
          own[i][s][1] = tile_x[tx + 32 * i].quads[g + s][1];
          scales[i][s] = tile_x[tx + 32 * i].scales[g + s];
        }
      }
      CANDLE_UNROLL_COLUMNS
      for (int j = 0; j < columns; ++j) {
        // On a GPU a branch for each column costs registers, and columns are free.
        if (!target::on_gpu && 4 * j >= used) break;
        const int c = ty + 4 * j;
        Quad other[span][2];
        Column column[span];
#pragma unroll
        for (int s = 0; s < span; ++s) {
          other[s][0] = tile_y[c].quads[g + s][0];
          other[s][1] = tile_y[c].quads[g + s][1];
          column[s] = tile_y[c].scales[g + s];
        }
#pragma unroll
        for (int i = 0; i < rows; ++i) {
          MatrixSums sums[span];
#pragma unroll
          for (int s = 0; s < span; ++s) {
            sums[s].low = dot16(own[i][s][0], other[s][0], 0);
            (F::halves ? sums[s].high : sums[s].low) = dot16(own[i][s][1], other[s][1], F::halves ? 0 : sums[s].low);
            sums[s].sum_low = i32(column[s].extra << 16) >> 16;
            sums[s].sum_high = i32(column[s].extra) >> 16;
            sums[s].d = column[s].d;
            sums[s].s = bit_cast<f32>(column[s].extra);
          }
          acc[i][j] = F::matrix(acc[i][j], scales[i], sums);
          target::keep_order(acc[i][j]);  // else the loads of all columns come first, and hundreds of registers spill
        }
      }
    }
  }
  CANDLE_UNROLL_COLUMNS
  for (int j = 0; j < columns; ++j) {
    const int column = column0 + ty + 4 * j;
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      const int row = row0 + tx + 32 * i;
      if (column < ncols_y && row < nrows_dst) dst[i64(column) * nrows_dst + row] = acc[i][j];
    }
  }
}

}  // namespace candle
