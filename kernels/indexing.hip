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

struct InPlace {
  __device__ size_t operator()(size_t i) const { return i; }
};

// out[l, k, r] = inp[l, ids[k], r]. Unit is an element or a pack of them along right; sizes are in units.
template <class Id, class Unit, class Place>
__device__ inline void select(size_t numel, const Id *__restrict__ ids, const Unit *__restrict__ inp,
                              Unit *__restrict__ out, size_t src_dim, size_t ids_dim, size_t right,
                              const Place &place) {
  const bool wide = numel >> 32;
  const size_t step = thread_count();
  for (size_t i = thread_index(); i < numel; i += step) {
    size_t l = i;
    const size_t r = divide(l, right, wide);
    const Id id = ids[divide(l, ids_dim, wide)];
    Unit value{};
    if (id != no_id<Id>) value = inp[place((l * src_dim + checked(id, src_dim)) * right + r)];
    out[i] = value;
  }
}

// info holds the dims and strides of the ids; Candle applies them to the offset in the source, and reads ids in order.
template <class Id, class T>
__device__ inline void index_select(size_t numel, size_t num_dims, const size_t *__restrict__ info, const Id *ids,
                                    const T *inp, T *out, size_t src_dim, size_t ids_dim, size_t right) {
  constexpr int width = pack_width(any_number, sizeof(T));
  using Packed = Pack<T, width>;
  if (!is_contiguous<1>(num_dims, info)) {
    const bool wide = numel >> 32 || numel / (ids_dim ? ids_dim : 1) * src_dim >> 32;
    select(numel, ids, inp, out, src_dim, ids_dim, right,
           [=](size_t i) { return wrapped_offset(i, num_dims, info, wide); });
  } else if (width > 1 && right % width == 0 && is_aligned<width>(inp) && is_aligned<width>(out)) {
    select(numel / width, ids, reinterpret_cast<const Packed *>(inp), reinterpret_cast<Packed *>(out), src_dim, ids_dim,
           right / width, InPlace{});
  } else {
    select(numel, ids, inp, out, src_dim, ids_dim, right, InPlace{});
  }
}

// out[l, k, r] = inp[l, ids[l, k, r], r]
template <class Id, class T>
__device__ inline void gather(size_t numel, const Id *__restrict__ ids, const T *__restrict__ inp, T *__restrict__ out,
                              size_t src_dim, size_t ids_dim, size_t right) {
  const bool wide = numel >> 32;
  const size_t step = thread_count();
  for (size_t i = thread_index(); i < numel; i += step) {
    const Id id = ids[i];
    T value{};
    if (id != no_id<Id>) {
      size_t l = i;
      const size_t r = divide(l, right, wide);
      divide(l, ids_dim, wide);
      value = inp[(l * src_dim + checked(id, src_dim)) * right + r];
    }
    out[i] = value;
  }
}

struct Store {
  template <class T>
  static __device__ T put(T, T x) {
    return x;
  }
};

// In T: every step rounds, integers wrap.
struct Add {
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

// The places of a thread: out[l, id, r] takes in inp[l, j, r] for j in order, so that the last of equal ids is the
// last to write. Ids lie id_step apart.
template <class Op, class Id, class T>
__device__ inline void put_column(const Id *__restrict__ ids, size_t id_step, const T *__restrict__ inp, T *out,
                                  size_t src_dim, size_t dst_dim, size_t right) {
#pragma unroll 4
  for (size_t j = 0; j < src_dim; ++j) {
    const Id id = ids[j * id_step];
    const T x = inp[j * right];
    if (id == no_id<Id>) continue;
    T *place = out + checked(id, dst_dim) * right;
    *place = Op::put(*place, x);
  }
}

// One thread owns (l, r) and with it every place that its ids can name: no atomics, one order.
template <class Op, bool ids_like_inp, class Id, class T>
__device__ inline void put(const Id *__restrict__ ids, const T *__restrict__ inp, T *out, size_t left, size_t src_dim,
                           size_t dst_dim, size_t right) {
  const size_t columns = left * right;
  const bool wide = columns >> 32;
  const size_t step = thread_count();
  for (size_t i = thread_index(); i < columns; i += step) {
    size_t l = i;
    const size_t r = divide(l, right, wide);
    const size_t from = l * src_dim * right + r;
    T *to = out + l * dst_dim * right + r;
    if constexpr (ids_like_inp) {
      put_column<Op>(ids + from, right, inp + from, to, src_dim, dst_dim, right);
    } else {
      put_column<Op>(ids, 1, inp + from, to, src_dim, dst_dim, right);
    }
  }
}

}  // namespace

// The parameters are Candle's; not all are needed.
#pragma clang diagnostic ignored "-Wunused-parameter"

#define INDEX_SELECT(Id, T)                                                                                    \
  extern "C" __global__ void __launch_bounds__(1024) is_##Id##_##T(                                            \
      const size_t numel, const size_t num_dims, const size_t *info, const Id *ids, const T *inp, T *out,      \
      const size_t left_size, const size_t src_dim_size, const size_t ids_dim_size, const size_t right_size) { \
    index_select(numel, num_dims, info, ids, inp, out, src_dim_size, ids_dim_size, right_size);                \
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
