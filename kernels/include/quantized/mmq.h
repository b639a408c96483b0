// Quantized weights times a quantized matrix, in tiles. Every result is a sum over the groups of a row in order, as in
// Candle, so that results do not depend on how a tile is split into steps and threads.
#pragma once

#include "../shuffle.h"
#include "../strided.h"
#include "block32_formats.h"
#include "k_quant_formats.h"
#include "tiles.h"

namespace candle {

constexpr int groups_per_step = 2;  // groups of a row in LDS at a time
constexpr int mmq_threads = 128;    // 32 x 4

// One step of a row of weights or of a column of activations in a tile. Five 16-byte quads per row put lanes with
// neighbouring rows in different banks. The last quad holds, for activations, d of each group and s or the sums of its
// halves, whichever the format uses; for weights, the scales of each group, or, for K-quants, those of the whole block.
struct alignas(16) TileRow {
  Quad quads[groups_per_step][2];
  u32 scales[4];
};

struct Q8_1 : Format<Q8_1, BlockQ8_1> {
  static constexpr int length = 32, words_per_load = 1;
  static __device__ const u8 *low_bytes(const Block &b, int, int word) { return b.qs + 4 * word; }
  static __device__ u32 unpack(u32 low, u32, int, int) { return low; }
  static __device__ Scales scales(const Block &b, int) { return {load_word<4>(&b.d), 0}; }
};

// The words that a thread loads into one side of a tile of `rows` rows, as they are in memory: with prefetch, the loads
// of the next step are in flight while this one is multiplied. Neighbouring threads load neighbouring words; a thread
// loads all words that share bytes. Rows and groups beyond the last are loaded as the last one, and not used. Rows are
// `stride` blocks apart, the blocks of a row block_stride.
template <class F, int rows, bool prefetch>
struct TileLoader {
  static constexpr int threads_per_row = groups_per_step * group_words / F::words_per_load,
                       row_step = mmq_threads / threads_per_row;
  static constexpr int groups_per_block = F::length / group_length;
  static constexpr bool shared_by_groups = F::length == super_block_length;
  // Words in halves take a register per half: only if the loads are prefetched.
  static constexpr int alignment = prefetch ? alignof(typename F::Block) : 4;
  Packed<alignment> packed[rows / row_step][F::words_per_load];

  static __device__ int group_of(int t, int k) {
    return shared_by_groups ? k : t % threads_per_row / (threads_per_row / groups_per_step);
  }
  static __device__ int word_of(int t, int k) {
    return shared_by_groups ? t % threads_per_row
                            : t % (threads_per_row / groups_per_step) + threads_per_row / groups_per_step * k;
  }

  __device__ void load(const typename F::Block *x, int last_row, int stride, int t, int group0, int last_group,
                       int block_stride = 1) {
    const int first_group = group0 + group_of(t, 0),
              group = shared_by_groups ? first_group : clamp_index(first_group, last_group);
    const int block_offset = group / groups_per_block * block_stride,
              first_index = t / threads_per_row * stride + block_offset, last_index = last_row * stride + block_offset;
#pragma unroll
    for (int p = 0; p < rows / row_step; ++p) {
      // With prefetch, the offsets of rows, which are loop-invariant, stay in registers; without, there are none left,
      // and everything is recomputed.
      const int row = clamp_index(t / threads_per_row + row_step * p, last_row) * stride;
      const typename F::Block &block =
          prefetch ? (x + block_offset)[row] : x[clamp_index(first_index + row_step * p * stride, last_index)];
#pragma unroll
      for (int k = 0; k < F::words_per_load; ++k) {
        const auto loaded =
            F::load_packed(block, (group + (shared_by_groups ? k : 0)) % groups_per_block, word_of(t, k));
        if constexpr (prefetch) {
          packed[p][k] = loaded;
        } else {
          packed[p][k] = {{loaded.low.word()}, {loaded.high.word()}};
        }
      }
    }
  }

  __device__ void store(TileRow *tile, int t, int group0) const {
#pragma unroll
    for (int p = 0; p < rows / row_step; ++p) {
#pragma unroll
      for (int k = 0; k < F::words_per_load; ++k) {
        const int group = group_of(t, k), word = word_of(t, k);
        tile[t / threads_per_row + row_step * p].quads[group][word / 4].word[word % 4] =
            F::unpack(packed[p][k].low.word(), packed[p][k].high.word(), (group0 + group) % groups_per_block, word);
      }
    }
  }
};

// The scales of the groups of a step.
template <class F, int rows>
struct GroupScales {
  static constexpr int row_step = mmq_threads / groups_per_step, groups_per_block = F::length / group_length;
  Scales scales[rows / row_step];

  __device__ void load(const typename F::Block *x, int last_row, int stride, int t, int group0, int last_group) {
    const int group = clamp_index(group0 + t % groups_per_step, last_group);
    x += group / groups_per_block;
#pragma unroll
    for (int p = 0; p < rows / row_step; ++p) {
      scales[p] =
          F::scales(x[clamp_index(t / groups_per_step + row_step * p, last_row) * stride], group % groups_per_block);
    }
  }

  __device__ void store(TileRow *tile, u32 *, int t, int) const {
#pragma unroll
    for (int p = 0; p < rows / row_step; ++p) {
      u32 *to = tile[t / groups_per_step + row_step * p].scales + 2 * (t % groups_per_step);
      to[0] = scales[p].dm;
      if constexpr (groups_per_block > 1) to[1] = scales[p].ab;
    }
  }

  static __device__ Scales get(const TileRow &row, const u32 *, int, int g) {
    return {row.scales[2 * g], groups_per_block > 1 ? row.scales[2 * g + 1] : 0};
  }
};

// The scales of a K-quant block, loaded with its first step, one row per thread.
template <class F>
struct BlockScales {
  u32 dm;
  PendingWord<alignof(typename F::Block)> words[4];

  __device__ void load(const typename F::Block *x, int last_row, int stride, int t, int group0, int) {
    if (group0 % 8 != 0) return;
    const typename F::Block &block = x[clamp_index(t, last_row) * stride + group0 / 8];
    dm = F::load_dm(block);
#pragma unroll
    for (int k = 0; k < 4; ++k) words[k] = F::load_scale_word(block, k);
  }

  __device__ void store(TileRow *tile, u32 *dms, int t, int group0) const {
    if (group0 % 8 != 0) return;
    u32 bytes[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) bytes[k] = words[k].word();
    F::decode_scales(bytes);
    dms[t] = dm;
#pragma unroll
    for (int k = 0; k < 4; ++k) tile[t].scales[k] = bytes[k];
  }

  static __device__ Scales get(const TileRow &row, const u32 *dm, int group0, int g) {
    return {*dm, F::scales_of_group(row.scales, (group0 + g) % 8)};
  }
};

template <bool scales_by_block, class F, int rows>
struct select_scales {
  using type = GroupScales<F, rows>;
};
template <class F, int rows>
struct select_scales<true, F, rows> {
  using type = BlockScales<F>;
};

// Stores d of the activations as f32, and s or the sums of halves: each of these is summed over four threads.
template <bool half_sums, int columns, bool prefetch>
__device__ inline void store_columns(TileRow *tile, const TileLoader<Q8_1, columns, prefetch> &words,
                                     const GroupScales<Q8_1, columns> &scales, int t) {
  using Loader = TileLoader<Q8_1, columns, prefetch>;
  constexpr int row_step = mmq_threads / groups_per_step;
#pragma unroll
  for (int p = 0; p < columns / row_step; ++p) {
    u32 *to = tile[t / groups_per_step + row_step * p].scales + 2 * (t % groups_per_step);
    to[0] = bit_cast<u32>(scales.scales[p].d());
    if constexpr (!half_sums) to[1] = bit_cast<u32>(scales.scales[p].m());
  }
  if constexpr (half_sums) {
#pragma unroll
    for (int p = 0; p < columns / Loader::row_step; ++p) {
      i32 sum = sum4(words.packed[p][0].low.word(), 0);
      sum += shuffle_xor<1>(sum);
      sum += shuffle_xor<2>(sum);
      const i32 other = shuffle_xor<4>(sum);
      u32 *to = tile[t / Loader::threads_per_row + Loader::row_step * p].scales + 2 * Loader::group_of(t, 0);
      if (t % group_words == 0) to[1] = u32(u16(sum)) | u32(other) << 16;
    }
  }
}

// Thread block (bx, by) of 32 x 4 threads computes rows bx * tile_rows.. of columns by * tile_columns.., each thread
// `rows` rows of them: LDS traffic is lowest if a thread has as many rows as columns, but rows cost registers. The
// result is dst[column * nrows_dst + row]. Where the length of a row is not a multiple of its step, Candle reads on
// into the next row and multiplies by activations of zero; here the step is shorter.
template <class F, int tile_columns, int tile_rows, int rows, bool prefetch>
__device__ CANDLE_FORCE_INLINE void mul_mat(const void *__restrict__ vx, const void *__restrict__ vy,
                                            f32 *__restrict__ dst, int ncols_x, int nrows_x, int ncols_y, int nrows_y,
                                            int nrows_dst) {
  constexpr bool scales_by_block = F::length == super_block_length && tile_rows == mmq_threads;
  constexpr int row_threads = tile_rows / rows, column_threads = mmq_threads / row_threads;
  constexpr int columns = tile_columns / column_threads, matrix_groups = F::matrix_groups;
  using WeightScales = typename select_scales<scales_by_block, F, tile_rows>::type;
  __shared__ TileRow tile_x[tile_rows], tile_y[tile_columns];
  __shared__ u32 dms[scales_by_block ? tile_rows : 1];
  const int thread = 32 * threadIdx.y + threadIdx.x, tx = thread % row_threads, ty = thread / row_threads;
  const int row0 = blockIdx.x * tile_rows, column0 = blockIdx.y * tile_columns;
  const int stride_x = ncols_x / F::length, stride_y = nrows_y / group_length;
  const auto *x = static_cast<const typename F::Block *>(vx) + i64(row0) * stride_x;
  const auto *y = static_cast<const BlockQ8_1 *>(vy) + i64(column0) * stride_y;
  const int used_columns = clamp_index(ncols_y - column0, tile_columns);
  const int groups = ncols_x / group_length;
  TileLoader<F, tile_rows, prefetch> weights;
  TileLoader<Q8_1, tile_columns, prefetch> activations;
  WeightScales weight_scales;
  GroupScales<Q8_1, tile_columns> activation_scales;
  const auto load = [&](int group0, int t) {
    weights.load(x, nrows_x - 1 - row0, stride_x, t, group0, groups - 1);
    if constexpr (!scales_by_block) weight_scales.load(x, nrows_x - 1 - row0, stride_x, t, group0, groups - 1);
    activations.load(y, used_columns - 1, stride_y, t, group0, groups - 1);
    activation_scales.load(y, used_columns - 1, stride_y, t, group0, groups - 1);
  };
  if (prefetch && groups > 0) load(0, thread);
  f32 acc[rows][columns] = {};
  for (int group0 = 0; group0 < groups; group0 += groups_per_step) {
    const int groups_in_step = clamp_index(groups - group0, groups_per_step);
    // Where registers are few, offsets that depend on the thread are recomputed, not kept during the multiplication.
    const int t = !prefetch || target::few_registers ? target::rematerialize(thread) : thread;
    if (!prefetch) load(group0, t);
    // Not prefetched: needed in every fourth step only, and registers until then would cost more than waiting.
    if constexpr (scales_by_block) weight_scales.load(x, nrows_x - 1 - row0, stride_x, t, group0, groups - 1);
    __syncthreads();
    weights.store(tile_x, t, group0);
    weight_scales.store(tile_x, dms, t, group0);
    activations.store(tile_y, t, group0);
    store_columns<F::uses_sums && F::has_half_scales>(tile_y, activations, activation_scales, t);
    __syncthreads();
    if (prefetch) load(group0 + groups_per_step < groups ? group0 + groups_per_step : group0, t);
#pragma unroll 1
    for (int g = 0; g < groups_in_step; g += matrix_groups) {
      Quad weight_quads[rows][matrix_groups][2];
      Scales scales[rows][matrix_groups];
#pragma unroll
      for (int i = 0; i < rows; ++i) {
        const TileRow &row = tile_x[tx + row_threads * i];
#pragma unroll
        for (int s = 0; s < matrix_groups; ++s) {
          weight_quads[i][s][0] = row.quads[g + s][0];
          weight_quads[i][s][1] = row.quads[g + s][1];
          scales[i][s] = WeightScales::get(row, dms + (scales_by_block ? tx + row_threads * i : 0), group0, g + s);
        }
      }
      CANDLE_UNROLL_COLUMNS
      for (int j = 0; j < columns; ++j) {
        // Not on a GPU: a branch per column costs registers, and computing an unused column costs nothing.
        if (!target::on_gpu && column_threads * j >= used_columns) break;
        const TileRow &column = tile_y[ty + column_threads * j];
        Quad column_quads[matrix_groups][2];
        u32 d[matrix_groups], s_or_sums[matrix_groups];
#pragma unroll
        for (int s = 0; s < matrix_groups; ++s) {
          column_quads[s][0] = column.quads[g + s][0];
          column_quads[s][1] = column.quads[g + s][1];
          d[s] = column.scales[2 * (g + s)];
          s_or_sums[s] = column.scales[2 * (g + s) + 1];
        }
#pragma unroll
        for (int i = 0; i < rows; ++i) {
          MatrixSums sums[matrix_groups];
#pragma unroll
          for (int s = 0; s < matrix_groups; ++s) {
            sums[s].low = dot16(weight_quads[i][s][0], column_quads[s][0], 0);
            (F::has_half_scales ? sums[s].high : sums[s].low) =
                dot16(weight_quads[i][s][1], column_quads[s][1], F::has_half_scales ? 0 : sums[s].low);
            sums[s].sum_low = i32(s_or_sums[s] << 16) >> 16;
            sums[s].sum_high = i32(s_or_sums[s]) >> 16;
            sums[s].d = bit_cast<f32>(d[s]);
            sums[s].s = bit_cast<f32>(s_or_sums[s]);
          }
          acc[i][j] = F::accumulate_matrix(acc[i][j], scales[i], sums);
          // Without the barrier the loads of all columns are hoisted, and hundreds of registers spill.
          target::optimization_barrier(acc[i][j]);
        }
      }
    }
  }
  CANDLE_UNROLL_COLUMNS
  for (int j = 0; j < columns; ++j) {
    const int column = column0 + ty + column_threads * j;
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      const int row = row0 + tx + row_threads * i;
      if (column < ncols_y && row < nrows_dst) dst[i64(column) * nrows_dst + row] = acc[i][j];
    }
  }
}

// Whether the loads of the next step are in flight while one is multiplied. In a large grid other blocks multiply
// meanwhile; where that is faster on NVIDIA GPUs, only small grids prefetch.
enum class Prefetch { never, small_grids, always };

template <class F, int tile_columns, int tile_rows, int rows, Prefetch prefetch, class... Arguments>
__device__ CANDLE_FORCE_INLINE void mul_mat(Arguments... arguments) {
  if constexpr (prefetch == Prefetch::small_grids && target::on_gpu && !target::on_amd) {
    if (gridDim.x * gridDim.y > blocks_to_fill_gpu)
      return mul_mat<F, tile_columns, tile_rows, rows, false>(arguments...);
  }
  mul_mat<F, tile_columns, tile_rows, rows, prefetch != Prefetch::never>(arguments...);
}

}  // namespace candle
