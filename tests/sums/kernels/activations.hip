// Activations and rotary embedding in other forms than Candle's, computed in COMPUTE and rounded once (-D COMPUTE=f64,
// or f32 for what is not wider). -D FORM=stable: no power above 1; product: x * sigmoid(x), and the cube inside gelu as
// x * (1 + c x^2), unfused; by_sigmoid: gelu as x / (1 + exp(-2u)), by_tail: where x is below -4 alone; by_expm1: elu.
// Mistakes: -D MISTAKE=truncated, other_gelu, linear (a power of a small number as 1 + x), naive, short_constant (ten
// digits), no_tail (gelu is 0 below -4).
#include "arithmetic.h"
#include "elementwise.h"

using namespace candle;

namespace {

enum Form { plain, stable, product, by_sigmoid, by_tail, by_expm1 };
enum Mistake { none, truncated, other_gelu, linear, naive, short_constant, no_tail };

#ifndef FORM
#define FORM plain
#endif
#ifndef MISTAKE
#define MISTAKE none
#endif
#ifndef COMPUTE
#define COMPUTE f64
#endif

constexpr Form form = FORM;
constexpr Mistake mistake = MISTAKE;

template <class A, class B>
struct Wider {
  using type = A;
};
template <>
struct Wider<f32, f64> {
  using type = f64;
};
template <class T>
using Compute = typename Wider<COMPUTE, T>::type;

__device__ inline f32 c_exp(f32 x) { return expf(x); }
__device__ inline f64 c_exp(f64 x) { return exp(x); }
__device__ inline f32 c_tanh(f32 x) { return tanhf(x); }
__device__ inline f64 c_tanh(f64 x) { return tanh(x); }
__device__ inline f32 c_erf(f32 x) { return erff(x); }
__device__ inline f64 c_erf(f64 x) { return erf(x); }
__device__ inline f32 c_erfc(f32 x) { return erfcf(x); }
__device__ inline f64 c_erfc(f64 x) { return erfc(x); }

__device__ inline f32 c_expm1(f32 x) { return expm1f(x); }
__device__ inline f64 c_expm1(f64 x) { return expm1(x); }

template <class W>
__device__ inline bool is_taken_as_linear(W x) {
  return mistake == linear && x < W(0.0625) && x > W(-0.0625);
}
template <class W>
__device__ inline W power(W x) {
  return is_taken_as_linear(x) ? W(1) + x : c_exp(x);
}

template <class T>
struct Of {
  using W = Compute<T>;

  static __device__ T rounded(W x) {
    if constexpr (mistake == truncated && sizeof(T) == 2) {
      T nearest = narrow<T>(x);
      if (nearest.bits & 0x7fff) nearest.bits -= (widen(nearest) < 0 ? -W(widen(nearest)) > -x : W(widen(nearest)) > x);
      return nearest;
    } else if constexpr (is_same<T, W>) {
      return x;
    } else {
      return narrow<T>(x);
    }
  }

  static __device__ W sigmoid(W x) {
    if (mistake == naive) return W(1) - W(1) / (W(1) + power(x));
    if (form == stable && x < W(0)) return power(x) / (W(1) + power(x));
    return W(1) / (W(1) + power(-x));
  }

  static __device__ W silu(W x) { return form == plain && mistake != naive ? x / (W(1) + power(-x)) : x * sigmoid(x); }

  static __device__ W gelu(W x) {
#pragma clang fp contract(off)
    if (mistake == other_gelu) return W(0.5) * x * (W(1) + c_erf(x * W(0.7071067811865476)));
    const W inner = form == product ? x * (W(1) + W(0.044715) * x * x) : x + W(0.044715) * (x * x * x);
    const W u = W(mistake == short_constant ? 0.7978845608 : 0.7978845608028654) * inner;
    if (mistake == no_tail && x < W(-4)) return W(-0.0);
    if (form == by_sigmoid || (form == by_tail && x < W(-4))) return x / (W(1) + c_exp(W(-2) * u));
    const W tail = W(1) + c_tanh(u);
    return form == stable ? x * W(0.5) * tail : W(0.5) * x * tail;
  }

  static __device__ W elu(W x, W alpha) {
    if (x > W(0)) return x;
    if (form == by_expm1) return alpha * (is_taken_as_linear(x) ? x : c_expm1(x));
    return alpha * (power(x) - W(1));
  }
};

#define ACTIVATION(name)                                                                 \
  template <class T>                                                                     \
  struct name {                                                                          \
    static constexpr int max_per_thread = 1;                                             \
    __device__ T operator()(T x) const { return Of<T>::rounded(Of<T>::name(widen(x))); } \
  };
ACTIVATION(silu)
ACTIVATION(sigmoid)
ACTIVATION(gelu)

template <class T>
struct elu {
  static constexpr int max_per_thread = 1;
  T alpha;
  __device__ T operator()(T x) const { return Of<T>::rounded(Of<T>::elu(widen(x), widen(alpha))); }
};

template <class F, class T>
__device__ inline void run(size_t numel, size_t num_dims, const size_t *info, const F &f, const T *inp, T *out) {
  map(numel, num_dims, inp ? info : nullptr, f, out, inp ? inp : out);
}

template <class T>
__device__ void rotate(const T *src, const T *cos, const T *sin, T *dst, u32 bh, u32 td, u32 stride_b) {
  using W = Compute<T>;
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (2 * i >= bh * td) return;
  const u32 at = i % (td / 2) + (stride_b ? 2 * i / stride_b * (td / 2) : 0);
  const W x = widen(src[2 * i]), y = widen(src[2 * i + 1]), c = widen(cos[at]), s = widen(sin[at]);
  dst[2 * i] = Of<T>::rounded(x * c - y * s);
  dst[2 * i + 1] = Of<T>::rounded(x * s + y * c);
}

}  // namespace

#define UNARY(name, T)                                                                                    \
  extern "C" __global__ void u##name##_##T(const size_t numel, const size_t num_dims, const size_t *info, \
                                           const T *inp, T *out) {                                        \
    run(numel, num_dims, info, name<T>{}, inp, out);                                                      \
  }
#define KERNELS(T)                                                                                                    \
  UNARY(silu, T)                                                                                                      \
  UNARY(sigmoid, T)                                                                                                   \
  UNARY(gelu, T)                                                                                                      \
  extern "C" __global__ void uelu_##T(const size_t numel, const size_t num_dims, const size_t *info, const T alpha,   \
                                      const T *inp, T *out) {                                                         \
    run(numel, num_dims, info, elu<T>{alpha}, inp, out);                                                              \
  }                                                                                                                   \
  extern "C" __global__ void rope_i_##T(const T *src, const T *cos, const T *sin, T *dst, const u32 bh, const u32 td, \
                                        const u32 stride_b) {                                                         \
    rotate(src, cos, sin, dst, bh, td, stride_b);                                                                     \
  }

KERNELS(bf16)
KERNELS(f16)
KERNELS(f32)
KERNELS(f64)
