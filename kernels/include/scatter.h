// index_add, scatter and scatter_add.
#pragma once

#include "arithmetic.h"
#include "ids.h"
#include "strided.h"

namespace candle {

// Bytes of a GPU's last cache that one launch can count on; a test makes it small.
#ifndef CANDLE_CACHE_BYTES
#define CANDLE_CACHE_BYTES (size_t(40) << 20)
#endif

struct Store {
  static constexpr bool reads = false;
  template <class T>
  static __device__ T put(T, T x) {
    return x;
  }
};

// In T: every step rounds, integers wrap.
struct Add {
  static constexpr bool reads = true;
  template <class T>
  static __device__ T put(T old, T x) {
    if constexpr (is_f8<T>) {
      return narrow<f8>(widen(old) + widen(x));
    } else if constexpr (is_same<T, i64>) {
      return T(u64(old) + u64(x));
    } else {
      return T(old + x);
    }
  }
};

// A thread takes in whole columns: out[l, id, r] takes in inp[l, j, r] for j in order, so that the last of equal ids is
// the last to write. Ids lie id_step apart. What several steps read is read before the first of them writes; where a
// step changes what a later one has read, that one takes the result.
template <class Op, class Id, class T>
__device__ inline void put_column(const Id *__restrict__ ids, size_t id_step, const T *__restrict__ inp,
                                  T *__restrict__ out, size_t src_dim, size_t dst_dim, size_t right) {
  constexpr int batch = 4;
  for (size_t j = 0; j < src_dim; j += batch) {
    Id id[batch];
    T x[batch], old[batch];
#pragma unroll
    for (int k = 0; k < batch; ++k, ids += id_step, inp += right) {
      id[k] = no_id<Id>;
      x[k] = T{};
      if (j + k >= src_dim) continue;
      id[k] = *ids;
      x[k] = *inp;
    }
    // One check for all, as each is a branch, and behind the reads, as none is moved across it.
    bool inside = true;
#pragma unroll
    for (int k = 0; k < batch; ++k) {
      const bool there = id[k] != no_id<Id>, good = size_t(id[k]) < dst_dim;
      if constexpr (Op::reads) old[k] = there && good ? out[size_t(id[k]) * right] : T{};
      inside &= !there || good;
    }
    require_in_range(inside);
    if constexpr (Op::reads) {
#pragma unroll
      for (int k = 0; k < batch; ++k) {
#pragma unroll
        for (int before = 0; before < k; ++before) old[k] = id[before] == id[k] ? x[before] : old[k];
        x[k] = Op::put(old[k], x[k]);
      }
    }
#pragma unroll
    for (int k = 0; k < batch; ++k) {
      if (id[k] != no_id<Id>) out[size_t(id[k]) * right] = x[k];
    }
  }
}

template <class Op, bool ids_like_inp, class Id, class T>
__device__ inline void put_columns(const Id *__restrict__ ids, const T *__restrict__ inp, T *__restrict__ out,
                                   size_t left, size_t src_dim, size_t dst_dim, size_t right) {
  const size_t columns = left * right;
  const bool wide = columns >> 32;
  for (size_t i = thread_index(); i < columns; i += thread_count()) {
    size_t l = i;
    const size_t r = divide(l, right, wide);
    const size_t from = l * src_dim * right + r;
    put_column<Op>(ids_like_inp ? ids + from : ids, ids_like_inp ? right : 1, inp + from, out + l * dst_dim * right + r,
                   src_dim, dst_dim, right);
  }
}

// A block takes in batches of several rows of some columns, an element per thread. What the threads of a block know of
// each other's elements.
template <class T, bool with_values>
struct Batch {
  static constexpr u32 rows = sizeof(T) == 8 ? 16 : 8, columns = 1024 / rows, packs = rows / 4;
  static constexpr size_t bytes = 32 << 10, fit = bytes < CANDLE_CACHE_BYTES ? bytes : CANDLE_CACHE_BYTES;
  static constexpr u32 most_rows = fit / columns / sizeof(T);

  Pack<u32, 4> places[columns][packs + 1];  // one more, for columns in different banks
  T values[with_values ? rows : 1][columns];
  T tile[most_rows > 0 ? most_rows : 1][columns];  // of out

  __device__ void add(u32 row, u32 column, u32 place, T x) {
    places[column][row / 4].at[row % 4] = place;
    if constexpr (with_values) values[row][column] = x;
  }

  __device__ void load_tile(const T *from, u32 right, u32 row, u32 column, u32 end) {
    constexpr u32 ahead = 4;
#pragma unroll 1
    for (; row < end; row += ahead * rows) {
      T held[ahead];
#pragma unroll
      for (u32 n = 0; n < ahead; ++n) {
        if (row + n * rows < end) held[n] = from[size_t(row + n * rows) * right];
      }
#pragma unroll
      for (u32 n = 0; n < ahead; ++n) {
        if (row + n * rows < end) tile[row + n * rows][column] = held[n];
      }
    }
  }

  // A bit for each element of the column that goes to `place`.
  __device__ u32 equals(u32 column, u32 place) const {
    u32 result = 0;
#pragma unroll
    for (u32 k = 0; k < rows; ++k) result |= u32(places[column][k / 4].at[k % 4] == place) << k;
    return result;
  }
};

// The rows of out that ids can name.
template <class Id>
__device__ inline size_t named_rows(size_t dst_dim) {
  return size_t(no_id<Id>) < dst_dim ? size_t(no_id<Id>) : dst_dim;
}

// Batches are taken in one after another. Of equal ids in a column of a batch, the thread of the last takes in all.
template <class Op, bool tiled, class Id, class T>
__device__ inline void put_batches(Batch<T, Op::reads> &batch, const Id *__restrict__ ids, const T *__restrict__ inp,
                                   T *out, u32 columns, u32 src_dim, u32 dst_dim, u32 right) {
  constexpr u32 rows = Batch<T, Op::reads>::rows, nowhere = 0xffffffff,
                ahead = 4;  // batches that are read before the first is taken in
  const u32 across = blockDim.x / rows;
  // Neighbours among the threads are neighbours in memory.
  const u32 row = right == 1 ? threadIdx.x % rows : threadIdx.x / across;
  const u32 column = right == 1 ? threadIdx.x / rows : threadIdx.x - row * across;
  const bool takes_part = row < rows && column < across;
  for (u32 first = blockIdx.x * across; first < columns; first += gridDim.x * across) {
    const bool has_column = takes_part && first + column < columns;
    const u32 l = (first + column) / right, r = first + column - l * right;
    const u32 end = has_column ? src_dim : 0, tile_end = has_column ? u32(named_rows<Id>(dst_dim)) : 0;
    size_t from = (size_t(l) * src_dim + row) * right + r;
    T *const to = out + size_t(l) * dst_dim * right + r;
    for (u32 j = 0; j < src_dim; j += ahead * rows) {
      Id id[ahead];
      T x[ahead];
#pragma unroll
      for (u32 n = 0; n < ahead; ++n, from += size_t(rows) * right) {
        id[n] = no_id<Id>;
        x[n] = T{};
        if (j + n * rows + row >= end) continue;
        id[n] = ids[from];
        x[n] = inp[from];
      }
      if (tiled && j == 0) batch.load_tile(to, right, row, column, tile_end);
      bool inside = true;
#pragma unroll
      for (u32 n = 0; n < ahead; ++n) inside &= id[n] == no_id<Id> || size_t(id[n]) < dst_dim;
      require_in_range(inside);
#pragma unroll
      for (u32 n = 0; n < ahead; ++n) {
        if (j + n * rows >= src_dim) break;
        const u32 place = id[n] != no_id<Id> ? u32(id[n]) : nowhere;
        if (takes_part) batch.add(row, column, place, x[n]);
        __syncthreads();
        const u32 equal = batch.equals(column, place);
        if (place != nowhere && equal >> row == 1) {
          T *const at = tiled ? &batch.tile[place][column] : to + size_t(place) * right;
          T sum = x[n];
          if constexpr (Op::reads) {
            T old = *at;
            for (u32 rest = equal ^ 1u << row; rest; rest &= rest - 1) {
              old = Op::put(old, batch.values[__ffs(int(rest)) - 1][column]);
            }
            sum = Op::put(old, sum);
          }
          *at = sum;
        }
        __syncthreads();
      }
    }
    if (tiled) {
#pragma unroll 4
      for (u32 k = row; k < tile_end; k += rows) to[size_t(k) * right] = batch.tile[k][column];
    }
  }
}

// No two threads have the same place at the same time: no atomics, one order.
//
// Ids that differ from one column to the next make every access to out one of its own, which the cache has to serve:
// where it cannot hold the places of all columns that threads have at once, or shared memory can hold those of a few,
// blocks take many rows of few columns.
template <class Op, bool ids_like_inp, class Id, class T>
__device__ inline void put(const Id *__restrict__ ids, const T *__restrict__ inp, T *__restrict__ out, size_t left,
                           size_t src_dim, size_t dst_dim, size_t right) {
  const size_t columns = left * right, threads = thread_count(), rows = named_rows<Id>(dst_dim);
  if constexpr (ids_like_inp) {
    using Shared = Batch<T, Op::reads>;
    const bool wide = (columns | src_dim | dst_dim | right | threads) >> 31;
    const bool tiled = rows <= Shared::most_rows;
    const size_t at_once = (columns < threads ? columns : threads) * rows * sizeof(T);
    if (!wide && src_dim >= Shared::rows && blockDim.x >= Shared::rows && (tiled || at_once > CANDLE_CACHE_BYTES)) {
      __shared__ Shared batch;
      if (tiled) {
        put_batches<Op, true>(batch, ids, inp, out, u32(columns), u32(src_dim), u32(dst_dim), u32(right));
      } else {
        put_batches<Op, false>(batch, ids, inp, out, u32(columns), u32(src_dim), u32(dst_dim), u32(right));
      }
      return;
    }
  }
  put_columns<Op, ids_like_inp>(ids, inp, out, left, src_dim, dst_dim, right);
}

}  // namespace candle
