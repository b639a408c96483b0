// out[i] = ids[i] != 0 ? t[i] : f[i], bit for bit.
//
// info is dims, ids strides, t strides, f strides. It is never null.
#include "include/elementwise.h"

using namespace candle;

namespace {

template <class Id, class T>
struct Where {
  static constexpr int max_per_thread = default_max_per_thread;

  __device__ T operator()(Id id, T t, T f) const { return id != 0 ? t : f; }
};

}  // namespace

#define WHERE(Id, T)                                                                                                  \
  extern "C" __global__ void __launch_bounds__(1024, 2) where_##Id##_##T(                                             \
      const size_t numel, const size_t num_dims, const size_t *info, const Id *ids, const T *t, const T *f, T *out) { \
    CANDLE_ASSUME(info != nullptr);                                                                                   \
    map<false, true>(numel, num_dims, info, Where<Id, T>{}, out, ids, t, f);                                          \
  }

// clang-format off
WHERE(u8, bf16) WHERE(u8, f16) WHERE(u8, f32) WHERE(u8, f64)
WHERE(u8, u8) WHERE(u8, u32) WHERE(u8, i64) WHERE(u8, fp8_e4m3)
WHERE(u32, bf16) WHERE(u32, f16) WHERE(u32, f32) WHERE(u32, f64)
WHERE(u32, u8) WHERE(u32, u32) WHERE(u32, i64) WHERE(u32, fp8_e4m3)
WHERE(i64, bf16) WHERE(i64, f16) WHERE(i64, f32) WHERE(i64, f64)
WHERE(i64, u8) WHERE(i64, u32) WHERE(i64, i64) WHERE(i64, fp8_e4m3)
WHERE(i16, fp8_e4m3)
WHERE(i32, fp8_e4m3)
    // clang-format on
