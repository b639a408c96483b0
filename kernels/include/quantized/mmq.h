// Quantized weights times a quantized matrix, in tiles. Every result is a sum over the groups of a row in order, as in
// Candle, so that how a tile is cut into steps and threads does not show.
#pragma once

#include "dot.h"
#include "formats.h"

namespace candle {

// Sixteen bytes of LDS in one access. A row of a tile has one more than its data, so that lanes use different banks.
struct alignas(16) Quad {
  u32 at[4];
};

constexpr int step_groups = 2;  // groups of a row in LDS at a time
constexpr int row_quads = 2 * step_groups + 1;
constexpr int mmq_threads = 128;  // 32 x 4

// Of a group of activations: d, and s or the sums of its halves, whichever the format uses.
struct Column {
  f32 d;
  u32 extra;
};

template <class F>
constexpr bool needs_half_sums = F::uses_sums && F::span == 1;

template <class F, int tile_columns, int tile_rows>
struct Tile {
  Quad x[tile_rows][row_quads];
  Quad y[tile_columns][row_quads];
  Scales scales[tile_rows][step_groups];
  Column columns[tile_columns][step_groups];
};

// What a thread brings into a tile: one group of every `apart`-th row and column. All of it is on its way before any
// of it is stored; a row, column or group that does not exist is the last one again, and no result has it.
constexpr int apart = mmq_threads / step_groups;

template <class F, int rows>
struct Weights {
  Quad quads[rows][2];
  Scales scales[rows];

  __device__ void load(const typename F::Block *x, int row, int last_row, int blocks, int group) {
    const int in_block = group % (F::length / 32);
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const int from = row + apart * r < last_row ? row + apart * r : last_row;
      const typename F::Block &block = x[i64(from) * blocks + group / (F::length / 32)];
#pragma unroll
      for (int k = 0; k < 8; ++k) quads[r][k / 4].at[k % 4] = F::quants(block, in_block, k);
      scales[r] = F::scales(block, in_block);
    }
  }

  template <class Shared>
  __device__ void store(Shared &tile, int row, int group) const {
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      tile.x[row + apart * r][2 * group] = quads[r][0];
      tile.x[row + apart * r][2 * group + 1] = quads[r][1];
      tile.scales[row + apart * r][group] = scales[r];
    }
  }
};

template <class F, int columns>
struct Activations {
  Quad quads[columns][2];
  u32 scales[columns];

  __device__ void load(const BlockQ8_1 *y, int column, int last_column, i64 stride, int group) {
#pragma unroll
    for (int c = 0; c < columns; ++c) {
      const int from = column + apart * c < last_column ? column + apart * c : last_column;
      const BlockQ8_1 &block = y[from * stride + group];
#pragma unroll
      for (int k = 0; k < 8; ++k) quads[c][k / 4].at[k % 4] = load_word<4>(block.qs + 4 * k);
      scales[c] = load_word<4>(&block.d);
    }
  }

  template <class Shared>
  __device__ void store(Shared &tile, int column, int group) const {
#pragma unroll
    for (int c = 0; c < columns; ++c) {
      const Scales both{scales[c], 0};
      u32 extra = bit_cast<u32>(both.m());
      if constexpr (needs_half_sums<F>) {
        i32 sums[2] = {};
#pragma unroll
        for (int k = 0; k < 8; ++k) sums[k / 4] = sum4(quads[c][k / 4].at[k % 4], sums[k / 4]);
        extra = u32(u16(sums[0])) | u32(sums[1]) << 16;
      }
      tile.y[column + apart * c][2 * group] = quads[c][0];
      tile.y[column + apart * c][2 * group + 1] = quads[c][1];
      tile.columns[column + apart * c][group] = {both.d(), extra};
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
  __shared__ Tile<F, tile_columns, tile_rows> tile;
  const auto *x = static_cast<const typename F::Block *>(vx);
  const int tx = threadIdx.x, ty = threadIdx.y, t = 32 * ty + tx;
  const int row0 = blockIdx.x * tile_rows, column0 = blockIdx.y * tile_columns;
  const i64 stride = nrows_y / group_length;
  const auto *y = static_cast<const BlockQ8_1 *>(vy) + column0 * stride;
  const int used = ncols_y - column0 < tile_columns ? ncols_y - column0 : tile_columns;
  const int groups = ncols_x / group_length;
  f32 acc[rows][columns] = {};
  for (int group0 = 0; group0 < groups; group0 += step_groups) {
    const int here = groups - group0 < step_groups ? groups - group0 : step_groups;
    const int own_group = t % step_groups, own_row = t / step_groups;
    const int group = group0 + (own_group < here ? own_group : here - 1);
    Weights<F, tile_rows / apart> weights;
    Activations<F, tile_columns / apart> activations;
    weights.load(x, row0 + own_row, nrows_x - 1, ncols_x / F::length, group);
    activations.load(y, own_row, used - 1, stride, group);
    __syncthreads();
    weights.store(tile, own_row, own_group);
    activations.store(tile, own_row, own_group);
    __syncthreads();
#pragma unroll 1
    for (int g = 0; g < here; g += span) {
      Quad own[rows][span][2];
      Scales scales[rows][span];
#pragma unroll
      for (int i = 0; i < rows; ++i) {
#pragma unroll
        for (int s = 0; s < span; ++s) {
          own[i][s][0] = tile.x[tx + 32 * i][2 * (g + s)];
          own[i][s][1] = tile.x[tx + 32 * i][2 * (g + s) + 1];
          scales[i][s] = tile.scales[tx + 32 * i][g + s];
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
          other[s][0] = tile.y[c][2 * (g + s)];
          other[s][1] = tile.y[c][2 * (g + s) + 1];
          column[s] = tile.columns[c][g + s];
        }
#pragma unroll
        for (int i = 0; i < rows; ++i) {
          MatrixSums sums[span];
#pragma unroll
          for (int s = 0; s < span; ++s) {
            sums[s].low = dot16(own[i][s][0], other[s][0], 0);
            sums[s].high = dot16(own[i][s][1], other[s][1], 0);
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
