// Quantized weights times a quantized matrix, in tiles. Every result is a sum over the groups of a row in order, as in
// Candle, so that how a tile is cut into steps and threads does not show.
#pragma once

#include "../shuffle.h"
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
// in different banks. The last has, of activations, d of each group and s or the sums of its halves, whichever the
// format uses; of weights the scales of each group, or, of K blocks, those of the whole block.
struct alignas(16) Step {
  Quad quads[step_groups][2];
  u32 scales[4];
};

struct Q8_1 : Format<Q8_1, BlockQ8_1> {
  static constexpr int length = 32, shares = 1;
  static __device__ const u8 *low(const Block &b, int, int word) { return b.qs + 4 * word; }
  static __device__ u32 unpacked(u32 low, u32, int, int) { return low; }
  static __device__ Scales scales(const Block &b, int) { return {load_word<4>(&b.d), 0}; }
};

__device__ inline int at_most(int i, int last) { return i < last ? i : last; }

// What a thread brings into one side of a tile of `rows` rows, as it is in memory: the loads of the next step are on
// their way while this one is multiplied. Threads side by side take words side by side, and those that share their
// bytes. A row or group that does not exist is the last one again, and no result has it.
template <class F, int rows, bool ahead>
struct Words {
  static constexpr int sharers = step_groups * group_words / F::shares, apart = mmq_threads / sharers;
  static constexpr int in_block = F::length / group_length;
  // Halves of words take a register each: only where nothing must wait for them.
  static constexpr int alignment = ahead ? alignof(typename F::Block) : 4;
  Packed<alignment> packed[rows / apart][F::shares];

  static __device__ int group_of(int t, int k) { return in_block > 1 ? k : t % sharers / (sharers / step_groups); }
  static __device__ int word_of(int t, int k) {
    return in_block > 1 ? t % sharers : t % (sharers / step_groups) + sharers / step_groups * k;
  }

  __device__ void load(const typename F::Block *x, int last_row, int stride, int t, int group0, int last_group) {
    const int own = group0 + group_of(t, 0), group = in_block > 1 ? own : at_most(own, last_group);
    const int moved = group / in_block, from = t / sharers * stride + moved, last = last_row * stride + moved;
#pragma unroll
    for (int p = 0; p < rows / apart; ++p) {
      // The places of rows, which do not change, stay in registers; where there are none left, everything changes.
      const int row = at_most(t / sharers + apart * p, last_row) * stride;
      const typename F::Block &block = ahead ? (x + moved)[row] : x[at_most(from + apart * p * stride, last)];
#pragma unroll
      for (int k = 0; k < F::shares; ++k) {
        const auto found = F::packed(block, (group + (in_block > 1 ? k : 0)) % in_block, word_of(t, k));
        if constexpr (ahead) {
          packed[p][k] = found;
        } else {
          packed[p][k] = {{found.low.word()}, {found.high.word()}};
        }
      }
    }
  }

  __device__ void store(Step *tile, int t, int group0) const {
#pragma unroll
    for (int p = 0; p < rows / apart; ++p) {
#pragma unroll
      for (int k = 0; k < F::shares; ++k) {
        const int group = group_of(t, k), word = word_of(t, k);
        tile[t / sharers + apart * p].quads[group][word / 4].at[word % 4] =
            F::unpacked(packed[p][k].low.word(), packed[p][k].high.word(), (group0 + group) % in_block, word);
      }
    }
  }
};

// The scales of the groups of a step.
template <class F, int rows>
struct GroupScales {
  static constexpr int apart = mmq_threads / step_groups, in_block = F::length / group_length;
  Scales found[rows / apart];

  __device__ void load(const typename F::Block *x, int last_row, int stride, int t, int group0, int last_group) {
    const int group = at_most(group0 + t % step_groups, last_group);
    x += group / in_block;
#pragma unroll
    for (int p = 0; p < rows / apart; ++p) {
      found[p] = F::scales(x[at_most(t / step_groups + apart * p, last_row) * stride], group % in_block);
    }
  }

  __device__ void store(Step *tile, u32 *, int t, int) const {
#pragma unroll
    for (int p = 0; p < rows / apart; ++p) {
      u32 *to = tile[t / step_groups + apart * p].scales + 2 * (t % step_groups);
      to[0] = found[p].dm;
      if constexpr (in_block > 1) to[1] = found[p].ab;
    }
  }

  static __device__ Scales get(const Step &row, const u32 *, int, int g) {
    return {row.scales[2 * g], in_block > 1 ? row.scales[2 * g + 1] : 0};
  }
};

// The scales of a K block, with its first step: where every thread has a row.
template <class F>
struct BlockScales {
  u32 dm;
  Pending<alignof(typename F::Block)> words[4];

  __device__ void load(const typename F::Block *x, int last_row, int stride, int t, int group0, int) {
    if (group0 % 8 != 0) return;
    const typename F::Block &block = x[at_most(t, last_row) * stride + group0 / 8];
    dm = F::packed_scales(block);
#pragma unroll
    for (int k = 0; k < 4; ++k) words[k] = F::scale_word(block, k);
  }

  __device__ void store(Step *tile, u32 *dms, int t, int group0) const {
    if (group0 % 8 != 0) return;
    u32 bytes[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) bytes[k] = words[k].word();
    F::decode_scales(bytes);
    dms[t] = dm;
#pragma unroll
    for (int k = 0; k < 4; ++k) tile[t].scales[k] = bytes[k];
  }

  static __device__ Scales get(const Step &row, const u32 *dm, int group0, int g) {
    return {*dm, F::in_group(row.scales, (group0 + g) % 8)};
  }
};

template <bool by_block, class F, int rows>
struct scales_of {
  using type = GroupScales<F, rows>;
};
template <class F, int rows>
struct scales_of<true, F, rows> {
  using type = BlockScales<F>;
};

// d of activations as a number, and s or the sums of halves: over the four threads that have one.
template <bool half_sums, int columns, bool ahead>
__device__ inline void store_columns(Step *tile, const Words<Q8_1, columns, ahead> &words,
                                     const GroupScales<Q8_1, columns> &scales, int t) {
  using Side = Words<Q8_1, columns, ahead>;
  constexpr int apart = mmq_threads / step_groups;
#pragma unroll
  for (int p = 0; p < columns / apart; ++p) {
    u32 *to = tile[t / step_groups + apart * p].scales + 2 * (t % step_groups);
    to[0] = bit_cast<u32>(scales.found[p].d());
    if constexpr (!half_sums) to[1] = bit_cast<u32>(scales.found[p].m());
  }
  if constexpr (half_sums) {
#pragma unroll
    for (int p = 0; p < columns / Side::apart; ++p) {
      i32 sum = sum4(words.packed[p][0].low.word(), 0);
      sum += shuffle_xor<1>(sum);
      sum += shuffle_xor<2>(sum);
      const i32 other = shuffle_xor<4>(sum);
      u32 *to = tile[t / Side::sharers + Side::apart * p].scales + 2 * Side::group_of(t, 0);
      if (t % group_words == 0) to[1] = u32(u16(sum)) | u32(other) << 16;
    }
  }
}

__device__ inline i32 dot16(const Quad &a, const Quad &b, i32 sum) {
#pragma unroll
  for (int k = 0; k < 4; ++k) sum = dot4(a.at[k], b.at[k], sum);
  return sum;
}

// Block (bx, by) of 32 x 4 threads computes rows bx * tile_rows.. of columns by * tile_columns.., each thread those of
// `rows` rows: LDS is read the least where a thread has as many rows as columns, but rows cost registers.
// dst[column * nrows_dst + row]. Candle reads on into the next row where a row is no multiple of its step, times
// activations of zero; here the step is shorter.
template <class F, int tile_columns, int tile_rows, int rows, bool ahead>
__device__ CANDLE_FORCE_INLINE void mul_mat(const void *__restrict__ vx, const void *__restrict__ vy,
                                            f32 *__restrict__ dst, int ncols_x, int nrows_x, int ncols_y, int nrows_y,
                                            int nrows_dst) {
  constexpr bool by_block = F::length == super_length && tile_rows == mmq_threads;
  constexpr int row_threads = tile_rows / rows, column_threads = mmq_threads / row_threads;
  constexpr int columns = tile_columns / column_threads, span = F::span;
  using OwnScales = typename scales_of<by_block, F, tile_rows>::type;
  __shared__ Step tile_x[tile_rows], tile_y[tile_columns];
  __shared__ u32 dms[by_block ? tile_rows : 1];
  const int t = 32 * threadIdx.y + threadIdx.x, tx = t % row_threads, ty = t / row_threads;
  const int row0 = blockIdx.x * tile_rows, column0 = blockIdx.y * tile_columns;
  const int stride_x = ncols_x / F::length, stride_y = nrows_y / group_length;
  const auto *x = static_cast<const typename F::Block *>(vx) + i64(row0) * stride_x;
  const auto *y = static_cast<const BlockQ8_1 *>(vy) + i64(column0) * stride_y;
  const int used = at_most(ncols_y - column0, tile_columns);
  const int groups = ncols_x / group_length;
  Words<F, tile_rows, ahead> weights;
  Words<Q8_1, tile_columns, ahead> activations;
  OwnScales weight_scales;
  GroupScales<Q8_1, tile_columns> activation_scales;
  const auto load = [&](int group0) {
    weights.load(x, nrows_x - 1 - row0, stride_x, t, group0, groups - 1);
    if constexpr (!by_block) weight_scales.load(x, nrows_x - 1 - row0, stride_x, t, group0, groups - 1);
    activations.load(y, used - 1, stride_y, t, group0, groups - 1);
    activation_scales.load(y, used - 1, stride_y, t, group0, groups - 1);
  };
  if (ahead && groups > 0) load(0);
  f32 acc[rows][columns] = {};
  for (int group0 = 0; group0 < groups; group0 += step_groups) {
    const int here = at_most(groups - group0, step_groups);
    if (!ahead) load(group0);
    // Of every fourth step only: registers until then would cost more than waiting.
    if constexpr (by_block) weight_scales.load(x, nrows_x - 1 - row0, stride_x, t, group0, groups - 1);
    __syncthreads();
    weights.store(tile_x, t, group0);
    weight_scales.store(tile_x, dms, t, group0);
    activations.store(tile_y, t, group0);
    store_columns<F::uses_sums && F::halves>(tile_y, activations, activation_scales, t);
    __syncthreads();
    if (ahead) load(group0 + step_groups < groups ? group0 + step_groups : group0);
#pragma unroll 1
    for (int g = 0; g < here; g += span) {
      Quad own[rows][span][2];
      Scales scales[rows][span];
#pragma unroll
      for (int i = 0; i < rows; ++i) {
        const Step &row = tile_x[tx + row_threads * i];
#pragma unroll
        for (int s = 0; s < span; ++s) {
          own[i][s][0] = row.quads[g + s][0];
          own[i][s][1] = row.quads[g + s][1];
          scales[i][s] = OwnScales::get(row, dms + (by_block ? tx + row_threads * i : 0), group0, g + s);
        }
      }
      CANDLE_UNROLL_COLUMNS
      for (int j = 0; j < columns; ++j) {
        // On a GPU a branch for each column costs registers, and columns are free.
        if (!target::on_gpu && column_threads * j >= used) break;
        const Step &column = tile_y[ty + column_threads * j];
        Quad other[span][2];
        u32 d[span], extra[span];
#pragma unroll
        for (int s = 0; s < span; ++s) {
          other[s][0] = column.quads[g + s][0];
          other[s][1] = column.quads[g + s][1];
          d[s] = column.scales[2 * (g + s)];
          extra[s] = column.scales[2 * (g + s) + 1];
        }
#pragma unroll
        for (int i = 0; i < rows; ++i) {
          MatrixSums sums[span];
#pragma unroll
          for (int s = 0; s < span; ++s) {
            sums[s].low = dot16(own[i][s][0], other[s][0], 0);
            (F::halves ? sums[s].high : sums[s].low) = dot16(own[i][s][1], other[s][1], F::halves ? 0 : sums[s].low);
            sums[s].sum_low = i32(extra[s] << 16) >> 16;
            sums[s].sum_high = i32(extra[s]) >> 16;
            sums[s].d = bit_cast<f32>(d[s]);
            sums[s].s = bit_cast<f32>(extra[s]);
          }
          acc[i][j] = F::matrix(acc[i][j], scales[i], sums);
          target::optimization_barrier(
              acc[i][j]);  // else the loads of all columns come first, and hundreds of registers spill
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

}  // namespace candle
