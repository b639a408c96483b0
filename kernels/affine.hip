// out[i] = inp[i] * mul + add.
//
// Floats: one rounding of the exact value (f8: f32 fused multiply-add, then encoded). Integers wrap.
// A null info means contiguous; a null inp means in place: out is read and the strides are ignored.
#include "include/elementwise.h"
#include "include/number.h"

using namespace candle;

namespace {

template <class T>
struct Affine {
  static constexpr int most_per_thread = any_number;
  T mul, add;

  __device__ T operator()(T x) const {
    if constexpr (is_f8<T>) {
      return narrow<f8>(fused(widen(x), widen(mul), widen(add)));
    } else if constexpr (same<T, i64>) {
      return T(u64(x) * u64(mul) + u64(add));
    } else if constexpr (is_integer<T>) {
      return T(u32(x) * u32(mul) + u32(add));
    } else {
      return fused(x, mul, add);
    }
  }
};

template <class T>
__device__ inline void affine(size_t numel, size_t num_dims, const size_t *info, const T *inp, T *out, T mul, T add) {
  if (!inp) {
    inp = out;
    info = nullptr;
  }
  map(numel, num_dims, info, Affine<T>{mul, add}, out, inp);
}

}  // namespace

#define AFFINE(T)                                                                                                      \
  extern "C" __global__ void __launch_bounds__(1024, 2) affine_##T(                                                    \
      const size_t numel, const size_t num_dims, const size_t *info, const T *inp, T *out, const T mul, const T add) { \
    affine<T>(numel, num_dims, info, inp, out, mul, add);                                                              \
  }

AFFINE(bf16)
AFFINE(f16)
AFFINE(f32)
AFFINE(f64)
AFFINE(f8_e4m3)
AFFINE(u8)
AFFINE(u32)
AFFINE(i16)
AFFINE(i32)
AFFINE(i64)
