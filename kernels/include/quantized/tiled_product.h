// Quantized weights times activations in 144-byte blocks, in tiles; any number of rows and columns. The sums over the
// groups of a part of a row are in order, and so are those of the parts; minima may follow the groups of a block.
#pragma once

#include "dot_tile.h"
#include "matrix_tile_16x16.h"
#include "matrix_tile_16x8.h"

namespace candle {

enum class TileBy { dot_products, matrices_16x8, matrices_16x16 };

constexpr TileBy tile_by = target::integer_matrices_16x8 ? TileBy::matrices_16x8
                           : target::Matrices::integers  ? TileBy::matrices_16x16
                                                         : TileBy::dot_products;

template <TileBy by, class P, int tile_rows, int tile_columns, int threads, int rows>
struct select_tile {
  using type = DotTile<P, tile_rows, tile_columns, threads, rows>;
};
template <class P, int tile_rows, int tile_columns, int threads, int rows>
struct select_tile<TileBy::matrices_16x8, P, tile_rows, tile_columns, threads, rows> {
  using type = MatrixTile16x8<P, tile_rows, tile_columns, threads>;
};
template <class P, int tile_rows, int tile_columns, int threads, int rows>
struct select_tile<TileBy::matrices_16x16, P, tile_rows, tile_columns, threads, rows> {
  using type = MatrixTile16x16<target::Matrices, P, tile_rows, tile_columns, threads>;
};

// Which tile a thread block has, and which part of its steps. The first `whole` tiles have a block each, the others
// `parts` blocks, so that these tiles, too few for all multiprocessors, occupy them nevertheless.
struct TiledWork {
  u32 whole, parts;
  __device__ bool is_whole(u32 block) const { return block < whole; }
  __device__ u32 tile(u32 block) const { return is_whole(block) ? block : whole + (block - whole) / parts; }
  __device__ u32 part(u32 block) const { return is_whole(block) ? 0 : (block - whole) % parts; }
};

// What a kernel gets but x and y, which are parameters of their own: __restrict__ has no effect on members.
struct TiledArguments {
  f32 *dst, *partials;  // partials: sums of the parts but the first, by tile and part
  u32 ncols_x, nrows_x, ncols_y;
  u32 stride_x, stride_dst;  // between rows of x, in blocks, and columns of dst
  TiledWork work;
};

// The tile of the thread block, which has `threads` threads: dst[column * stride_dst + row], in order of rows of tiles.
// Block b of column c of y is y[b * ncols_y + c]. Where it is by dot products, a thread has `rows` rows. Returns
// whether no result of the thread is NaN.
template <class P, class Sums, int threads, int rows, int tile_rows, int tile_columns, int groups_per_step>
__device__ CANDLE_FORCE_INLINE bool multiply_tile(const void *vx, const void *vy, const TiledArguments &o,
                                                  TileStep<P, tile_rows, tile_columns, groups_per_step> &in_shared) {
  using Layout = typename P::Layout;
  const u32 thread = threadIdx.x, tile_index = o.work.tile(blockIdx.x), part = o.work.part(blockIdx.x);
  const u32 parts = o.work.is_whole(blockIdx.x) ? 1 : o.work.parts, row_tiles = (o.nrows_x + tile_rows - 1) / tile_rows;
  const u32 row0 = tile_index % row_tiles * tile_rows, column0 = tile_index / row_tiles * tile_columns;
  const auto *x = static_cast<const typename P::Block *>(vx) + i64(row0) * o.stride_x;
  const auto *y = static_cast<const BlockQ8_1Tiled *>(vy) + column0;
  const u32 last_row = o.nrows_x - 1 - row0, last_column = smaller(o.ncols_y - column0, tile_columns) - 1;
  const u32 groups = o.ncols_x / group_length, steps = (groups + groups_per_step - 1) / groups_per_step;
  const u32 first_step = u32(u64(steps) * part / parts), end_step = u32(u64(steps) * (part + 1) / parts);
  WeightLoader<P, tile_rows, groups_per_step, threads> weights(x, o.stride_x, last_row, thread);
  RowScaleLoader<P, tile_rows, groups_per_step, threads> weight_scales(x, o.stride_x, last_row, thread);
  ActivationLoader<tile_columns, groups_per_step, threads> activations;
  ColumnScaleLoader<Layout, tile_columns, groups_per_step, threads> activation_scales;
  const auto load = [&](u32 group0, u32 t) {
    weights.load(group0, groups - 1, t);
    weight_scales.load(group0, groups - 1, t);
    activations.load(y, o.ncols_y, last_column, group0, groups - 1, t);
    activation_scales.load(y, o.ncols_y, last_column, group0, groups - 1, t);
  };
  if (first_step < end_step) load(first_step * groups_per_step, thread);
  typename select_tile<tile_by, P, tile_rows, tile_columns, threads, rows>::type tile(thread);
  for (u32 step = first_step; step < end_step; ++step) {
    const u32 group0 = step * groups_per_step, groups_in_step = smaller(groups - group0, groups_per_step);
    const u32 t = target::few_registers ? target::rematerialize(thread) : thread;
    __syncthreads();
    weights.store(in_shared.x, group0, t);
    weight_scales.store(in_shared.x, t);
    activations.store(in_shared.y, t);
    activation_scales.store(in_shared.y, group0, t);
    if constexpr (Layout::values_per_sum == 16) store_quant_sums(in_shared.y, activations, group0, t);
    __syncthreads();
    load(step + 1 < end_step ? group0 + groups_per_step : group0, t);
#pragma unroll 1
    for (u32 g = 0; g < groups_in_step; ++g) {
      tile.template add_group<Sums>(in_shared, {int(g), is_last_of_block(group0 + g), int(last_column)});
    }
    if constexpr (tile_by == TileBy::matrices_16x8 && Layout::values_per_sum == 16) {
      static_assert(groups_per_step % groups_per_tiled_block == 0, "a step has whole blocks of activations");
      for (u32 g = 0; g < groups_in_step; g += groups_per_tiled_block) tile.subtract_minima(in_shared, int(g));
    }
  }
  f32 *to = o.dst + i64(column0) * o.stride_dst + row0;
  u32 stride = o.stride_dst;
  if (part != 0) {
    to = o.partials + i64((tile_index - o.work.whole) * (parts - 1) + part - 1) * (tile_rows * tile_columns);
    stride = tile_rows;
  }
  bool numbers = true;
  tile.each([&](u32 row, u32 column, f32 sum) {
    numbers = numbers && sum == sum;
    if (column <= last_column && row <= last_row) to[i64(column) * stride + row] = sum;
  });
  return numbers;
}

template <class P, int threads, int rows, int tile_rows, int tile_columns, int groups_per_step>
__device__ CANDLE_NOINLINE_GPU void multiply_tile_again(
    const void *vx, const void *vy, const TiledArguments &o,
    TileStep<P, tile_rows, tile_columns, groups_per_step> &in_shared) {
  multiply_tile<P, GroupSums, threads, rows, tile_rows, tile_columns, groups_per_step>(vx, vy, o, in_shared);
}

template <class P, int tile_columns, int tile_rows, int threads, int rows>
__device__ CANDLE_FORCE_INLINE void tiled_product(const void *__restrict__ vx, const void *__restrict__ vy,
                                                  const TiledArguments &o) {
  // Long steps wait less often; AMD's LDS is for several thread blocks.
  constexpr int groups_per_step = tile_columns <= 16 ? 8 : target::on_amd ? 2 : 4;
  __shared__ TileStep<P, tile_rows, tile_columns, groups_per_step> in_shared;
  if constexpr (tile_by == TileBy::matrices_16x8) {
    const bool numbers =
        multiply_tile<P, OffsetSums, threads, rows, tile_rows, tile_columns, groups_per_step>(vx, vy, o, in_shared);
    // A NaN may be due to OffsetSums.
    if (__syncthreads_or(!numbers))
      multiply_tile_again<P, threads, rows, tile_rows, tile_columns, groups_per_step>(vx, vy, o, in_shared);
  } else {
    multiply_tile<P, GroupSums, threads, rows, tile_rows, tile_columns, groups_per_step>(vx, vy, o, in_shared);
  }
}

// Thread block (b, c) adds the parts of `threads` results, c * threads and on, of a tile that is not whole, number b of
// these.
template <int tile_columns, int tile_rows, int threads>
__device__ inline void add_partials(const TiledArguments &o) {
  constexpr u32 size = tile_rows * tile_columns;
  static_assert(size % threads == 0, "every thread has a result");
  const u32 tile_index = o.work.whole + blockIdx.x, row_tiles = (o.nrows_x + tile_rows - 1) / tile_rows;
  const u32 i = blockIdx.y * threads + threadIdx.x;
  const u32 row = tile_index % row_tiles * tile_rows + i % tile_rows;
  const u32 column = tile_index / row_tiles * tile_columns + i / tile_rows;
  if (row >= o.nrows_x || column >= o.ncols_y) return;
  const f32 *partial = o.partials + i64(blockIdx.x) * (o.work.parts - 1) * size + i;
  f32 &to = o.dst[i64(column) * o.stride_dst + row];
  f32 sum = to;
#pragma unroll 4
  for (u32 part = 1; part < o.work.parts; ++part, partial += size) sum += *partial;
  to = sum;
}

}  // namespace candle
