// out[i] = inp[i], converted to another type. A null info means contiguous.
#include "include/convert.h"
#include "include/elementwise.h"

using namespace candle;

namespace {

template <class To, class From>
struct Cast {
  static constexpr int max_per_thread = default_max_per_thread;

  __device__ To operator()(From x) const { return convert<To>(x); }
};

}  // namespace

#define CAST(From, To)                                                                                              \
  extern "C" __global__ void __launch_bounds__(1024, 2)                                                             \
      cast_##From##_##To(const size_t numel, const size_t num_dims, const size_t *info, const From *inp, To *out) { \
    map(numel, num_dims, info, Cast<To, From>{}, out, inp);                                                         \
  }

// clang-format off
CAST(u8, u8) CAST(u8, u32) CAST(u8, i64) CAST(u8, bf16) CAST(u8, f16)
CAST(u8, f32) CAST(u8, f64) CAST(u8, f8_e4m3)
CAST(u32, u8) CAST(u32, u32) CAST(u32, i64) CAST(u32, bf16) CAST(u32, f16)
CAST(u32, f32) CAST(u32, f64)
CAST(i32, f8_e4m3)
CAST(i64, u8) CAST(i64, u32) CAST(i64, i64) CAST(i64, f32) CAST(i64, f64)
CAST(bf16, u8) CAST(bf16, u32) CAST(bf16, bf16) CAST(bf16, f16) CAST(bf16, f32)
CAST(bf16, f64) CAST(bf16, f8_e4m3)
CAST(f16, u8) CAST(f16, u32) CAST(f16, bf16) CAST(f16, f16) CAST(f16, f32)
CAST(f16, f64) CAST(f16, f8_e4m3)
CAST(f32, u8) CAST(f32, u32) CAST(f32, i64) CAST(f32, bf16) CAST(f32, f16)
CAST(f32, f32) CAST(f32, f64) CAST(f32, f8_e4m3)
CAST(f64, u8) CAST(f64, u32) CAST(f64, i64) CAST(f64, bf16) CAST(f64, f16)
CAST(f64, f32) CAST(f64, f64) CAST(f64, f8_e4m3)
CAST(f8_e4m3, u8) CAST(f8_e4m3, i32) CAST(f8_e4m3, bf16) CAST(f8_e4m3, f16) CAST(f8_e4m3, f32)
CAST(f8_e4m3, f64) CAST(f8_e4m3, f8_e4m3)
    // clang-format on
