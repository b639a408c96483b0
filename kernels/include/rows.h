// Rows of a strided tensor: the elements that one block reduces.
#pragma once

#include "elementwise.h"
#include "reduction.h"

namespace candle {

// Rows whose elements have one stride. Row r starts at r * row_stride, or, if outer_dims is not 0, at offset(r): then
// the outer dimensions have no common stride.
struct Rows {
  size_t stride;
  size_t row_stride;
  size_t outer_dims;

  // The offset in the first outer_dims dimensions, row-major. Control flow is uniform over the block.
  __device__ size_t offset(u32 row, size_t num_dims, const size_t *__restrict__ info) const {
    if (outer_dims == 0) return row * row_stride;
    size_t result = 0;
    for (size_t d = outer_dims; d-- > 0;) {
      const size_t size = info[d];
      u32 index = row;
      if (d > 0 && size <= row) {
        row /= u32(size);
        index -= row * u32(size);
      } else {
        row = 0;
      }
      result += index * info[num_dims + d];
      if (row == 0) break;
    }
    return result;
  }
};

// Whether the last dimensions, `length` elements in all, have one stride; if so, describes the rows. Control flow is
// uniform over the grid.
__device__ CANDLE_SHARED_HELPER bool find_rows(size_t length, size_t num_dims, const size_t *__restrict__ info,
                                               Rows &rows) {
  const size_t *strides = info + num_dims;
  // The most frequent case, without a load that depends on another.
  if (num_dims == 2) {
    const size_t size = info[1];
    rows = {strides[1], strides[0], 0};
    if (size == length) return true;
  }
  size_t size = 1;
  size_t d = num_dims;
  rows.stride = 1;
  while (size < length && d > 0) {
    --d;
    if (info[d] == 1) continue;
    if (size == 1) {
      rows.stride = strides[d];
    } else if (strides[d] != size * rows.stride) {
      return false;
    }
    size *= info[d];
  }
  rows.outer_dims = d;
  rows.row_stride = 0;
  if (d == 0 || size != length) return size == length;
  size_t outer = d - 1;
  for (size = info[outer]; outer > 0 && strides[outer - 1] == size * strides[outer]; --outer) size *= info[outer - 1];
  if (outer == 0) {
    rows.row_stride = strides[d - 1];
    rows.outer_dims = 0;
  }
  return true;
}

// N elements; all loads are issued before the first use.
template <class Op, int N, class T>
__device__ inline void accumulate_batch(typename Op::State &state, const T *row, size_t step, u32 index, u32 threads) {
  T x[N];
#pragma unroll
  for (int k = 0; k < N; ++k) x[k] = row[k * step];
#pragma unroll
  for (int k = 0; k < N; ++k) Op::accumulate(state, x[k], index + k * threads);
}

// The state of thread t of `threads` (a power of two) after elements t, t + threads, t + 2 * threads, ... of a row.
template <class Op, class T>
__device__ inline typename Op::State accumulate_row(const T *__restrict__ row, size_t stride, u32 length, u32 t,
                                                    u32 threads) {
  constexpr int batch = sizeof(T) == 8 ? 4 : 8;
  auto state = Op::initial();
  if (t >= length) return state;
  if (length <= threads) {
    Op::accumulate(state, row[stride * t], t);
    return state;
  }
  u32 remaining = ((length - 1 - t) >> (31 - __builtin_clz(threads))) + 1;
  const size_t step = stride * threads;
  row += stride * t;
#pragma unroll 1
  for (; remaining >= batch; remaining -= batch, row += batch * step, t += batch * threads) {
    accumulate_batch<Op, batch>(state, row, step, t, threads);
  }
  if (remaining & batch / 2) {
    accumulate_batch<Op, batch / 2>(state, row, step, t, threads);
    row += batch / 2 * step;
    t += batch / 2 * threads;
  }
#pragma unroll 1
  for (remaining %= batch / 2; remaining > 0; --remaining, row += step, t += threads) {
    accumulate_batch<Op, 1>(state, row, step, t, threads);
  }
  return state;
}

// ---- several rows per block

// Several rows of at most 1024 elements in a block: fewer threads do the work of the 1024 of each row, and each
// computes the first levels of the tree alone. With a block per short row, memory latency would dominate.
template <class Op, class T>
struct ShortRowsReducer {
  using State = typename Op::State;
  static constexpr u32 threads = 1024;
  static constexpr u32 threads_per_row = 4 * logical_wave_size;
  static constexpr int rows = threads / threads_per_row;
  static constexpr int per_thread = threads / threads_per_row;

  static __device__ bool fits(const Rows &layout, u32 length, u32 block_threads) {
    return layout.outer_dims == 0 && layout.stride == 1 && length <= threads && block_threads == threads &&
           gridDim.x >= 64 * rows;
  }

  // Returns the combined state of row t / 32 (counted from src) in threads with t % 32 == 0, as far as there are rows.
  static __device__ State reduce(const T *__restrict__ src, size_t step, u32 length, Partials<State> &partials, u32 t) {
    const u32 u = t % threads_per_row;
    src += t / threads_per_row * step + u;
    T x[per_thread];
#pragma unroll
    for (int k = 0; k < per_thread; ++k) x[k] = u + k * threads_per_row < length ? src[k * threads_per_row] : T{};
    partials.put(t, reduce_in_thread<1>(x, length, u));
    __syncthreads();
    const u32 row = t / logical_wave_size;
    if (row >= rows) return Op::initial();
    return wave_reduce<Op>(tree_reduce<4, 1, Op>(partials, row * threads_per_row + t % logical_wave_size),
                           logical_wave_size);
  }

  // The tree of elements u, u + threads_per_row, ... down to the level where they are `stride` of these apart. Depth
  // first, so that few states are live at a time.
  template <int stride>
  static __device__ State reduce_in_thread(const T (&x)[per_thread], u32 length, u32 u, int k = 0) {
    if constexpr (stride == per_thread) {
      State state = Op::initial();
      if (u + k * threads_per_row < length) Op::accumulate(state, x[k], u + k * threads_per_row);
      return state;
    } else {
      const State low = reduce_in_thread<2 * stride>(x, length, u, k);
      return Op::combine(low, reduce_in_thread<2 * stride>(x, length, u, k + stride));
    }
  }
};

// Rows that are adjacent in memory (stride 1 between rows). Pairs of threads read `rows` neighbouring elements,
// together a whole memory sector if the type is narrow enough for the registers. Each thread does the work of two of
// the 1024 threads of a row: t / 2 and t / 2 + 512.
template <class Op, class T>
struct AdjacentRowsReducer {
  using State = typename Op::State;
  static constexpr u32 threads = 1024;
  static constexpr u32 half_stride = threads / 2;
  static constexpr int per_thread = sizeof(State) > 4 ? 2 : 4;
  static constexpr int rows = 2 * per_thread;
  // Partial results per row that one logical wave reduces at the end.
  static constexpr u32 final_partials = 4 * logical_wave_size;

  static __device__ bool fits(const Rows &layout, const T *src, u32 block_threads) {
    return layout.outer_dims == 0 && layout.row_stride == 1 && layout.stride % per_thread == 0 &&
           is_aligned<per_thread>(src) && block_threads == threads;
  }

  // Returns the combined state of row t / 32 (counted from src) in threads with t % 32 == 0, as far as there are rows.
  __attribute__((always_inline)) static __device__ State reduce(const T *__restrict__ src, size_t stride, u32 length,
                                                                Partials<State> &partials, u32 t) {
    const u32 u = t / 2;
    const u32 half = t % 2;
    State state[2][per_thread];
#pragma unroll
    for (int k = 0; k < per_thread; ++k) state[0][k] = state[1][k] = Op::initial();
    src += u * stride + half * per_thread;
    u32 index = u;
#pragma unroll 1
    for (; index + half_stride < length; index += threads, src += threads * stride) {
      const auto x = load_pack<per_thread>(src);
      const auto y = load_pack<per_thread>(src + half_stride * stride);
#pragma unroll
      for (int k = 0; k < per_thread; ++k) Op::accumulate(state[0][k], x.data[k], index);
#pragma unroll
      for (int k = 0; k < per_thread; ++k) Op::accumulate(state[1][k], y.data[k], index + half_stride);
    }
    if (index < length) {
      const auto x = load_pack<per_thread>(src);
#pragma unroll
      for (int k = 0; k < per_thread; ++k) Op::accumulate(state[0][k], x.data[k], index);
    }
#pragma unroll
    for (int k = 0; k < per_thread; ++k) state[0][k] = Op::combine(state[0][k], state[1][k]);
    reduce_step<half_stride / 2>(state[0], partials, u, half);
    reduce_step<half_stride / 4>(state[0], partials, u, half);
    if (u < final_partials) {
#pragma unroll
      for (int k = 0; k < per_thread; ++k) partials.put((half * per_thread + k) * final_partials + u, state[0][k]);
    }
    __syncthreads();
    const u32 row = t / logical_wave_size;
    if (row >= rows) return state[0][0];
    return wave_reduce<Op>(tree_reduce<4, 1, Op>(partials, row * final_partials + t % logical_wave_size),
                           logical_wave_size);
  }

  // The level of the tree that combines u and u + distance, for as many rows at a time as fit in the partials.
  template <u32 distance>
  static __device__ void reduce_step(State (&state)[per_thread], Partials<State> &partials, u32 u, u32 half) {
    constexpr int max_rows = threads / (2 * distance);
    constexpr int rows_per_pass = max_rows < per_thread ? max_rows : per_thread;
#pragma unroll
    for (int begin = 0; begin < per_thread; begin += rows_per_pass) {
      if (u >= distance && u < 2 * distance) {
#pragma unroll
        for (int k = 0; k < rows_per_pass; ++k)
          partials.put((k * distance + u - distance) * 2 + half, state[begin + k]);
      }
      __syncthreads();
      if (u < distance) {
#pragma unroll
        for (int k = 0; k < rows_per_pass; ++k) {
          state[begin + k] = Op::combine(state[begin + k], partials.get((k * distance + u) * 2 + half));
        }
      }
      __syncthreads();
    }
  }
};

}  // namespace candle
