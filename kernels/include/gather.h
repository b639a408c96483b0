// index_select and gather. A thread takes several elements; see Part.
#pragma once

#include "elementwise.h"
#include "ids.h"

namespace candle {

// The offset of flat index i over dims and strides. Every dimension wraps, the outermost too: Candle passes the dims of
// the ids here, and they need not hold i.
__device__ inline size_t wrapped_offset(size_t i, size_t num_dims, const size_t *info, bool wide) {
  size_t offset = 0;
#pragma unroll 1
  for (size_t d = num_dims; d-- > 0;) offset += divide(i, info[d], wide) * info[num_dims + d];
  return offset;
}

// out[l, k, r] = inp[l, ids[k], r] of sizes that 32 bits hold. A thread reads `batch` units before it writes; a unit is
// an element or a pack of them along right; sizes are in units.
template <u32 batch, class Id, class Unit>
struct Select {
  u32 numel, left, src_dim, ids_dim, right;
  const Id *__restrict__ ids;
  Id id[batch]{};
  u32 row[batch]{};  // where the element would lie in the source if its id were 0

  __device__ void read_ids(size_t i, size_t step) {
#pragma unroll
    for (u32 n = 0; n < batch; ++n, i += step) {
      const u32 at = i < numel ? u32(i) : numel - 1;  // no branch between the reads
      u32 k = at / right;
      row[n] = at - k * right;
      if (left > 1) {
        const u32 l = k / ids_dim;
        k -= l * ids_dim;
        row[n] += l * src_dim * right;
      }
      id[n] = ids[k];
    }
  }

  __device__ Unit read(u32 n, const Unit *__restrict__ inp) const {
    if (id[n] == no_id<Id>) return Unit{};
    return inp[row[n] + u32(checked_index(id[n], src_dim)) * right];
  }

  // Nothing, and false, for ids with gaps between them; known only when the first ids are under way.
  __device__ bool run(const Part &part, const Unit *__restrict__ inp, Unit *__restrict__ out, size_t num_dims,
                      const size_t *__restrict__ info) {
    const size_t step = part.step();
    size_t i = part.first();
    read_ids(i, step);
    if (!is_contiguous<1>(num_dims, info)) return false;
    while (i < numel) {
      const Unit first = read(0, inp), second = read(batch - 1, inp);
      out[i] = first;
      if (batch > 1 && i + step < numel) out[i + step] = second;
      i += batch * step;
      if (i < numel) read_ids(i, step);
    }
    return true;
  }
};

template <class Id, class Unit>
__device__ inline bool select(const Part &part, bool many, size_t numel, const Id *ids, const Unit *inp, Unit *out,
                              size_t left, size_t src_dim, size_t ids_dim, size_t right, size_t num_dims,
                              const size_t *info) {
  if (!many) {
    Select<1, Id, Unit> one{u32(numel), u32(left), u32(src_dim), u32(ids_dim), u32(right), ids};
    return one.run(part, inp, out, num_dims, info);
  }
  Select<2, Id, Unit> two{u32(numel), u32(left), u32(src_dim), u32(ids_dim), u32(right), ids};
  return two.run(part, inp, out, num_dims, info);
}

// The same for any sizes, and for ids with gaps between them.
template <class Id, class T>
__device__ inline void select_any(const Part &part, size_t numel, const Id *__restrict__ ids, const T *__restrict__ inp,
                                  T *__restrict__ out, size_t left, size_t src_dim, size_t ids_dim, size_t right,
                                  size_t num_dims, const size_t *__restrict__ info) {
  const bool contiguous = is_contiguous<1>(num_dims, info), wide = (numel | left * src_dim * right) >> 32;
  for (size_t i = part.first(); i < numel; i += part.step()) {
    size_t l = i;
    const size_t r = divide(l, right, wide);
    const Id id = ids[divide(l, ids_dim, wide)];
    T value{};
    if (id != no_id<Id>) {
      const size_t at = (l * src_dim + checked_index(id, src_dim)) * right + r;
      value = inp[contiguous ? at : wrapped_offset(at, num_dims, info, wide)];
    }
    out[i] = value;
  }
}

// info holds the dims and strides of the ids; Candle applies them to the offset in the source, and reads ids in order.
template <class Id, class T>
__device__ inline void index_select(size_t numel, size_t num_dims, const size_t *__restrict__ info, const Id *ids,
                                    const T *inp, T *out, size_t left, size_t src_dim, size_t ids_dim, size_t right) {
  constexpr int width = 16 / sizeof(T);
  using Packed = Pack<u32, 4>;                           // compilers take a pack of bytes apart
  const bool many = gridDim.x >> log2_of(width) >= 512;  // blocks are left with several packs for a thread
  const u32 shift = log2_of(width) + (many ? 1 : 0);
  if (numel == 0 || is_idle_block(shift)) return;
  const Part part = active_grid(shift);
  const bool wide = (numel | left * src_dim * right) >> 32;
  bool done = false;
  if (!wide && right % width == 0 && is_aligned<width>(inp) && is_aligned<width>(out)) {
    done = select(part, many, numel / width, ids, reinterpret_cast<const Packed *>(inp),
                  reinterpret_cast<Packed *>(out), left, src_dim, ids_dim, right / width, num_dims, info);
  } else if (!wide) {
    done = select(part, many, numel, ids, inp, out, left, src_dim, ids_dim, right, num_dims, info);
  }
  if (!done) select_any(part, numel, ids, inp, out, left, src_dim, ids_dim, right, num_dims, info);
}

// out[l, k, r] = inp[l, ids[l, k, r], r], of `width` neighbours at a time: they have one l, and r is one of
// a row of them, or 0.
template <int width, class Index, class Id, class T>
__device__ inline void gather(const Part &part, size_t numel, const Id *__restrict__ ids, const T *__restrict__ inp,
                              T *__restrict__ out, Index src_dim, Index ids_dim, Index right) {
  for (size_t p = part.first(); p < numel / width; p += part.step()) {
    const size_t i = p * width;
    const Pack<Id, width> id = load_pack<width>(ids + i);
    Index l = Index(i), r = 0;
    if (right != 1) {
      l = Index(i) / right;
      r = Index(i) - l * right;
    }
    l /= ids_dim;
    const T *from = inp + size_t(l) * src_dim * right + r;
    Pack<T, width> values{};
#pragma unroll
    for (int k = 0; k < width; ++k) {
      const size_t along = right == 1 ? 0 : k;
      if (id.at[k] != no_id<Id>) values.at[k] = from[checked_index(id.at[k], src_dim) * right + along];
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
  const Part part = active_grid(shift);
  if ((numel | src_dim | ids_dim | right) >> 32) {
    gather<1, size_t>(part, numel, ids, inp, out, src_dim, ids_dim, right);
  } else if (numel % width == 0 && (right % width == 0 || (right == 1 && ids_dim % width == 0)) &&
             is_aligned<width>(ids) && is_aligned<width>(out)) {
    gather<width, u32>(part, numel, ids, inp, out, src_dim, ids_dim, right);
  } else {
    gather<1, u32>(part, numel, ids, inp, out, src_dim, ids_dim, right);
  }
}

}  // namespace candle
