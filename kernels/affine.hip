// out[i] = inp[i] * mul + add.
//
// Floats: the exact value, rounded once (f8: an f32 fused multiply-add, then rounded to f8). Integers wrap.
// A null info means contiguous. A null inp means in place: inp is out, and the strides are ignored.
#include "include/arithmetic.h"
#include "include/elementwise.h"

using namespace candle;

namespace {

template <class T>
struct Affine {
  static constexpr int max_per_thread = default_max_per_thread;
  T mul, add;

  __device__ T operator()(T x) const {
    if constexpr (is_f8<T>) {
      return narrow<f8>(candle::fma(widen(x), widen(mul), widen(add)));
    } else if constexpr (is_same<T, i64>) {
      return T(u64(x) * u64(mul) + u64(add));
    } else if constexpr (is_integer<T>) {
      return T(u32(x) * u32(mul) + u32(add));
    } else {
      return candle::fma(x, mul, add);
    }
  }
};

template <class T>
__device__ inline void affine(size_t numel, size_t num_dims, const size_t *info, const T *inp, T *out, T mul, T add) {
  map<true>(numel, num_dims, info, Affine<T>{mul, add}, out, inp);
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
