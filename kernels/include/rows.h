// Rows of a strided tensor: the elements that one block reduces.
#pragma once

#include "elementwise.h"
#include "reduction.h"

namespace candle {

// Where rows lie whose elements have one stride. Row r starts at r * step, or where `kept` dimensions are left, which
// have no one step, at offset(r).
struct Rows {
  size_t stride;
  size_t step;
  size_t kept;

  // The dimensions before d, in row-major order; control flow is uniform over the block.
  __device__ size_t offset(u32 row, size_t num_dims, const size_t *__restrict__ info) const {
    if (kept == 0) return row * step;
    size_t result = 0;
    for (size_t d = kept; d-- > 0;) {
      const size_t size = info[d];
      u32 at = row;
      if (d > 0 && size <= row) {
        row /= u32(size);
        at -= row * u32(size);
      } else {
        row = 0;
      }
      result += at * info[num_dims + d];
      if (row == 0) break;
    }
    return result;
  }
};

// Whether the last dimensions, `length` elements in all, have one stride, and how the rows then lie. Control flow is
// uniform over the grid.
__device__ CANDLE_SHARED_HELPER bool find_rows(size_t length, size_t num_dims, const size_t *__restrict__ info,
                                               Rows &rows) {
  const size_t *strides = info + num_dims;
  // What is most asked for, without a load that waits for another.
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
  rows.kept = d;
  rows.step = 0;
  if (d == 0 || size != length) return size == length;
  size_t outer = d - 1;
  for (size = info[outer]; outer > 0 && strides[outer - 1] == size * strides[outer]; --outer) size *= info[outer - 1];
  if (outer == 0) {
    rows.step = strides[d - 1];
    rows.kept = 0;
  }
  return true;
}

// N elements, all on their way before the first is used.
template <class Op, int N, class T>
__device__ inline void visit_some(typename Op::State &state, const T *row, size_t step, u32 at, u32 threads) {
  T x[N];
#pragma unroll
  for (int k = 0; k < N; ++k) x[k] = row[k * step];
#pragma unroll
  for (int k = 0; k < N; ++k) Op::visit(state, x[k], at + k * threads);
}

// The state of thread t of `threads` (a power of two) after elements t, t + threads, t + 2 * threads, ... of a row.
template <class Op, class T>
__device__ inline typename Op::State visit_row(const T *__restrict__ row, size_t stride, u32 length, u32 t,
                                               u32 threads) {
  constexpr int batch = sizeof(T) == 8 ? 4 : 8;
  auto state = Op::start();
  if (t >= length) return state;
  if (length <= threads) {
    Op::visit(state, row[stride * t], t);
    return state;
  }
  u32 left = ((length - 1 - t) >> (31 - __builtin_clz(threads))) + 1;
  const size_t step = stride * threads;
  row += stride * t;
#pragma unroll 1
  for (; left >= batch; left -= batch, row += batch * step, t += batch * threads) {
    visit_some<Op, batch>(state, row, step, t, threads);
  }
  if (left & batch / 2) {
    visit_some<Op, batch / 2>(state, row, step, t, threads);
    row += batch / 2 * step;
    t += batch / 2 * threads;
  }
#pragma unroll 1
  for (left %= batch / 2; left > 0; --left, row += step, t += threads) {
    visit_some<Op, 1>(state, row, step, t, threads);
  }
  return state;
}

// ---- several rows by one block

// Rows of at most a block's elements: a part of the threads stands for all, and goes through the first levels of the
// tree alone. Many short blocks would wait for memory one after another.
template <class Op, class T>
struct Together {
  using State = typename Op::State;
  static constexpr u32 threads = 1024;
  static constexpr u32 part = 4 * logical_wave_size;
  static constexpr int rows = threads / part;
  static constexpr int each = threads / part;  // elements of a thread

  static __device__ bool fits(const Rows &found, u32 length, u32 block_threads) {
    return found.kept == 0 && found.stride == 1 && length <= threads && block_threads == threads &&
           gridDim.x >= 64 * rows;
  }

  // The joined state of row t / 32 of those that start at src, in thread t where t % 32 == 0 and the row is one.
  static __device__ State reduce(const T *__restrict__ src, size_t step, u32 length, Shelf<State> &shelf, u32 t) {
    const u32 u = t % part;
    src += t / part * step + u;
    T x[each];
#pragma unroll
    for (int k = 0; k < each; ++k) x[k] = u + k * part < length ? src[k * part] : T{};
    shelf.put(t, own_levels<1>(x, length, u));
    __syncthreads();
    const u32 row = t / logical_wave_size;
    if (row >= rows) return Op::start();
    return join_group<Op>(fold<4, 1, Op>(shelf, row * part + t % logical_wave_size), logical_wave_size);
  }

  // Position u joined with those after it, by the levels down to `apart` parts apart. Depth first: few states at a
  // time.
  template <int apart>
  static __device__ State own_levels(const T (&x)[each], u32 length, u32 u, int k = 0) {
    if constexpr (apart == each) {
      State state = Op::start();
      if (u + k * part < length) Op::visit(state, x[k], u + k * part);
      return state;
    } else {
      const State low = own_levels<2 * apart>(x, length, u, k);
      return Op::join(low, own_levels<2 * apart>(x, length, u, k + apart));
    }
  }
};

// Rows that lie side by side. Pairs of threads read `rows` neighbouring elements, together a whole sector of memory
// where the type is narrow enough for the registers. Of a row's 1024 threads, a thread stands for two: t / 2 and 512
// after it.
template <class Op, class T>
struct Abreast {
  using State = typename Op::State;
  static constexpr u32 threads = 1024;
  static constexpr u32 apart = threads / 2;
  static constexpr int each = sizeof(State) > 4 ? 2 : 4;
  static constexpr int rows = 2 * each;
  static constexpr u32 last = 4 * logical_wave_size;  // states of a row that a group joins at the end

  static __device__ bool fits(const Rows &found, const T *src, u32 block_threads) {
    return found.kept == 0 && found.step == 1 && found.stride % each == 0 && is_aligned<each>(src) &&
           block_threads == threads;
  }

  // The joined state of row t / 32 of those from src on, in thread t where t % 32 == 0 and the row is one.
  __attribute__((always_inline)) static __device__ State reduce(const T *__restrict__ src, size_t stride, u32 length,
                                                                Shelf<State> &shelf, u32 t) {
    const u32 u = t / 2;
    const u32 half = t % 2;
    State state[2][each];
#pragma unroll
    for (int k = 0; k < each; ++k) state[0][k] = state[1][k] = Op::start();
    src += u * stride + half * each;
    u32 at = u;
#pragma unroll 1
    for (; at + apart < length; at += threads, src += threads * stride) {
      const auto x = load_pack<each>(src);
      const auto y = load_pack<each>(src + apart * stride);
#pragma unroll
      for (int k = 0; k < each; ++k) Op::visit(state[0][k], x.at[k], at);
#pragma unroll
      for (int k = 0; k < each; ++k) Op::visit(state[1][k], y.at[k], at + apart);
    }
    if (at < length) {
      const auto x = load_pack<each>(src);
#pragma unroll
      for (int k = 0; k < each; ++k) Op::visit(state[0][k], x.at[k], at);
    }
#pragma unroll
    for (int k = 0; k < each; ++k) state[0][k] = Op::join(state[0][k], state[1][k]);
    join_apart<apart / 2>(state[0], shelf, u, half);
    join_apart<apart / 4>(state[0], shelf, u, half);
    if (u < last) {
#pragma unroll
      for (int k = 0; k < each; ++k) shelf.put((half * each + k) * last + u, state[0][k]);
    }
    __syncthreads();
    const u32 row = t / logical_wave_size;
    if (row >= rows) return state[0][0];
    return join_group<Op>(fold<4, 1, Op>(shelf, row * last + t % logical_wave_size), logical_wave_size);
  }

  // The level that joins u and u + distance, as many rows at a time as the shelf holds.
  template <u32 distance>
  static __device__ void join_apart(State (&state)[each], Shelf<State> &shelf, u32 u, u32 half) {
    constexpr int fit = threads / (2 * distance);
    constexpr int most = fit < each ? fit : each;
#pragma unroll
    for (int begin = 0; begin < each; begin += most) {
      if (u >= distance && u < 2 * distance) {
#pragma unroll
        for (int k = 0; k < most; ++k) shelf.put((k * distance + u - distance) * 2 + half, state[begin + k]);
      }
      __syncthreads();
      if (u < distance) {
#pragma unroll
        for (int k = 0; k < most; ++k) {
          state[begin + k] = Op::join(state[begin + k], shelf.get((k * distance + u) * 2 + half));
        }
      }
      __syncthreads();
    }
  }
};

}  // namespace candle
