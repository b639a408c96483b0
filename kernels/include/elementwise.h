// out[i] = op(in0[i], in1[i], ...) over strided inputs: the body of every elementwise kernel.
//
// Four ways, the first that fits: all inputs contiguous; the rows of each contiguous or one value; an input transposed,
// through a tile in LDS; anything else, element by element.
#pragma once

#include "strided.h"

namespace candle {

// Elements per thread and step: 16 bytes of the widest operand, at most what the operation allows. An operation that
// sets a limit has long code; two of it for two f64 would cost registers and save no memory transaction.
constexpr int pack_width(int most, size_t widest) {
  if (most < default_max_per_thread && widest == 8) return 1;
  return most < int(16 / widest) ? most : int(16 / widest);
}

constexpr u32 log2_of(u32 power) { return power > 1 ? 1 + log2_of(power / 2) : 0; }

template <class... T>
constexpr size_t widest_of() {
  size_t widest = 1;
  ((widest = sizeof(T) > widest ? sizeof(T) : widest), ...);
  return widest;
}

template <class Op, int N, class Out, class... In>
__device__ inline Pack<Out, N> apply_pack(const Op &op, const Pack<In, N> &...in) {
  Pack<Out, N> result;
#pragma unroll
  for (int k = 0; k < N; ++k) result.at[k] = op(in.at[k]...);
  return result;
}

template <int... K>
struct Indices {};
template <int N>
struct first_indices;
template <>
struct first_indices<1> {
  using type = Indices<0>;
};
template <>
struct first_indices<2> {
  using type = Indices<0, 1>;
};
template <>
struct first_indices<3> {
  using type = Indices<0, 1, 2>;
};

// ---- contiguous

template <int width, class Op, class Out, class... In>
__device__ CANDLE_FORCE_INLINE void map_pack(size_t p, const Op &op, Out *out, const In *...in) {
  *reinterpret_cast<Pack<Out, width> *>(out + p * width) =
      apply_pack<Op, width, Out, In...>(op, load_pack<width>(in + p * width)...);
}

template <int width, class Op, class Out, class... In>
__device__ CANDLE_FORCE_INLINE void map_packs(size_t numel, const Part &part, const Op &op, Out *out, const In *...in) {
  const size_t packs = numel / width;
  for (size_t p = part.first(); p < packs; p += part.step()) map_pack<width>(p, op, out, in...);
  for (size_t i = packs * width + part.first(); i < numel; i += part.step()) out[i] = op(in[i]...);
}

// ---- strided: one thread of a block finds out how, for all

// Along the last dimension, input k is contiguous (bit k of `moving`) or does not move, and packs lie in one row; or
// input k is contiguous along dimension `rows_dim` (bit k of `transposed`).
template <int N>
struct Plan {
  Strides<N> strides;
  u32 moving, transposed, rows_dim, tiles, side;
  size_t out_row;  // the output's stride along rows_dim
  bool flat, rows;
};

// Tiles of 8 KB or 16 KB: two thread blocks have room in any target's LDS.
template <size_t widest>
constexpr u32 side_of_tile = widest == 8 ? 32 : 64;
constexpr u32 tile_threads = 1024;
constexpr u32 least_tiled = 16;

// Whether rows are made of packs of `width` elements.
template <int N>
__device__ inline void find_rows(Plan<N> &plan, u32 width) {
  const u32 inner = plan.strides.dims - 1;
  plan.rows = (plan.strides.size[inner].size & (width - 1)) == 0;
  for (int k = 0; k < N; ++k) {
    const size_t *strides = plan.strides.at[k];
    if (strides[inner] == 0) continue;
    plan.moving |= 1u << k;
    size_t any = 0;
    for (u32 d = 0; d < inner; ++d) any |= strides[d];
    plan.rows = plan.rows && strides[inner] == 1 && (any & (width - 1)) == 0;
  }
}

template <int N>
__device__ inline void find_tiles(Plan<N> &plan) {
  const Strides<N> &s = plan.strides;
  const u32 inner = s.dims - 1;
  if (s.size[inner].size < least_tiled) return;
  for (int k = 0; k < N; ++k) {
    if (s.at[k][inner] <= 1) continue;
    if (plan.transposed) {
      plan.transposed |= u32(s.at[k][plan.rows_dim] == 1) << k;
      continue;
    }
    for (u32 d = 0; d < inner; ++d) {
      if (s.at[k][d] != 1 || s.size[d].size < least_tiled) continue;
      plan.rows_dim = d;
      plan.transposed = 1u << k;
      break;
    }
  }
}

template <int N>
__device__ inline void count_tiles(Plan<N> &plan) {
  const Strides<N> &s = plan.strides;
  plan.tiles = 1;
  plan.out_row = 1;
  for (u32 d = 0; d < s.dims; ++d) {
    const u32 size = s.size[d].size;
    plan.tiles *= d == plan.rows_dim || d == s.dims - 1 ? (size + plan.side - 1) / plan.side : size;
    if (d > plan.rows_dim) plan.out_row *= size;
  }
}

template <int N>
__device__ CANDLE_SHARED_HELPER void make_plan(size_t numel, size_t num_dims, const size_t *info, u32 width, u32 side,
                                               Plan<N> &plan) {
  plan.side = side;
  plan.moving = plan.transposed = plan.rows_dim = 0;
  plan.rows = false;
  plan.flat = width > 1 && is_contiguous<N>(num_dims, info);  // else one way more is only code
  if (plan.flat) return;
  merge_dims<N>(numel, num_dims, info, plan.strides);
  if (plan.strides.dims == 0 || plan.strides.dims > Strides<N>::most) return;
  if (width > 1) find_rows(plan, width);
  if (!plan.rows && blockDim.x == tile_threads) find_tiles(plan);
  if (plan.transposed) count_tiles(plan);
}

template <int width, class T>
__device__ inline Pack<T, width> load_row_pack(const T *p, bool moving) {
  if (moving) return load_pack<width>(p);
  const T value = *p;
  Pack<T, width> result;
#pragma unroll
  for (int k = 0; k < width; ++k) result.at[k] = value;
  return result;
}

template <int width, class Op, class Out, class... In, int... K>
__device__ CANDLE_FORCE_INLINE void map_rows(Indices<K...>, size_t numel, const Part &part,
                                             const Plan<sizeof...(In)> &plan, const Op &op, Out *out, const In *...in) {
  const u32 packs = u32(numel / width), step = u32(part.step()), moving = plan.moving;
  for (u32 p = u32(part.first()); p < packs; p += step) {
    const auto where = plan.strides.offsets(p * width);
    *reinterpret_cast<Pack<Out, width> *>(out + p * width) =
        apply_pack<Op, width, Out, In...>(op, load_row_pack<width>(in + where.at[K], moving >> K & 1)...);
  }
}

// ---- tiles: an input whose neighbours in memory lie along another dimension than the output's

// Where a tile begins, in the output and in each input, and where in its dimensions.
template <int N>
struct Tile {
  size_t out;
  size_t in[N];
  u32 row, column;
};

template <int N>
__device__ CANDLE_SHARED_HELPER void start_tile(u32 index, const Plan<N> &plan, Tile<N> &tile) {
  const Strides<N> &s = plan.strides;
  size_t out_stride = 1;
  tile.out = 0;
  for (int k = 0; k < N; ++k) tile.in[k] = 0;
  for (u32 d = s.dims; d-- > 0;) {
    const bool is_column = d == s.dims - 1, is_row = d == plan.rows_dim;
    const u32 size = s.size[d].size, pieces = is_column || is_row ? (size + plan.side - 1) / plan.side : size;
    const u32 rest = index / pieces;
    const u32 first = (index - rest * pieces) * (is_column || is_row ? plan.side : 1);
    index = rest;
    if (is_column) tile.column = first;
    if (is_row) tile.row = first;
    tile.out += first * out_stride;
    out_stride *= size;
    for (int k = 0; k < N; ++k) tile.in[k] += first * s.at[k][d];
  }
}

// Element (row, column) of a tile in LDS. Columns change their order from row to row, so that the elements of a column
// lie in different banks of four bytes.
template <u32 side, class T>
__device__ inline u32 in_lds(u32 row, u32 column) {
  return row * side + (column ^ (row * (sizeof(T) < 4 ? 4 / sizeof(T) : 1) & (side - 1)));
}

// A thread's elements of one input: column t % side of rows t / side + k * step. Transposed ones are read along their
// own rows, and change places in LDS.
template <u32 side, u32 held, class T>
__device__ inline void load_tile(T (&values)[held], T *lds, const T *in, size_t row, size_t column, u32 rows,
                                 u32 columns, bool transposed) {
  constexpr u32 step = tile_threads / side;
  const u32 x = threadIdx.x % side, y = threadIdx.x / side;
  const u32 inner = transposed ? rows : columns, outer = transposed ? columns : rows;
  const T *p = in + (transposed ? x * row + y * column : y * row + x * column);
  const size_t next = step * (transposed ? column : row);
#pragma unroll
  for (u32 k = 0; k < held; ++k) {
    if (x < inner && y + k * step < outer) values[k] = p[k * next];
  }
  if (!transposed) return;
  __syncthreads();
#pragma unroll
  for (u32 k = 0; k < held; ++k) lds[in_lds<side, T>(y + k * step, x)] = values[k];
  __syncthreads();
#pragma unroll
  for (u32 k = 0; k < held; ++k) values[k] = lds[in_lds<side, T>(x, y + k * step)];
}

template <u32 held, class... T>
struct TileValues;
template <u32 held>
struct TileValues<held> {};
template <u32 held, class T, class... More>
struct TileValues<held, T, More...> {
  T own[held];
  TileValues<held, More...> more;
};

template <int k, u32 held, class T, class... More>
__device__ inline auto &values_of(TileValues<held, T, More...> &values) {
  if constexpr (k == 0) {
    return values.own;
  } else {
    return values_of<k - 1>(values.more);
  }
}

// For blocks of tile_threads, each of which takes tiles that follow each other.
template <class Op, class Out, class... In, int... K>
__device__ CANDLE_FORCE_INLINE void map_tiles(Indices<K...>, const Part &part, const Plan<sizeof...(In)> &plan,
                                              const Op &op, Out *out, const In *...in) {
  constexpr u32 side = side_of_tile<widest_of<In...>()>, step = tile_threads / side, held = side / step;
  __shared__ u64 lds[side * side * widest_of<In...>() / 8];
  const auto &s = plan.strides;
  const u32 columns_dim = s.dims - 1, rows_dim = plan.rows_dim;
  const u32 rows = s.size[rows_dim].size, columns = s.size[columns_dim].size;
  const u32 per_block = (plan.tiles + part.blocks - 1) / part.blocks;
  const u32 first = part.block * per_block, rest = first < plan.tiles ? plan.tiles - first : 0;
  const u32 count = rest < per_block ? rest : per_block;
  const u32 x = threadIdx.x % side, y = threadIdx.x / side;
  Tile<sizeof...(In)> tile;
  tile.column = columns;
  for (u32 i = 0; i < count; ++i) {
    if (tile.column >= columns) start_tile(first + i, plan, tile);
    TileValues<held, In...> values;
    (load_tile<side>(values_of<K>(values), reinterpret_cast<In *>(lds), in + tile.in[K], s.at[K][rows_dim],
                     s.at[K][columns_dim], rows - tile.row, columns - tile.column, plan.transposed >> K & 1),
     ...);
    Out *p = out + (tile.out + y * plan.out_row + x);
#pragma unroll
    for (u32 k = 0; k < held; ++k) {
      if (tile.row + y + k * step < rows && tile.column + x < columns) {
        p[k * step * plan.out_row] = op(values_of<K>(values)[k]...);
      }
    }
    tile.column += side;
    tile.out += side;
    ((tile.in[K] += side * s.at[K][columns_dim]), ...);
  }
}

// ---- any strides

template <class Op, class Out, class... In, int... K>
__device__ CANDLE_FORCE_INLINE void map_elements(Indices<K...>, size_t numel, size_t num_dims,
                                                 const size_t *__restrict__ info, const Part &part,
                                                 const Plan<sizeof...(In)> &plan, const Op &op, Out *out,
                                                 const In *...in) {
  const bool ready = plan.strides.dims <= Strides<sizeof...(In)>::most;
  for (size_t i = part.first(); i < numel; i += part.step()) {
    const auto where = ready ? plan.strides.offsets(u32(i)) : offsets<sizeof...(In)>(i, num_dims, info, true);
    out[i] = op(in[where.at[K]]...);
  }
}

// An operation whose code is too long to be in every loop: constants for which an AMD GPU has not enough scalar
// registers, and on NVIDIA GPUs what a library's subroutine has to save.
template <class Op>
struct Apart {
  Op op;

  template <class... T>
  __device__ CANDLE_NOINLINE_GPU auto operator()(T... x) const {
    return op(x...);
  }
};

// Anything but a thread per element of contiguous tensors. Only for blocks that have something to do: the call costs.
template <int width, class Op, class Out, class... In>
__device__ CANDLE_NOINLINE_NVIDIA void map_any(const Part part, size_t numel, size_t num_dims,
                                               const size_t *__restrict__ info, const Op op, Out *out,
                                               const In *...in) {
  constexpr int inputs = sizeof...(In);
  using Each = typename first_indices<inputs>::type;
  const bool aligned = is_aligned<width>(out) && (is_aligned<width>(in) && ...);
  if (!info && (width == 1 || !aligned)) {
    for (size_t i = part.first(); i < numel; i += part.step()) out[i] = op(in[i]...);
    return;
  }
  __shared__ Plan<inputs> plan;
  if (threadIdx.x == 0)
    make_plan<inputs>(numel, num_dims, info, aligned ? width : 1, side_of_tile<widest_of<In...>()>, plan);
  __syncthreads();
  if (width > 1 && plan.flat) {
    map_packs<width>(numel, part, op, out, in...);
  } else if (width > 1 && plan.rows) {
    map_rows<width>(Each{}, numel, part, plan, op, out, in...);
  } else if (plan.transposed) {
    map_tiles(Each{}, part, plan, op, out, in...);
  } else {
    map_elements(Each{}, numel, num_dims, info, part, plan, op, out, in...);
  }
}

// `info` is dims, then the strides of each input in order; null when all are contiguous. Op::most_per_thread bounds
// the elements that a thread takes at a time, which a library function would otherwise unroll eight times.
template <class Op, class Out, class... In>
__device__ inline void map(size_t numel, size_t num_dims, const size_t *__restrict__ info, const Op &op, Out *out,
                           const In *...in) {
  constexpr int width = pack_width(Op::max_per_thread, widest_of<Out, In...>());
  if (info || thread_count() < numel) {
    const u32 few = shift_for_few_active_blocks(numel);
    if (numel == 0 || is_idle_block(few)) return;
    if constexpr (Op::max_per_thread < default_max_per_thread && width == 1) {
      return map_any<width>(active_grid(few), numel, num_dims, info, Apart<Op>{op}, out, in...);
    } else {
      return map_any<width>(active_grid(few), numel, num_dims, info, op, out, in...);
    }
  }
  // As Candle launches: no loops. A block has a thread for each element after the last whole pack.
  if (width == 1 || blockDim.x < width || !is_aligned<width>(out) || !(is_aligned<width>(in) && ...)) {
    const size_t i = thread_index();
    if (i < numel) out[i] = op(in[i]...);
    return;
  }
  constexpr u32 shift = log2_of(width);
  if (is_idle_block(shift)) return;
  const size_t packs = numel / width, p = active_grid(shift).first(), rest = packs * width + p;
  if (p < packs) map_pack<width>(p, op, out, in...);
  if (rest < numel) out[rest] = op(in[rest]...);
}

}  // namespace candle
