// index_add, scatter and scatter_add.
#pragma once

#include "arithmetic.h"
#include "ids.h"
#include "strided.h"

namespace candle {

// The bytes of a GPU's last-level cache that one launch can count on; a test sets it to 0.
#ifndef CANDLE_CACHE_BYTES
#define CANDLE_CACHE_BYTES (size_t(40) << 20)
#endif

struct Overwrite {
  static constexpr bool reads_output = false;
  template <class T>
  static __device__ T combine(T, T x) {
    return x;
  }
};

// Adds in T: every step rounds, integers wrap.
struct Add {
  static constexpr bool reads_output = true;
  template <class T>
  static __device__ T combine(T old, T x) {
    if constexpr (is_f8<T>) {
      return narrow<f8>(widen(old) + widen(x));
    } else if constexpr (is_same<T, i64>) {
      return T(u64(old) + u64(x));
    } else {
      return T(old + x);
    }
  }
};

// Each thread processes whole columns: it combines inp[l, j, r] into out[l, id, r] for j in order, so that the last of
// equal ids is written last. Ids are id_stride apart. The loads of `batch` steps are issued before their stores; where
// two of these steps have the same id, the later one takes the result of the earlier one instead of what it has read.
template <class Op, class Id, class T>
__device__ inline void scatter_column(const Id *__restrict__ ids, size_t id_stride, const T *__restrict__ inp,
                                      T *__restrict__ out, size_t src_dim, size_t dst_dim, size_t right) {
  constexpr int batch = 4;
  for (size_t j = 0; j < src_dim; j += batch) {
    Id id[batch];
    T x[batch], old[batch];
#pragma unroll
    for (int k = 0; k < batch; ++k, ids += id_stride, inp += right) {
      id[k] = no_id<Id>;
      x[k] = T{};
      if (j + k >= src_dim) continue;
      id[k] = *ids;
      x[k] = *inp;
    }
    // One check for the whole batch, as each is a branch; after the loads, as the compiler moves no load across it.
    bool all_in_range = true;
#pragma unroll
    for (int k = 0; k < batch; ++k) {
      const bool has_id = id[k] != no_id<Id>, in_range = size_t(id[k]) < dst_dim;
      if constexpr (Op::reads_output) old[k] = has_id && in_range ? out[size_t(id[k]) * right] : T{};
      all_in_range &= !has_id || in_range;
    }
    require_in_range(all_in_range);
    if constexpr (Op::reads_output) {
#pragma unroll
      for (int k = 0; k < batch; ++k) {
#pragma unroll
        for (int earlier = 0; earlier < k; ++earlier) old[k] = id[earlier] == id[k] ? x[earlier] : old[k];
        x[k] = Op::combine(old[k], x[k]);
      }
    }
#pragma unroll
    for (int k = 0; k < batch; ++k) {
      if (id[k] != no_id<Id>) out[size_t(id[k]) * right] = x[k];
    }
  }
}

template <class Op, bool ids_per_element, class Id, class T>
__device__ inline void scatter_columns(const Id *__restrict__ ids, const T *__restrict__ inp, T *__restrict__ out,
                                       size_t left, size_t src_dim, size_t dst_dim, size_t right) {
  const size_t columns = left * right;
  const bool wide = columns >> 32;
  for (size_t i = thread_index(); i < columns; i += thread_count()) {
    size_t l = i;
    const size_t r = divide(l, right, wide);
    const size_t src_offset = l * src_dim * right + r;
    scatter_column<Op>(ids_per_element ? ids + src_offset : ids, ids_per_element ? right : 1, inp + src_offset,
                       out + l * dst_dim * right + r, src_dim, dst_dim, right);
  }
}

// The elements of a batch, in LDS: a block processes several rows of some columns at a time, one element per thread.
template <class T, bool with_values>
struct ScatterBatch {
  static constexpr u32 rows = sizeof(T) == 8 ? 16 : 8, columns = 1024 / rows, packs = rows / 4;
  static constexpr size_t lds_bytes = 32 << 10,
                          tile_bytes = lds_bytes < CANDLE_CACHE_BYTES ? lds_bytes : CANDLE_CACHE_BYTES;
  static constexpr u32 max_tile_rows = tile_bytes / columns / sizeof(T);

  Pack<u32, 4> out_rows[columns][packs + 1];  // padded by one, so that columns are in different banks
  T values[with_values ? rows : 1][columns];
  T tile[max_tile_rows > 0 ? max_tile_rows : 1][columns];  // the part of out that these columns access

  __device__ void add(u32 row, u32 column, u32 out_row, T x) {
    out_rows[column][row / 4].data[row % 4] = out_row;
    if constexpr (with_values) values[row][column] = x;
  }

  __device__ void load_tile(const T *from, u32 right, u32 row, u32 column, u32 end) {
    constexpr u32 prefetch = 4;
    const size_t step = size_t(rows) * right;
    from += size_t(row) * right;
#pragma unroll 1
    for (; row < end; row += prefetch * rows) {
      T loaded[prefetch];
#pragma unroll
      for (u32 n = 0; n < prefetch; ++n, from += step) {
        if (row + n * rows < end) loaded[n] = *from;
      }
#pragma unroll
      for (u32 n = 0; n < prefetch; ++n) {
        if (row + n * rows < end) tile[row + n * rows][column] = loaded[n];
      }
    }
  }

  // A bit for each element of the column with this out_row.
  __device__ u32 elements_with(u32 column, u32 out_row) const {
    u32 result = 0;
#pragma unroll
    for (u32 k = 0; k < rows; ++k) result |= u32(out_rows[column][k / 4].data[k % 4] == out_row) << k;
    return result;
  }
};

// The number of rows of out that ids can address.
template <class Id>
__device__ inline size_t addressable_rows(size_t dst_dim) {
  return size_t(no_id<Id>) < dst_dim ? size_t(no_id<Id>) : dst_dim;
}

// A block processes batches one after another. Of equal ids in a column of a batch, the thread of the last one combines
// all.
template <class Op, bool tiled, class Id, class T>
__device__ inline void scatter_batched(ScatterBatch<T, Op::reads_output> &batch, const Id *__restrict__ ids,
                                       const T *__restrict__ inp, T *out, u32 columns, u32 src_dim, u32 dst_dim,
                                       u32 right) {
  constexpr u32 rows = ScatterBatch<T, Op::reads_output>::rows, no_row = 0xffffffff,
                prefetch = 4;  // batches that are loaded before the first is combined
  const u32 block_columns = blockDim.x / rows;
  // Neighbouring threads access neighbouring addresses.
  const u32 row = right == 1 ? threadIdx.x % rows : threadIdx.x / block_columns;
  const u32 column = right == 1 ? threadIdx.x / rows : threadIdx.x - row * block_columns;
  const bool is_active = row < rows && column < block_columns;
  for (u32 first = blockIdx.x * block_columns; first < columns; first += gridDim.x * block_columns) {
    const bool has_column = is_active && first + column < columns;
    const u32 l = (first + column) / right, r = first + column - l * right;
    const u32 end = has_column ? src_dim : 0, tile_end = has_column ? u32(addressable_rows<Id>(dst_dim)) : 0;
    size_t src_offset = (size_t(l) * src_dim + row) * right + r;
    T *const out_column = out + size_t(l) * dst_dim * right + r;
    for (u32 j = 0; j < src_dim; j += prefetch * rows) {
      Id id[prefetch];
      T x[prefetch];
#pragma unroll
      for (u32 n = 0; n < prefetch; ++n, src_offset += size_t(rows) * right) {
        id[n] = no_id<Id>;
        x[n] = T{};
        if (j + n * rows + row >= end) continue;
        id[n] = ids[src_offset];
        x[n] = inp[src_offset];
      }
      if (tiled && j == 0) batch.load_tile(out_column, right, row, column, tile_end);
      bool all_in_range = true;
#pragma unroll
      for (u32 n = 0; n < prefetch; ++n) all_in_range &= id[n] == no_id<Id> || size_t(id[n]) < dst_dim;
      require_in_range(all_in_range);
#pragma unroll
      for (u32 n = 0; n < prefetch; ++n) {
        if (j + n * rows >= src_dim) break;
        const u32 out_row = id[n] != no_id<Id> ? u32(id[n]) : no_row;
        if (is_active) batch.add(row, column, out_row, x[n]);
        __syncthreads();
        const u32 matches = batch.elements_with(column, out_row);
        if (out_row != no_row && matches >> row == 1) {
          T *const element = tiled ? &batch.tile[out_row][column] : out_column + size_t(out_row) * right;
          T sum = x[n];
          if constexpr (Op::reads_output) {
            T old = *element;
            for (u32 rest = matches ^ 1u << row; rest; rest &= rest - 1) {
              old = Op::combine(old, batch.values[__ffs(int(rest)) - 1][column]);
            }
            sum = Op::combine(old, sum);
          }
          *element = sum;
        }
        __syncthreads();
      }
    }
    if (tiled) {
#pragma unroll 4
#pragma clang loop vectorize(disable)
      for (u32 k = row; k < tile_end; k += rows) out_column[size_t(k) * right] = batch.tile[k][column];
    }
  }
}

// No two threads write the same element at the same time: no atomics, and a deterministic order.
//
// With ids that differ from column to column, accesses to out are not coalesced, and the cache has to serve each.
// Blocks process many rows of few columns (scatter_batched) if the cache cannot hold what all columns in flight access,
// or if shared memory can hold the part of out that a few columns access.
template <class Op, bool ids_per_element, class Id, class T>
__device__ inline void scatter(const Id *__restrict__ ids, const T *__restrict__ inp, T *__restrict__ out, size_t left,
                               size_t src_dim, size_t dst_dim, size_t right) {
  const size_t columns = left * right, threads = thread_count(), rows = addressable_rows<Id>(dst_dim);
  if constexpr (ids_per_element) {
    using SharedBatch = ScatterBatch<T, Op::reads_output>;
    const bool wide = (columns | src_dim | dst_dim | right | threads) >> 31;
    const bool tiled = rows <= SharedBatch::max_tile_rows;
    const size_t concurrent_bytes = (columns < threads ? columns : threads) * rows * sizeof(T);
    if (!wide && src_dim >= SharedBatch::rows && blockDim.x >= SharedBatch::rows &&
        (tiled || concurrent_bytes > CANDLE_CACHE_BYTES)) {
      __shared__ SharedBatch batch;
      if (tiled) {
        scatter_batched<Op, true>(batch, ids, inp, out, u32(columns), u32(src_dim), u32(dst_dim), u32(right));
      } else {
        scatter_batched<Op, false>(batch, ids, inp, out, u32(columns), u32(src_dim), u32(dst_dim), u32(right));
      }
      return;
    }
  }
  scatter_columns<Op, ids_per_element>(ids, inp, out, left, src_dim, dst_dim, right);
}

}  // namespace candle
