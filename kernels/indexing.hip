// index_select, gather, index_add, scatter and scatter_add.
//
// A tensor is left x dim x right, row-major, dim being the indexed dimension. The largest value of the id's type means
// "none": it selects zero and adds or stores nothing. Any other id outside the dimension is a fault.
#include "include/elementwise.h"
#include "include/ids.h"
#include "include/number.h"

using namespace candle;

namespace {

// The offset of flat index i over dims and strides. Every dimension wraps, the outermost too: Candle passes the dims of
// the ids here, and they need not hold i.
__device__ inline size_t wrapped_offset(size_t i, size_t num_dims, const size_t *info, bool wide) {
  size_t offset = 0;
  for (size_t d = num_dims; d-- > 0;) offset += divide(i, info[d], wide) * info[num_dims + d];
  return offset;
}

// The units of a thread: from `first` on, every step-th.
struct Share {
  size_t first, step;
};

// Candle launches a thread per element; threads here take `elements` of them at a time. So one block in that many
// works, and the others end before they read anything.
template <int elements>
__device__ inline bool is_idle() {
  return blockIdx.x % elements != 0;
}

template <int elements>
__device__ inline Share share() {
  const u32 blocks = (gridDim.x + elements - 1) / elements;
  return {size_t(blockIdx.x / elements) * blockDim.x + threadIdx.x, size_t(blocks) * blockDim.x};
}

constexpr int select_batch = 2;  // what a thread reads before it writes

// out[l, k, r] = inp[l, ids[k], r]. Unit is an element or a pack of them along right; sizes are in units.
template <class Index, class Id, class Unit>
__device__ inline void select(const Share &own, size_t numel, const Id *__restrict__ ids, const Unit *__restrict__ inp,
                              Unit *__restrict__ out, Index left, Index src_dim, Index ids_dim, Index right) {
  for (size_t i = own.first; i < numel; i += select_batch * own.step) {
    Id id[select_batch];
    Index l[select_batch], r[select_batch];
#pragma unroll
    for (int n = 0; n < select_batch; ++n) {
      const Index at = Index(i + n * own.step < numel ? i + n * own.step : i);
      Index k = at / right;
      l[n] = 0;
      r[n] = at - k * right;
      if (left > 1) {
        l[n] = k / ids_dim;
        k -= l[n] * ids_dim;
      }
      id[n] = ids[k];
    }
    Unit values[select_batch]{};
#pragma unroll
    for (int n = 0; n < select_batch; ++n) {
      if (id[n] != no_id<Id>) values[n] = inp[(size_t(l[n]) * src_dim + checked(id[n], src_dim)) * right + r[n]];
    }
#pragma unroll
    for (int n = 0; n < select_batch; ++n) {
      if (i + n * own.step < numel) out[i + n * own.step] = values[n];
    }
  }
}

// The same for any sizes, and for ids with gaps between them.
template <class Id, class T>
__device__ inline void select_wrapped(const Share &own, size_t numel, size_t num_dims, const size_t *__restrict__ info,
                                      const Id *__restrict__ ids, const T *__restrict__ inp, T *__restrict__ out,
                                      size_t src_dim, size_t ids_dim, size_t right) {
  const bool wide = numel >> 32 || numel / (ids_dim ? ids_dim : 1) * src_dim >> 32;
  for (size_t i = own.first; i < numel; i += own.step) {
    size_t l = i;
    const size_t r = divide(l, right, wide);
    const Id id = ids[divide(l, ids_dim, wide)];
    T value{};
    if (id != no_id<Id>)
      value = inp[wrapped_offset((l * src_dim + checked(id, src_dim)) * right + r, num_dims, info, wide)];
    out[i] = value;
  }
}

// info holds the dims and strides of the ids; Candle applies them to the offset in the source, and reads ids in order.
template <class Id, class T>
__device__ inline void index_select(size_t numel, size_t num_dims, const size_t *__restrict__ info, const Id *ids,
                                    const T *inp, T *out, size_t left, size_t src_dim, size_t ids_dim, size_t right) {
  constexpr int width = pack_width(any_number, sizeof(T));
  if (is_idle<select_batch * width>()) return;
  using Packed = Pack<T, width>;
  const Share own = share<select_batch * width>();
  if (!is_contiguous<1>(num_dims, info)) {
    select_wrapped(own, numel, num_dims, info, ids, inp, out, src_dim, ids_dim, right);
  } else if ((numel | left | src_dim | ids_dim | right) >> 32) {
    select<size_t>(own, numel, ids, inp, out, left, src_dim, ids_dim, right);
  } else if (width > 1 && right % width == 0 && is_aligned<width>(inp) && is_aligned<width>(out)) {
    select<u32>(own, numel / width, ids, reinterpret_cast<const Packed *>(inp), reinterpret_cast<Packed *>(out), left,
                src_dim, ids_dim, right / width);
  } else {
    select<u32>(own, numel, ids, inp, out, left, src_dim, ids_dim, right);
  }
}

// out[l, k, r] = inp[l, ids[l, k, r], r], of `width` neighbours at a time: they have one l, and r is one of
// a row of them, or 0.
template <int width, class Index, class Id, class T>
__device__ inline void gather(const Share &own, size_t numel, const Id *__restrict__ ids, const T *__restrict__ inp,
                              T *__restrict__ out, Index src_dim, Index ids_dim, Index right) {
  for (size_t p = own.first; p < numel / width; p += own.step) {
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
      if (id.at[k] != no_id<Id>) values.at[k] = from[checked(id.at[k], src_dim) * right + along];
    }
    *reinterpret_cast<Pack<T, width> *>(out + i) = values;
  }
}

template <class Id, class T>
__device__ inline void gather(size_t numel, const Id *ids, const T *inp, T *out, size_t src_dim, size_t ids_dim,
                              size_t right) {
  constexpr int width = sizeof(T) == 8 ? 2 : 4;
  if (is_idle<width>()) return;
  const Share own = share<width>();
  if ((numel | src_dim | ids_dim | right) >> 32) {
    gather<1, size_t>(own, numel, ids, inp, out, src_dim, ids_dim, right);
  } else if (numel % width == 0 && (right % width == 0 || (right == 1 && ids_dim % width == 0)) &&
             is_aligned<width>(ids) && is_aligned<width>(out)) {
    gather<width, u32>(own, numel, ids, inp, out, src_dim, ids_dim, right);
  } else {
    gather<1, u32>(own, numel, ids, inp, out, src_dim, ids_dim, right);
  }
}

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
    } else if constexpr (same<T, i64>) {
      return T(u64(old) + u64(x));
    } else {
      return T(old + x);
    }
  }
};

// The rows of out that a thread writes to.
struct Rows {
  size_t begin, end;
};

// out[l, id, r] takes in inp[l, j, r] for j in order, so that the last of equal ids is the last to write. Ids lie
// id_step apart. What several steps read is read before the first of them writes; where a step changes what a later one
// has read, that one takes the result.
template <class Op, class Id, class T>
__device__ inline void put_column(const Id *__restrict__ ids, size_t id_step, const T *__restrict__ inp,
                                  T *__restrict__ out, const Rows &rows, size_t src_dim, size_t dst_dim, size_t right) {
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
#pragma unroll
    for (int k = 0; k < batch; ++k) {
      if (id[k] != no_id<Id> && checked(id[k], dst_dim) - rows.begin >= rows.end - rows.begin) id[k] = no_id<Id>;
      if constexpr (Op::reads) old[k] = id[k] != no_id<Id> ? out[size_t(id[k]) * right] : T{};
    }
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

// One thread owns part of the rows of (l, r) and with it every place there that its ids can name: no atomics, one
// order.
//
// Ids that differ from one r to the next make every access to out one of its own to memory, unless the places of all
// threads that run together stay in the cache. For that, threads divide the rows of few columns among them, where they
// would hold the whole of many columns; all of them then read the ids, most from the cache next to them.
template <class Op, bool ids_like_inp, class Id, class T>
__device__ inline void put(const Id *__restrict__ ids, const T *__restrict__ inp, T *__restrict__ out, size_t left,
                           size_t src_dim, size_t dst_dim, size_t right) {
  constexpr size_t cache = size_t(32) << 20, together = 32;
  const size_t columns = left * right, step = thread_count();
  const size_t at_once = (columns < step ? columns : step) * dst_dim * sizeof(T);
  u32 log_parts = 0;
  while (ids_like_inp && log_parts < 5 && at_once >> log_parts > cache) ++log_parts;
  const size_t part_rows = (dst_dim + (size_t(1) << log_parts) - 1) >> log_parts;
  const size_t groups = (columns + together - 1) / together;
  const bool wide = columns >> 32;
  for (size_t i = thread_index(); i < groups * together << log_parts; i += step) {
    const size_t warp = i / together, part = warp & ((size_t(1) << log_parts) - 1);
    size_t l = (warp >> log_parts) * together + i % together;
    if (l >= columns) continue;
    const size_t r = divide(l, right, wide);
    const size_t from = l * src_dim * right + r;
    const Rows rows{part * part_rows, (part + 1) * part_rows};
    T *to = out + l * dst_dim * right + r;
    if constexpr (ids_like_inp) {
      put_column<Op>(ids + from, right, inp + from, to, rows, src_dim, dst_dim, right);
    } else {
      put_column<Op>(ids, 1, inp + from, to, rows, src_dim, dst_dim, right);
    }
  }
}

}  // namespace

// The parameters are Candle's; not all are needed.
#pragma clang diagnostic ignored "-Wunused-parameter"

#define INDEX_SELECT(Id, T)                                                                                    \
  extern "C" __global__ void __launch_bounds__(1024, 2) is_##Id##_##T(                                         \
      const size_t numel, const size_t num_dims, const size_t *info, const Id *ids, const T *inp, T *out,      \
      const size_t left_size, const size_t src_dim_size, const size_t ids_dim_size, const size_t right_size) { \
    index_select(numel, num_dims, info, ids, inp, out, left_size, src_dim_size, ids_dim_size, right_size);     \
  }

#define GATHER(Id, T)                                                                                    \
  extern "C" __global__ void __launch_bounds__(1024)                                                     \
      gather_##Id##_##T(const size_t numel, const Id *ids, const T *inp, T *out, const size_t left_size, \
                        const size_t src_dim_size, const size_t ids_dim_size, const size_t right_size) { \
    gather(numel, ids, inp, out, src_dim_size, ids_dim_size, right_size);                                \
  }

#define INDEX_ADD(Id, T)                                                                                    \
  extern "C" __global__ void __launch_bounds__(1024)                                                        \
      ia_##Id##_##T(const Id *ids, const size_t ids_dim_size, const T *inp, T *out, const size_t left_size, \
                    const size_t src_dim_size, const size_t dst_dim_size, const size_t right_size) {        \
    put<Add, false>(ids, inp, out, left_size, ids_dim_size, dst_dim_size, right_size);                      \
  }

#define SCATTER(Id, T)                                                                                     \
  extern "C" __global__ void __launch_bounds__(1024)                                                       \
      s_##Id##_##T(const Id *ids, const T *inp, T *out, const size_t left_size, const size_t src_dim_size, \
                   const size_t dst_dim_size, const size_t right_size) {                                   \
    put<Store, true>(ids, inp, out, left_size, src_dim_size, dst_dim_size, right_size);                    \
  }

#define SCATTER_ADD(Id, T)                                                                                  \
  extern "C" __global__ void __launch_bounds__(1024)                                                        \
      sa_##Id##_##T(const Id *ids, const T *inp, T *out, const size_t left_size, const size_t src_dim_size, \
                    const size_t dst_dim_size, const size_t right_size) {                                   \
    put<Add, true>(ids, inp, out, left_size, src_dim_size, dst_dim_size, right_size);                       \
  }

// clang-format off
INDEX_SELECT(u8, bf16) INDEX_SELECT(u8, f16) INDEX_SELECT(u8, f32) INDEX_SELECT(u8, f64)
INDEX_SELECT(u8, u8) INDEX_SELECT(u8, u32) INDEX_SELECT(u8, i64) INDEX_SELECT(u8, f8_e4m3)
INDEX_SELECT(u32, bf16) INDEX_SELECT(u32, f16) INDEX_SELECT(u32, f32) INDEX_SELECT(u32, f64)
INDEX_SELECT(u32, u8) INDEX_SELECT(u32, u32) INDEX_SELECT(u32, i64) INDEX_SELECT(u32, f8_e4m3)
INDEX_SELECT(i64, bf16) INDEX_SELECT(i64, f16) INDEX_SELECT(i64, f32) INDEX_SELECT(i64, f64)
INDEX_SELECT(i64, u8) INDEX_SELECT(i64, u32) INDEX_SELECT(i64, i64) INDEX_SELECT(i64, f8_e4m3)
INDEX_SELECT(i16, f8_e4m3) INDEX_SELECT(i32, f8_e4m3)

GATHER(u8, bf16) GATHER(u8, f16) GATHER(u8, f32) GATHER(u8, f64)
GATHER(u8, u8) GATHER(u8, u32) GATHER(u8, i64) GATHER(u8, f8_e4m3)
GATHER(u32, bf16) GATHER(u32, f16) GATHER(u32, f32) GATHER(u32, f64)
GATHER(u32, u8) GATHER(u32, u32) GATHER(u32, i64) GATHER(u32, f8_e4m3)
GATHER(i64, bf16) GATHER(i64, f16) GATHER(i64, f32) GATHER(i64, f64)
GATHER(i64, u8) GATHER(i64, u32) GATHER(i64, i64) GATHER(i64, f8_e4m3)
GATHER(i16, f8_e4m3) GATHER(i32, f8_e4m3)

// Candle's f8 versions of the two additions take ids unchecked, which has no defined result for those that others skip
// or refuse; here f8 is like every type.
INDEX_ADD(u8, bf16) INDEX_ADD(u8, f16) INDEX_ADD(u8, f32) INDEX_ADD(u8, f64)
INDEX_ADD(u8, u8) INDEX_ADD(u8, u32) INDEX_ADD(u8, i64) INDEX_ADD(u8, f8_e4m3)
INDEX_ADD(u32, bf16) INDEX_ADD(u32, f16) INDEX_ADD(u32, f32) INDEX_ADD(u32, f64)
INDEX_ADD(u32, u8) INDEX_ADD(u32, u32) INDEX_ADD(u32, i64) INDEX_ADD(u32, f8_e4m3)
INDEX_ADD(i64, bf16) INDEX_ADD(i64, f16) INDEX_ADD(i64, f32) INDEX_ADD(i64, f64)
INDEX_ADD(i64, u8) INDEX_ADD(i64, u32) INDEX_ADD(i64, i64) INDEX_ADD(i64, f8_e4m3)
INDEX_ADD(i16, f8_e4m3) INDEX_ADD(i32, f8_e4m3)

SCATTER(u8, bf16) SCATTER(u8, f16) SCATTER(u8, f32) SCATTER(u8, f64) SCATTER(u8, u8) SCATTER(u8, u32) SCATTER(u8, i64)
SCATTER(u32, bf16) SCATTER(u32, f16) SCATTER(u32, f32) SCATTER(u32, f64) SCATTER(u32, u8) SCATTER(u32, u32)
SCATTER(u32, i64)
SCATTER(i64, bf16) SCATTER(i64, f16) SCATTER(i64, f32) SCATTER(i64, f64) SCATTER(i64, u8) SCATTER(i64, u32)
SCATTER(i64, i64)

SCATTER_ADD(u8, bf16) SCATTER_ADD(u8, f16) SCATTER_ADD(u8, f32) SCATTER_ADD(u8, f64)
SCATTER_ADD(u8, u8) SCATTER_ADD(u8, u32) SCATTER_ADD(u8, i64) SCATTER_ADD(u8, f8_e4m3)
SCATTER_ADD(u32, bf16) SCATTER_ADD(u32, f16) SCATTER_ADD(u32, f32) SCATTER_ADD(u32, f64)
SCATTER_ADD(u32, u8) SCATTER_ADD(u32, u32) SCATTER_ADD(u32, i64) SCATTER_ADD(u32, f8_e4m3)
SCATTER_ADD(i64, bf16) SCATTER_ADD(i64, f16) SCATTER_ADD(i64, f32) SCATTER_ADD(i64, f64)
SCATTER_ADD(i64, u8) SCATTER_ADD(i64, u32) SCATTER_ADD(i64, i64) SCATTER_ADD(i64, f8_e4m3)
SCATTER_ADD(i16, f8_e4m3) SCATTER_ADD(i32, f8_e4m3)
    // clang-format on
