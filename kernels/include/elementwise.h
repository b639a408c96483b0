// out[i] = op(in0[i], in1[i], ...) over strided inputs: the body of every elementwise kernel.
//
// There are four paths, of which the first applicable one is taken: all inputs are contiguous (contiguous.h); the rows
// of each are contiguous or broadcast; an input is transposed, and goes through a tile in LDS; anything else, element
// by element.
#pragma once

#include "contiguous.h"

namespace candle {

template <int... K>
struct IndexSequence {};
template <int N>
struct make_index_sequence;
template <>
struct make_index_sequence<1> {
  using type = IndexSequence<0>;
};
template <>
struct make_index_sequence<2> {
  using type = IndexSequence<0, 1>;
};
template <>
struct make_index_sequence<3> {
  using type = IndexSequence<0, 1, 2>;
};

// ---- one thread of each block chooses the path for all

// Along the last dimension, input k is contiguous (bit k of `varying` is set) or broadcast, and no pack crosses the end
// of a row, unless it is the only one; or input k is contiguous along dimension `rows_dim` (bit k of `transposed`).
template <int N>
struct Plan {
  Strides<N> strides;
  u32 varying, transposed, rows_dim, tile_count, tile_side;
  size_t out_row;  // the output's stride along rows_dim
  bool contiguous, packed_rows;
};

// Tiles of 8 KB or 16 KB: the tiles of two blocks fit in any target's LDS.
template <size_t widest>
constexpr u32 tile_side_for = widest == 8 ? 32 : 64;
constexpr u32 tile_threads = 1024;
constexpr u32 min_tiled_size = 16;

// Whether every row is a whole number of packs of `width` elements, in all inputs, or there is only one.
template <int N>
__device__ inline void find_packed_rows(Plan<N> &plan, u32 width) {
  const u32 inner = plan.strides.dims - 1;
  plan.packed_rows = inner == 0 || (plan.strides.size[inner].size & (width - 1)) == 0;
  for (int k = 0; k < N; ++k) {
    const size_t *strides = plan.strides.stride[k];
    if (strides[inner] == 0) continue;
    plan.varying |= 1u << k;
    size_t all_strides = 0;
#pragma unroll 1
    for (u32 d = 0; d < inner; ++d) all_strides |= strides[d];
    plan.packed_rows = plan.packed_rows && strides[inner] == 1 && (all_strides & (width - 1)) == 0;
  }
}

template <int N>
__device__ inline void find_transposed_inputs(Plan<N> &plan) {
  const Strides<N> &s = plan.strides;
  const u32 inner = s.dims - 1;
  if (s.size[inner].size < min_tiled_size) return;
  u32 transposed = 0, rows_dim = 0;
  for (int k = 0; k < N; ++k) {
    if (s.stride[k][inner] <= 1) continue;
    if (transposed) {
      transposed |= u32(s.stride[k][rows_dim] == 1) << k;
      continue;
    }
#pragma unroll 1
    for (u32 d = 0; d < inner; ++d) {
      if (s.stride[k][d] != 1 || s.size[d].size < min_tiled_size) continue;
      rows_dim = d;
      transposed = 1u << k;
      break;
    }
  }
  plan.transposed = transposed;
  plan.rows_dim = rows_dim;
}

template <int N>
__device__ inline void count_tiles(Plan<N> &plan) {
  const Strides<N> &s = plan.strides;
  plan.tile_count = 1;
  plan.out_row = 1;
#pragma unroll 1
  for (u32 d = 0; d < s.dims; ++d) {
    const u32 size = s.size[d].size;
    plan.tile_count *= d == plan.rows_dim || d == s.dims - 1 ? (size + plan.tile_side - 1) / plan.tile_side : size;
    if (d > plan.rows_dim) plan.out_row *= size;
  }
}

template <bool finds_contiguous, int N>
__device__ CANDLE_SHARED_HELPER void make_plan(size_t numel, size_t num_dims, const size_t *info, u32 width, u32 side,
                                               Plan<N> &plan) {
  plan.tile_side = side;
  plan.varying = plan.transposed = plan.rows_dim = 0;
  plan.packed_rows = false;
  plan.contiguous = finds_contiguous && width > 1 && is_contiguous<N>(num_dims, info);
  if (plan.contiguous) return;
  merge_dims<N>(numel, num_dims, info, plan.strides);
  if (plan.strides.dims == 0 || plan.strides.dims > Strides<N>::max_dims) return;
  if (width > 1) find_packed_rows(plan, width);
  if (!plan.packed_rows && blockDim.x == tile_threads) find_transposed_inputs(plan);
  if (plan.transposed) count_tiles(plan);
}

template <int width, class T>
__device__ inline Pack<T, width> load_row_pack(const T *p, bool varying) {
  if (varying) return load_pack<width>(p);
  const T value = *p;
  Pack<T, width> result;
#pragma unroll
  for (int k = 0; k < width; ++k) result.data[k] = value;
  return result;
}

template <int width, class Op, class Out, class... In, int... K>
__device__ CANDLE_FORCE_INLINE void map_rows(IndexSequence<K...>, size_t numel, const ActiveGrid &grid,
                                             const Plan<sizeof...(In)> &plan, const Op &op, Out *out, const In *...in) {
  const u32 packs = u32(numel / width), step = u32(grid.step()), varying = plan.varying;
  for (u32 p = u32(grid.first()); p < packs; p += step) {
    CANDLE_ASSUME(plan.strides.dims > 0);
    const auto offset = plan.strides.offsets(p * width);
    store_pack(out + p * width, apply_pack<Op, width, Out, In...>(
                                    op, load_row_pack<width>(in + offset.operand[K], varying >> K & 1)...));
  }
  const u32 i = packs * width + u32(grid.first());  // the last elements of a single row: a block has a thread for each
  if (i < numel) out[i] = op(in[varying >> K & 1 ? i : 0]...);
}

// ---- tiles: for inputs that are contiguous along another dimension than the output

// Where a tile begins: offsets in the output and in each input, and row and column in the two tiled dimensions.
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
  u32 d = s.dims;  // two or more
#pragma unroll 1
  do {
    --d;
    const bool is_column = d == s.dims - 1, is_row = d == plan.rows_dim;
    const u32 size = s.size[d].size,
              tiles_along_dim = is_column || is_row ? (size + plan.tile_side - 1) / plan.tile_side : size;
    const u32 rest = index / tiles_along_dim;
    const u32 first = (index - rest * tiles_along_dim) * (is_column || is_row ? plan.tile_side : 1);
    index = rest;
    if (is_column) tile.column = first;
    if (is_row) tile.row = first;
    tile.out += first * out_stride;
    out_stride *= size;
    for (int k = 0; k < N; ++k) tile.in[k] += first * s.stride[k][d];
  } while (d > 0);
}

// The index in LDS of element (row, column) of a tile. Columns are permuted differently in each row (XOR swizzle), so
// that the elements of a column are in different 4-byte banks.
template <u32 side, class T>
__device__ inline u32 lds_index(u32 row, u32 column) {
  return row * side + (column ^ (row * (sizeof(T) < 4 ? 4 / sizeof(T) : 1) & (side - 1)));
}

// A thread's elements of one input: column t % side of rows t / side + k * step. Transposed inputs are read along their
// own rows, and transposed through LDS.
template <u32 side, u32 per_thread, class T>
__device__ inline void load_tile(T (&values)[per_thread], T *lds, const T *in, size_t row, size_t column, u32 rows,
                                 u32 columns, bool transposed) {
  constexpr u32 step = tile_threads / side;
  const u32 x = threadIdx.x % side, y = threadIdx.x / side;
  const u32 inner = transposed ? rows : columns, outer = transposed ? columns : rows;
  const T *p = in + (transposed ? x * row + y * column : y * row + x * column);
  const size_t next = step * (transposed ? column : row);
#pragma unroll
  for (u32 k = 0; k < per_thread; ++k) {
    if (x < inner && y + k * step < outer) values[k] = p[k * next];
  }
  if (!transposed) return;
  __syncthreads();
#pragma unroll
  for (u32 k = 0; k < per_thread; ++k) lds[lds_index<side, T>(y + k * step, x)] = values[k];
  __syncthreads();
#pragma unroll
  for (u32 k = 0; k < per_thread; ++k) values[k] = lds[lds_index<side, T>(x, y + k * step)];
}

template <u32 per_thread, class... T>
struct TileValues;
template <u32 per_thread>
struct TileValues<per_thread> {};
template <u32 per_thread, class T, class... More>
struct TileValues<per_thread, T, More...> {
  T values[per_thread];
  TileValues<per_thread, More...> more;
};

template <int k, u32 per_thread, class T, class... More>
__device__ inline auto &values_of_input(TileValues<per_thread, T, More...> &values) {
  if constexpr (k == 0) {
    return values.values;
  } else {
    return values_of_input<k - 1>(values.more);
  }
}

// For blocks of tile_threads threads; each block processes consecutive tiles.
template <class Op, class Out, class... In, int... K>
__device__ CANDLE_FORCE_INLINE void map_tiles(IndexSequence<K...>, const ActiveGrid &grid,
                                              const Plan<sizeof...(In)> &plan, const Op &op, Out *out,
                                              const In *...in) {
  constexpr u32 side = tile_side_for<widest_of<In...>()>, step = tile_threads / side, per_thread = side / step;
  __shared__ u64 lds[side * side * widest_of<In...>() / 8];
  const auto &s = plan.strides;
  const u32 columns_dim = s.dims - 1, rows_dim = plan.rows_dim;
  const u32 rows = s.size[rows_dim].size, columns = s.size[columns_dim].size;
  const u32 per_block = (plan.tile_count + grid.blocks - 1) / grid.blocks;
  const u32 first = grid.block * per_block, rest = first < plan.tile_count ? plan.tile_count - first : 0;
  const u32 count = rest < per_block ? rest : per_block;
  const u32 x = threadIdx.x % side, y = threadIdx.x / side;
  Tile<sizeof...(In)> tile;
  tile.column = columns;
  for (u32 i = 0; i < count; ++i) {
    if (tile.column >= columns) start_tile(first + i, plan, tile);
    TileValues<per_thread, In...> values;
    (load_tile<side>(values_of_input<K>(values), reinterpret_cast<In *>(lds), in + tile.in[K], s.stride[K][rows_dim],
                     s.stride[K][columns_dim], rows - tile.row, columns - tile.column, plan.transposed >> K & 1),
     ...);
    Out *p = out + (tile.out + y * plan.out_row + x);
#pragma unroll
    for (u32 k = 0; k < per_thread; ++k) {
      if (tile.row + y + k * step < rows && tile.column + x < columns) {
        p[k * step * plan.out_row] = op(values_of_input<K>(values)[k]...);
      }
    }
    tile.column += side;
    tile.out += side;
    ((tile.in[K] += side * s.stride[K][columns_dim]), ...);
  }
}

// ---- any strides

template <class Op, class Out, class... In, int... K>
__device__ CANDLE_FORCE_INLINE void map_elements(IndexSequence<K...>, size_t numel, size_t num_dims,
                                                 const size_t *__restrict__ info, const ActiveGrid &grid,
                                                 const Plan<sizeof...(In)> &plan, const Op &op, Out *out,
                                                 const In *...in) {
  const bool has_strides = plan.strides.dims <= Strides<sizeof...(In)>::max_dims;
  for (size_t i = grid.first(); i < numel; i += grid.step()) {
    const auto offset = has_strides ? plan.strides.offsets(u32(i)) : offsets<sizeof...(In)>(i, num_dims, info, true);
    out[i] = op(in[offset.operand[K]]...);
  }
}

// An operation with too much code to be inlined into every loop: its constants exceed the scalar registers of AMD GPUs,
// and on NVIDIA GPUs calls of library subroutines have to save registers.
template <class Op>
struct OutOfLine {
  Op op;

  template <class... T>
  __device__ CANDLE_NOINLINE_GPU auto operator()(T... x) const {
    return op(x...);
  }
};

template <bool is_long, class Op>
__device__ inline auto out_of_line_if(const Op &op) {
  if constexpr (is_long) {
    return OutOfLine<Op>{op};
  } else {
    return op;
  }
}

// Strided inputs. Blocks without work must not call this: the call is expensive.
template <int width, bool always_strides, class Op, class Out, class... In>
__device__ CANDLE_NOINLINE_NVIDIA void map_general(const ActiveGrid grid, size_t numel, size_t num_dims,
                                                   const size_t *__restrict__ info, const Op op, Out *out,
                                                   const In *...in) {
  constexpr int inputs = sizeof...(In);
  using AllInputs = typename make_index_sequence<inputs>::type;
  const bool packed = blockDim.x >= width && are_aligned<width>(out, in...);
  __shared__ Plan<inputs> plan;
  if (threadIdx.x == 0)
    make_plan<always_strides>(numel, num_dims, info, packed ? width : 1, tile_side_for<widest_of<In...>()>, plan);
  __syncthreads();
  if (always_strides && width > 1 && plan.contiguous) {
    map_packs<width>(numel, grid, op, out, in...);
  } else if (width > 1 && plan.packed_rows) {
    map_rows<width>(AllInputs{}, numel, grid, plan, op, out, in...);
  } else if (plan.transposed) {
    map_tiles(AllInputs{}, grid, plan, op, out, in...);
  } else {
    map_elements(AllInputs{}, numel, num_dims, info, grid, plan, op, out, in...);
  }
}

// `info` is dims, then the strides of each input in order; null if all are contiguous, but for a kernel to which Candle
// `always_strides` gives. With `in_place` a null input is the output, and contiguous. Op::max_per_thread limits the
// elements that a thread processes at a time: a library function would otherwise be unrolled eight times.
template <bool in_place = false, bool always_strides = false, class Op, class Out, class... In>
__device__ inline void map(size_t numel, size_t num_dims, const size_t *__restrict__ info, const Op &op, Out *out,
                           const In *...in) {
  constexpr int width = pack_width(Op::max_per_thread, widest_of<Out, In...>());
  constexpr bool is_long = Op::max_per_thread < default_max_per_thread && width == 1;
  const auto in_loops = out_of_line_if<is_long>(op);
  // Idle blocks of contiguous tensors are the fastest without a branch taken, which ptxas makes of two conditions.
  if (__builtin_expect(info && (in_place ? ((in != nullptr) && ...) : numel > 0), 0)) {
    if ((in_place && numel == 0) || is_idle_of_few()) return;
    return map_general<width, always_strides>(active_grid(shift_for_few_active_blocks()), numel, num_dims, info,
                                              in_loops, out, in...);
  }
  map_contiguous<width, in_place>(numel, op, in_loops, out, in...);
}

}  // namespace candle
