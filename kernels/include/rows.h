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
//
// Control flow is uniform: where some threads are done before others, ptxas (CUDA 13.0) lets them overwrite uniform
// registers that the others still need, until the block synchronizes.
template <class Op, class T>
__device__ inline typename Op::State accumulate_row(const T *__restrict__ row, size_t stride, u32 length, u32 t,
                                                    u32 threads) {
  constexpr int batch = sizeof(T) == 8 ? 4 : 8;
  auto state = Op::initial();
  u32 rounds = length >> (31 - __builtin_clz(threads));  // in which every thread has an element
  const size_t step = stride * threads;
  const T *element = row + stride * t;
#pragma unroll 1
  for (; rounds >= batch; rounds -= batch, element += batch * step, t += batch * threads) {
    accumulate_batch<Op, batch>(state, element, step, t, threads);
  }
  if (rounds & batch / 2) {
    accumulate_batch<Op, batch / 2>(state, element, step, t, threads);
    element += batch / 2 * step;
    t += batch / 2 * threads;
  }
#pragma unroll 1
  for (rounds %= batch / 2; rounds > 0; --rounds, element += step, t += threads) {
    accumulate_batch<Op, 1>(state, element, step, t, threads);
  }
  if ((length & (threads - 1)) == 0) return state;
  auto last = state;
  Op::accumulate(last, *(t < length ? element : row), t);
  return t < length ? last : state;
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

// Rows that are adjacent in memory (stride 1 between rows). `lanes` neighbouring threads read one element of each of
// `rows` rows, and each thread does the work of `lanes` of the 1024 threads of a row. Where there are enough rows for
// every multiprocessor, there are enough lanes for whole cache lines.
template <class Op, class T>
struct AdjacentRowsReducer {
  using State = typename Op::State;
  static constexpr u32 threads = 1024;
  static constexpr int per_thread = sizeof(State) > 4 ? 2 : 4;

  struct States {
    State data[per_thread];

    __device__ void combine_after(const States &before) {
#pragma unroll
      for (int k = 0; k < per_thread; ++k) data[k] = Op::combine(before.data[k], data[k]);
    }
  };

  static __device__ bool fits(const Rows &layout, const T *src, u32 block_threads) {
    return layout.outer_dims == 0 && layout.row_stride == 1 && layout.stride % per_thread == 0 &&
           is_aligned<per_thread>(src) && block_threads == threads;
  }

  static constexpr u32 max_log_lanes = 3;

  static __device__ u32 log_lanes() {
    return gridDim.x >> max_log_lanes >= per_thread * blocks_to_fill_gpu ? max_log_lanes : 1;
  }

  // Returns the combined state of row t / 32 (counted from src) in threads with t % 32 == 0, as far as there are rows.
  __attribute__((always_inline)) static __device__ State reduce(const T *__restrict__ src, size_t stride, u32 length,
                                                                Partials<State> &partials, u32 t, u32 log_lanes) {
    const u32 lanes = 1 << log_lanes, lane = t & (lanes - 1), u = t >> log_lanes,
              threads_per_row = threads >> log_lanes;
    src += lane * per_thread;
    // The tree of threads u, u + threads_per_row, ..., in pairs 512 apart and in the order that keeps few states live.
    States states, quarter, half;
#pragma unroll 1
    for (u32 pair = 0; pair < lanes / 2; ++pair) {
      states = reduce_pair(src, stride, length, u + (pair / 2 + pair % 2 * 2) * threads_per_row);
      if (pair % 2 == 1) states.combine_after(quarter);
      if (pair == 3) states.combine_after(half);
      if (pair % 2 == 0) quarter = states;
      if (pair == 1) half = states;
    }
    const u32 row = t / logical_wave_size, row_lane = row / per_thread;
    const u32 row_partials = row_lane * threads_per_row + (t % logical_wave_size ^ row_lane * 4);
    State result = Op::initial();
#pragma unroll 1
    for (u32 k = 0; k < per_thread; ++k) {
      partials.put(lane * threads_per_row + (u ^ lane * 4), states.data[0]);
#pragma unroll
      for (int next = 1; next < per_thread; ++next) states.data[next - 1] = states.data[next];
      __syncthreads();
      if (row % per_thread == k && row_lane < lanes) {
        result = log_lanes == max_log_lanes ? tree_reduce<4, 1, Op>(partials, row_partials)
                                            : tree_reduce<16, 1, Op>(partials, row_partials);
      }
      __syncthreads();
    }
    return wave_reduce<Op>(result, logical_wave_size);
  }

  // The combined states of threads u and u + 512 of `per_thread` rows.
  static __device__ States reduce_pair(const T *__restrict__ src, size_t stride, u32 length, u32 u) {
    States low, high;
#pragma unroll
    for (int k = 0; k < per_thread; ++k) low.data[k] = high.data[k] = Op::initial();
    src += u * stride;
    u32 index = u;
#pragma unroll 1
    for (; index + threads / 2 < length; index += threads, src += threads * stride) {
      const auto x = load_pack<per_thread>(src);
      const auto y = load_pack<per_thread>(src + threads / 2 * stride);
#pragma unroll
      for (int k = 0; k < per_thread; ++k) Op::accumulate(low.data[k], x.data[k], index);
#pragma unroll
      for (int k = 0; k < per_thread; ++k) Op::accumulate(high.data[k], y.data[k], index + threads / 2);
    }
    if (index < length) {
      const auto x = load_pack<per_thread>(src);
#pragma unroll
      for (int k = 0; k < per_thread; ++k) Op::accumulate(low.data[k], x.data[k], index);
    }
    high.combine_after(low);
    return high;
  }
};

}  // namespace candle
