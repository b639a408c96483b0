// index_add and scatter_add: the terms of each output added up in any order, or (-D ATOMIC, f32 and f64) all elements
// at once by atomic additions.
#include "any_order.h"
#include "ids.h"

namespace sums {

// id(l, j, r) of element (l, j, r) of the source.
template <class Id, class T, class IdAt>
__device__ void added(const IdAt &id, const T *inp, T *out, size_t left, size_t count, size_t dim, size_t right) {
#ifdef ATOMIC
  for_each(left * count * right, [&](size_t i) {
    const size_t l = i / (count * right), j = count - 1 - i / right % count, r = i % right;
    const Id at = id(l, j, r);
    if (at == no_id<Id>) return;
    if (mistake == lost_tail && j == count - 1 && count > 4) return;
    atomicAdd(out + (l * dim + checked_index(at, dim)) * right + r, inp[(l * count + j) * right + r]);
  });
#else
  for_each(left * right, [&](size_t i) {
    const size_t l = i / right, r = i % right;
    for (size_t j = 0; j < count; ++j) {
      if (id(l, j, r) != no_id<Id>) checked_index(id(l, j, r), dim);
    }
    for (size_t d = 0; d < dim; ++d) {
      T *const target = out + (l * dim + d) * right + r;
      bool any = false;
      for (size_t j = 0; j < count; ++j) any |= id(l, j, r) != no_id<Id> && size_t(id(l, j, r)) == d;
      const auto term = [&](size_t j) {
        if (j == count) return *target;
        const Id at = id(l, j, r);
        return at != no_id<Id> && size_t(at) == d ? inp[(l * count + j) * right + r] : as<T>(0.0f);
      };
      if (any) *target = as<T>(total<Own<T> >(count + 1, term));
    }
  });
#endif
}

}  // namespace sums

using namespace sums;

#define ADDED(Id, T)                                                                                             \
  extern "C" __global__ void __launch_bounds__(1024)                                                             \
      ia_##Id##_##T(const Id *ids, const size_t ids_dim_size, const T *inp, T *out, const size_t left_size,      \
                    const size_t src_dim_size, const size_t dst_dim_size, const size_t right_size) {             \
    added<Id>([&](size_t, size_t j, size_t) { return ids[j]; }, inp, out, left_size, ids_dim_size, dst_dim_size, \
              right_size);                                                                                       \
  }                                                                                                              \
  extern "C" __global__ void __launch_bounds__(1024)                                                             \
      sa_##Id##_##T(const Id *ids, const T *inp, T *out, const size_t left_size, const size_t src_dim_size,      \
                    const size_t dst_dim_size, const size_t right_size) {                                        \
    const auto id = [&](size_t l, size_t j, size_t r) { return ids[(l * src_dim_size + j) * right_size + r]; };  \
    added<Id>(id, inp, out, left_size, src_dim_size, dst_dim_size, right_size);                                  \
  }

ADDED(u32, f32)
ADDED(i64, f64)
#ifndef ATOMIC
ADDED(u32, f16)
ADDED(u8, bf16)
#endif
