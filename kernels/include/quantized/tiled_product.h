// Quantized weights times activations in 144-byte blocks, in tiles; any number of rows and columns. The sums over the
// groups of a row are in order.
#pragma once

#include "dot_tile.h"
#include "matrix_tile_16x16.h"
#include "matrix_tile_16x8.h"

namespace candle {

enum class TileBy { dot_products, matrices_16x8, matrices_16x16 };

constexpr TileBy tile_by = target::integer_matrices_16x8 ? TileBy::matrices_16x8
                           : target::Matrices::integers  ? TileBy::matrices_16x16
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
  using type = MatrixTile16x16<target::Matrices, P, tile_rows, tile_columns>;
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
