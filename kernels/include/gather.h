// index_select and gather. Threads process several elements each; see ActiveGrid.
#pragma once

#include "elementwise.h"
#include "ids.h"

namespace candle {

// The offset of flat index i over dims and strides. The outermost dimension wraps too: Candle passes the dims of the
// ids here, whose product may be smaller than i.
__device__ inline size_t wrapped_offset(size_t i, size_t num_dims, const size_t *info, bool wide) {
  size_t offset = 0;
#pragma unroll 1
  for (size_t d = num_dims; d-- > 0;) offset += divide(i, info[d], wide) * info[num_dims + d];
  return offset;
}

// In a large grid a thread has four units, blockDim.x apart, whose loads are in flight together. The blocks that work
// then still fill a large GPU.
constexpr u32 units_of_large = 4, log2_units_of_large = 2, working_blocks_of_large = 256;

// out[l, k, r] = inp[l, ids[k], r] where all sizes fit in 32 bits. A unit is an element or a pack of them along right;
// sizes are in units.
template <u32 batch, class Id, class Unit>
struct Select {
  u32 numel, left, src_dim, ids_dim, right;
  const Id *__restrict__ ids;
  Id id[batch]{};
  u32 offset[batch]{};  // offset of the unit in the source if its id were 0

  __device__ void read_ids(u32 i) {
#pragma unroll
    for (u32 n = 0; n < batch; ++n) {
      // Clamped, so that no branch separates the loads.
      const u32 index = i < numel && n * blockDim.x < numel - i ? i + n * blockDim.x : numel - 1;
      u32 k = index / right;
      offset[n] = index - k * right;
      if (left > 1) {
        const u32 l = k / ids_dim;
        k -= l * ids_dim;
        offset[n] += l * src_dim * right;
      }
      id[n] = ids[k];
    }
  }

  __device__ Unit read(u32 n, const Unit *__restrict__ inp) const {
    if (id[n] == no_id<Id>) return Unit{};
    return inp[offset[n] + u32(checked_index(id[n], src_dim)) * right];
  }

  // Does nothing and returns false if the ids are strided; this is checked only after the first loads of ids are
  // issued.
  __device__ bool run(const ActiveGrid &grid, const Unit *__restrict__ inp, Unit *__restrict__ out, size_t num_dims,
                      const size_t *__restrict__ info) {
    const size_t first = size_t(grid.block) * blockDim.x * batch + threadIdx.x, step = grid.step() * batch;
    u32 i = first < numel ? u32(first) : numel;
    read_ids(i);
    if (!is_contiguous<1>(num_dims, info)) return false;
    while (i < numel) {
      Unit values[batch];
#pragma unroll
      for (u32 n = 0; n < batch; ++n) values[n] = read(n, inp);
#pragma unroll
      for (u32 n = 0; n < batch; ++n) {
        if (n * blockDim.x < numel - i) out[i + n * blockDim.x] = values[n];
      }
      if (numel - i <= step) break;
      i += u32(step);
      read_ids(i);
    }
    return true;
  }
};

template <class Id, class Unit>
__device__ inline bool select(const ActiveGrid &grid, bool is_large, size_t numel, const Id *ids, const Unit *inp,
                              Unit *out, size_t left, size_t src_dim, size_t ids_dim, size_t right, size_t num_dims,
                              const size_t *info) {
  if (!is_large) {
    Select<1, Id, Unit> one{u32(numel), u32(left), u32(src_dim), u32(ids_dim), u32(right), ids};
    return one.run(grid, inp, out, num_dims, info);
  }
  Select<units_of_large, Id, Unit> several{u32(numel), u32(left), u32(src_dim), u32(ids_dim), u32(right), ids};
  return several.run(grid, inp, out, num_dims, info);
}

// The same for any sizes, and for strided ids.
template <class Id, class T>
__device__ inline void select_general(const ActiveGrid &grid, size_t numel, const Id *__restrict__ ids,
                                      const T *__restrict__ inp, T *__restrict__ out, size_t left, size_t src_dim,
                                      size_t ids_dim, size_t right, size_t num_dims, const size_t *__restrict__ info) {
  const bool contiguous = is_contiguous<1>(num_dims, info), wide = (numel | left * src_dim * right) >> 32;
  for (size_t i = grid.first(); i < numel; i += grid.step()) {
    size_t l = i;
    const size_t r = divide(l, right, wide);
    const Id id = ids[divide(l, ids_dim, wide)];
    T value{};
    if (id != no_id<Id>) {
      const size_t src_index = (l * src_dim + checked_index(id, src_dim)) * right + r;
      value = inp[contiguous ? src_index : wrapped_offset(src_index, num_dims, info, wide)];
    }
    out[i] = value;
  }
}

// info is the dims and strides of the ids; Candle applies them to the offset in the source, and reads the ids in order.
template <class Id, class T>
__device__ inline void index_select(size_t numel, size_t num_dims, const size_t *__restrict__ info, const Id *ids,
                                    const T *inp, T *out, size_t left, size_t src_dim, size_t ids_dim, size_t right) {
  constexpr int width = 16 / sizeof(T);
  using Packed = Pack<u32, 4>;  // words: compilers split a pack of bytes
  constexpr u32 large_shift = log2_of(width) + log2_units_of_large, large_grid = working_blocks_of_large << large_shift;
  if (blockIdx.x >= large_grid && is_idle_in_alternating_grid(large_shift)) return;
  const bool is_large = gridDim.x >= large_grid;
  const u32 shift = is_large ? large_shift : log2_of(width);
  if (numel == 0 || is_idle_block(shift)) return;
  const ActiveGrid grid = active_grid(shift);
  const bool wide = (numel | left * src_dim * right) >> 32;
  bool done = false;
  if (!wide && right % width == 0 && is_aligned<width>(inp) && is_aligned<width>(out)) {
    done = select(grid, is_large, numel / width, ids, reinterpret_cast<const Packed *>(inp),
                  reinterpret_cast<Packed *>(out), left, src_dim, ids_dim, right / width, num_dims, info);
  } else if (!wide) {
    done = select(grid, is_large, numel, ids, inp, out, left, src_dim, ids_dim, right, num_dims, info);
  }
  if (!done) select_general(grid, numel, ids, inp, out, left, src_dim, ids_dim, right, num_dims, info);
}

// out[l, k, r] = inp[l, ids[l, k, r], r] for `width` neighbours at a time: these have the same l, and their r are
// consecutive, or all 0 if right is 1.
template <int width, class Index, class Id, class T>
__device__ inline void gather(const ActiveGrid &grid, size_t numel, const Id *__restrict__ ids,
                              const T *__restrict__ inp, T *__restrict__ out, Index src_dim, Index ids_dim,
                              Index right) {
  for (size_t p = grid.first(); p < numel / width; p += grid.step()) {
    const size_t i = p * width;
    const Pack<Id, width> id = load_pack<width>(ids + i);
    Index l = Index(i), r = 0;
    if (right != 1) {
      l = Index(i) / right;
      r = Index(i) - l * right;
    }
    l /= ids_dim;
    const T *src_row = inp + size_t(l) * src_dim * right + r;
    Pack<T, width> values{};
#pragma unroll
    for (int k = 0; k < width; ++k) {
      const size_t column = right == 1 ? 0 : k;
      if (id.data[k] != no_id<Id>) values.data[k] = src_row[checked_index(id.data[k], src_dim) * right + column];
    }
    *reinterpret_cast<Pack<T, width> *>(out + i) = values;
  }
}

template <class Id, class T>
__device__ inline void gather(size_t numel, const Id *ids, const T *inp, T *out, size_t src_dim, size_t ids_dim,
                              size_t right) {
  constexpr int width = sizeof(T) == 8 ? 2 : 4;
  constexpr u32 shift = log2_of(width);
  if (is_idle_block(shift)) return;
  const ActiveGrid grid = active_grid(shift);
  if ((numel | src_dim | ids_dim | right) >> 32) {
    gather<1, size_t>(grid, numel, ids, inp, out, src_dim, ids_dim, right);
  } else if (numel % width == 0 && (right % width == 0 || (right == 1 && ids_dim % width == 0)) &&
             is_aligned<width>(ids) && is_aligned<width>(out)) {
    gather<width, u32>(grid, numel, ids, inp, out, src_dim, ids_dim, right);
  } else {
    gather<1, u32>(grid, numel, ids, inp, out, src_dim, ids_dim, right);
  }
}

}  // namespace candle
