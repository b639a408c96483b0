// Quantized weights times activations in 144-byte blocks, in tiles; any number of rows and columns. The sums over the
// groups of a row are in order.
#pragma once

#include "mmq.h"
#include "tiled_formats.h"

namespace candle {

struct Q8_1Tiled : Format<Q8_1Tiled, BlockQ8_1Tiled> {
  static constexpr int length = 128, words_per_load = 1;
  static __device__ const u8 *low_bytes(const Block &b, int group, int word) { return b.qs + 32 * group + 4 * word; }
  static __device__ u32 unpack(u32 low, u32, int, int) { return low; }
};
constexpr int groups_per_tiled_block = Q8_1Tiled::length / group_length;

// The scales of the rows and columns of a step: a thread has one group of every `row_step`-th of them.
constexpr int scale_row_step = mmq_threads / groups_per_step;

template <class F, int rows>
struct TiledRowScales {
  static constexpr int count = (rows + scale_row_step - 1) / scale_row_step;
  Scales scales[count];

  __device__ void load(const typename F::Block *x, int last_row, int stride, int t, int group0, int last_group) {
    constexpr int groups_per_block = F::length / group_length;
    const int group = clamp_index(group0 + t % groups_per_step, last_group);
#pragma unroll
    for (int p = 0; p < count; ++p) {
      const int row = clamp_index(t / groups_per_step + scale_row_step * p, last_row);
      scales[p] = F::scales(x[i64(row) * stride + group / groups_per_block], group % groups_per_block);
    }
  }

  __device__ void store(TileRow *tile, int t) const {
#pragma unroll
    for (int p = 0; p < count; ++p) {
      const int row = t / groups_per_step + scale_row_step * p;
      if (rows % scale_row_step != 0 && row >= rows) return;
      const RowScales decoded = F::row_scales(scales[p]);
      u32 *to = tile[row].scales + 2 * (t % groups_per_step);
      to[0] = decoded.a;
      to[1] = decoded.b;
    }
  }
};

template <class Layout, int columns>
struct TiledColumnScales {
  static constexpr int count = (columns + scale_row_step - 1) / scale_row_step;
  HeaderWords words[count];

  __device__ void load(const BlockQ8_1Tiled *y, int last_column, int block_stride, int t, int group0) {
    const int group = group0 + t % groups_per_step;
    y += group / groups_per_tiled_block * i64(block_stride);
#pragma unroll
    for (int p = 0; p < count; ++p) {
      const int column = clamp_index(t / groups_per_step + scale_row_step * p, last_column);
      words[p] = Layout::load(y[column].header, group % groups_per_tiled_block);
    }
  }

  __device__ void store(TileRow *tile, int t, int group0) const {
    const int group = (group0 + t % groups_per_step) % groups_per_tiled_block;
#pragma unroll
    for (int p = 0; p < count; ++p) {
      const int column = t / groups_per_step + scale_row_step * p;
      if (columns % scale_row_step != 0 && column >= columns) return;
      const ColumnScales scales = Layout::scales(words[p], group);
      u32 *to = tile[column].scales + 2 * (t % groups_per_step);
      to[0] = bit_cast<u32>(scales.d);
      // The sums of the last group are those of its quants, by other threads.
      if (Layout::values_per_sum != 16 || group < groups_per_tiled_block - 1) to[1] = scales.sums;
    }
  }
};

// In a step that has the last group of a block: sums of the quants of its halves, by four threads each.
template <int columns, bool prefetch>
__device__ inline void store_quant_sums(TileRow *tile, const TileLoader<Q8_1Tiled, columns, prefetch> &words, int t) {
  using Loader = TileLoader<Q8_1Tiled, columns, prefetch>;
#pragma unroll
  for (int p = 0; p < columns / Loader::row_step; ++p) {
    i32 sum = sum4(words.packed[p][0].low.word(), 0);
    sum += shuffle_xor<1>(sum);
    sum += shuffle_xor<2>(sum);
    const i32 other = shuffle_xor<4>(sum);
    const int group = Loader::group_of(t, 0);
    if (group == groups_per_step - 1 && t % group_words == 0) {
      tile[t / Loader::threads_per_row + Loader::row_step * p].scales[2 * group + 1] = u32(u16(sum)) | u32(other) << 16;
    }
  }
}

// The results of a thread block, distributed over its threads: add_group adds group g of a step, each(f) calls
// f(row, column, sum) for the thread's part. Here by dot products: a thread has `rows` rows of some columns.
template <class P, int tile_rows, int tile_columns, int rows>
struct DotTile {
  static constexpr int row_threads = tile_rows / rows, column_threads = mmq_threads / row_threads;
  static constexpr int columns = tile_columns / column_threads;
  const int tx, ty;
  f32 acc[rows][columns] = {};

  __device__ explicit DotTile(int thread) : tx(thread % row_threads), ty(thread / row_threads) {}

  __device__ void add_group(const TileRow *tile_x, const TileRow *tile_y, int g, bool quantized_sums, int last_column) {
    Quad quads[rows][2];
    RowScales scales[rows];
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      const TileRow &row = tile_x[tx + row_threads * i];
      quads[i][0] = row.quads[g][0];
      quads[i][1] = row.quads[g][1];
      scales[i] = {row.scales[2 * g], row.scales[2 * g + 1]};
    }
    CANDLE_UNROLL_COLUMNS
    for (int j = 0; j < columns; ++j) {
      // Not on a GPU: a branch per column costs registers, and computing an unused column costs nothing.
      if (!target::on_gpu && column_threads * j > last_column) break;
      const TileRow &column = tile_y[ty + column_threads * j];
      const Quad low = column.quads[g][0], high = column.quads[g][1];
      const ColumnScales column_scales{bit_cast<f32>(column.scales[2 * g]), column.scales[2 * g + 1]};
#pragma unroll
      for (int i = 0; i < rows; ++i) {
        i32 sum_low = dot16(quads[i][0], low, 0), sum_high = 0;
        (P::halves ? sum_high : sum_low) = dot16(quads[i][1], high, P::halves ? 0 : sum_low);
        acc[i][j] = P::accumulate(acc[i][j], scales[i], {f32(sum_low), f32(sum_high)}, column_scales, quantized_sums);
        // Without the barrier the loads of all columns are hoisted, and hundreds of registers spill.
        target::optimization_barrier(acc[i][j]);
      }
    }
  }

  template <class Each>
  __device__ void each(Each f) const {
    CANDLE_UNROLL_COLUMNS
    for (int j = 0; j < columns; ++j) {
#pragma unroll
      for (int i = 0; i < rows; ++i) f(tx + row_threads * i, ty + column_threads * j, acc[i][j]);
    }
  }
};

// The same by products of matrices of 16 rows and 8 columns, which a logical wave of an NVIDIA GPU multiplies at once:
// lane 4 * r + c holds words c of rows r and r + 8 and of column r, and results (r, 2 * c), (r, 2 * c + 1), and those
// of row r + 8.
template <class P, int tile_rows, int tile_columns>
struct MatrixTile16x8 {
  static constexpr int waves = mmq_threads / logical_wave_size;
  static constexpr int row_waves = tile_rows / 16 < waves ? tile_rows / 16 : waves, column_waves = waves / row_waves;
  static constexpr int rows = tile_rows / 16 / row_waves, columns = tile_columns / 8 / column_waves;
  const int r, c, row0, column0;
  f32 acc[rows][columns][4] = {};

  __device__ explicit MatrixTile16x8(int thread)
      : r(thread % logical_wave_size / 4),
        c(thread % 4),
        row0(thread / logical_wave_size % row_waves * 16 * rows),
        column0(thread / logical_wave_size / row_waves * 8 * columns) {}

  __device__ void add_group(const TileRow *tile_x, const TileRow *tile_y, int g, bool quantized_sums, int) {
    u32 words[rows][2][2];  // of the half, of the row
    RowScales scales[rows][2];
#pragma unroll
    for (int i = 0; i < rows; ++i) {
#pragma unroll
      for (int n = 0; n < 2; ++n) {
        const TileRow &row = tile_x[row0 + 16 * i + 8 * n + r];
        words[i][0][n] = row.quads[g][0].word[c];
        words[i][1][n] = row.quads[g][1].word[c];
        scales[i][n] = {row.scales[2 * g], row.scales[2 * g + 1]};
      }
    }
#pragma unroll
    for (int j = 0; j < columns; ++j) {
      const TileRow &column = tile_y[column0 + 8 * j + r];
      const u32 low = column.quads[g][0].word[c], high = column.quads[g][1].word[c];
      ColumnScales column_scales[2];
#pragma unroll
      for (int n = 0; n < 2; ++n) {
        const u32 *from = tile_y[column0 + 8 * j + 2 * c + n].scales + 2 * g;
        column_scales[n] = {bit_cast<f32>(from[0]), from[1]};
      }
#pragma unroll
      for (int i = 0; i < rows; ++i) {
        // A sum of integers below 2^22 is also the sum of f32 that starts with 1.5 * 2^23: no conversion is needed.
        constexpr f32 offset = 12582912.0f;
        i32 sums_low[4], sums_high[4];
#pragma unroll
        for (int n = 0; n < 4; ++n) sums_low[n] = sums_high[n] = 0x4b400000;
        if constexpr (P::halves) {
          target::multiply_matrices_16(sums_low, words[i][0], low);
          target::multiply_matrices_16(sums_high, words[i][1], high);
        } else {
          target::multiply_matrices_32(sums_low, words[i][0], words[i][1], low, high);
        }
#pragma unroll
        for (int n = 0; n < 4; ++n) {
          const GroupSums sums{bit_cast<f32>(sums_low[n]) - offset, bit_cast<f32>(sums_high[n]) - offset};
          acc[i][j][n] = P::accumulate(acc[i][j][n], scales[i][n / 2], sums, column_scales[n % 2], quantized_sums);
        }
      }
    }
  }

  template <class Each>
  __device__ void each(Each f) const {
#pragma unroll
    for (int j = 0; j < columns; ++j) {
#pragma unroll
      for (int i = 0; i < rows; ++i) {
#pragma unroll
        for (int n = 0; n < 4; ++n) {
          f(row0 + 16 * i + 8 * (n / 2) + r, column0 + 8 * j + 2 * c + n % 2, acc[i][j][n]);
        }
      }
    }
  }
};

// The same by products of matrices of 16 rows and 16 columns, by the waves of 64 lanes of AMD's CDNA: lane 16 * c + r
// holds words c of row r and of column r, and results (r, 4 * c) to (r, 4 * c + 3).
template <class P, int tile_rows, int tile_columns>
struct MatrixTile16x16 {
  static constexpr int wave_size = 64, waves = mmq_threads / wave_size;
  static constexpr int rows = tile_rows / 16 / waves, columns = tile_columns / 16;
  const int r, c, row0;
  f32 acc[rows][columns][4] = {};

  __device__ explicit MatrixTile16x16(int thread)
      : r(thread % 16), c(thread % wave_size / 16), row0(thread / wave_size * 16 * rows) {}

  __device__ void add_group(const TileRow *tile_x, const TileRow *tile_y, int g, bool quantized_sums, int) {
    u32 words[rows][2];
    RowScales scales[rows];
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      const TileRow &row = tile_x[row0 + 16 * i + r];
      words[i][0] = row.quads[g][0].word[c];
      words[i][1] = row.quads[g][1].word[c];
      scales[i] = {row.scales[2 * g], row.scales[2 * g + 1]};
    }
#pragma unroll
    for (int j = 0; j < columns; ++j) {
      const TileRow &column = tile_y[16 * j + r];
      const u32 low = column.quads[g][0].word[c], high = column.quads[g][1].word[c];
      ColumnScales column_scales[4];
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        const u32 *from = tile_y[16 * j + 4 * c + n].scales + 2 * g;
        column_scales[n] = {bit_cast<f32>(from[0]), from[1]};
      }
#pragma unroll
      for (int i = 0; i < rows; ++i) {
        i32 sums_low[4] = {}, sums_high[4] = {};
        if constexpr (P::halves) {
          target::multiply_matrices_16x16(sums_low, low, words[i][0]);
          target::multiply_matrices_16x16(sums_high, high, words[i][1]);
        } else {
          target::multiply_matrices_16x16(sums_low, low, high, words[i][0], words[i][1]);
        }
#pragma unroll
        for (int n = 0; n < 4; ++n) {
          const GroupSums sums{f32(sums_low[n]), f32(sums_high[n])};
          acc[i][j][n] = P::accumulate(acc[i][j][n], scales[i], sums, column_scales[n], quantized_sums);
        }
      }
    }
  }

  template <class Each>
  __device__ void each(Each f) const {
#pragma unroll
    for (int j = 0; j < columns; ++j) {
#pragma unroll
      for (int i = 0; i < rows; ++i) {
#pragma unroll
        for (int n = 0; n < 4; ++n) f(row0 + 16 * i + r, 16 * j + 4 * c + n, acc[i][j][n]);
      }
    }
  }
};

enum class TileBy { dot_products, matrices_16x8, matrices_16x16 };

constexpr TileBy tile_by = target::integer_matrices_16x8    ? TileBy::matrices_16x8
                           : target::integer_matrices_16x16 ? TileBy::matrices_16x16
                                                            : TileBy::dot_products;

template <TileBy by, class P, int tile_rows, int tile_columns, int rows>
struct select_tile {
  using type = DotTile<P, tile_rows, tile_columns, rows>;
};
template <class P, int tile_rows, int tile_columns, int rows>
struct select_tile<TileBy::matrices_16x8, P, tile_rows, tile_columns, rows> {
  using type = MatrixTile16x8<P, tile_rows, tile_columns>;
};
template <class P, int tile_rows, int tile_columns, int rows>
struct select_tile<TileBy::matrices_16x16, P, tile_rows, tile_columns, rows> {
  using type = MatrixTile16x16<P, tile_rows, tile_columns>;
};

// Thread block (bx, by) of mmq_threads threads computes rows bx * tile_rows.. of columns by * tile_columns..:
// dst[column * stride_dst + row]. Rows of x are stride_x blocks apart. Block b of column c of y is y[b * ncols_y + c].
// Where it is by dot products, a thread has `rows` rows.
template <class P, int tile_columns, int tile_rows, int rows>
__device__ CANDLE_FORCE_INLINE void tiled_product(const void *__restrict__ vx, const void *__restrict__ vy,
                                                  f32 *__restrict__ dst, int ncols_x, int nrows_x, int ncols_y,
                                                  int stride_x, int stride_dst) {
  using Layout = typename P::Layout;
  __shared__ TileRow tile_x[tile_rows], tile_y[tile_columns];
  const int thread = threadIdx.x, row0 = blockIdx.x * tile_rows, column0 = blockIdx.y * tile_columns;
  const auto *x = static_cast<const typename P::Block *>(vx) + i64(row0) * stride_x;
  const auto *y = static_cast<const BlockQ8_1Tiled *>(vy) + column0;
  const int last_row = nrows_x - 1 - row0, last_column = clamp_index(ncols_y - column0, tile_columns) - 1;
  const int groups = ncols_x / group_length;
  TileLoader<P, tile_rows, true> weights;
  TileLoader<Q8_1Tiled, tile_columns, true> activations;
  TiledRowScales<P, tile_rows> weight_scales;
  TiledColumnScales<Layout, tile_columns> activation_scales;
  const auto load = [&](int group0, int t) {
    weights.load(x, last_row, stride_x, t, group0, groups - 1);
    weight_scales.load(x, last_row, stride_x, t, group0, groups - 1);
    activations.load(y, last_column, 1, t, group0, groups - 1, ncols_y);
    activation_scales.load(y, last_column, ncols_y, t, clamp_index(group0, groups - 1));
  };
  if (groups > 0) load(0, thread);
  typename select_tile<tile_by, P, tile_rows, tile_columns, rows>::type tile(thread);
  for (int group0 = 0; group0 < groups; group0 += groups_per_step) {
    const int groups_in_step = clamp_index(groups - group0, groups_per_step);
    const int t = target::few_registers ? target::rematerialize(thread) : thread;
    const bool has_last_group = group0 % groups_per_tiled_block == groups_per_tiled_block - groups_per_step;
    __syncthreads();
    weights.store(tile_x, t, group0);
    weight_scales.store(tile_x, t);
    activations.store(tile_y, t, group0);
    activation_scales.store(tile_y, t, group0);
    if (Layout::values_per_sum == 16 && has_last_group) store_quant_sums(tile_y, activations, t);
    __syncthreads();
    load(group0 + groups_per_step < groups ? group0 + groups_per_step : group0, t);
#pragma unroll 1
    for (int g = 0; g < groups_in_step; ++g) {
      tile.add_group(tile_x, tile_y, g, has_last_group && g == groups_per_step - 1, last_column);
    }
  }
  tile.each([=](int row, int column, f32 sum) {
    if (column <= last_column && row <= last_row) dst[i64(column0 + column) * stride_dst + row0 + row] = sum;
  });
}

}  // namespace candle
