// out[i] = op(inp[i]) and out[i] = op(inp[i], param).
//
// A null info means contiguous. A null inp means in place: inp is out, and the strides are ignored.
#include "include/elementwise.h"
#include "include/unary_ops.h"

using namespace candle;

namespace {

template <class Op, class T>
struct Unary {
  static constexpr int max_per_thread = Op::max_per_thread;

  __device__ T operator()(T x) const { return apply<Op>(x); }
};

template <class Op, class T>
struct UnaryWithParam {
  static constexpr int max_per_thread = Op::max_per_thread;
  T param;

  __device__ T operator()(T x) const { return apply<Op>(x, param); }
};

template <class F, class T>
__device__ inline void run(size_t numel, size_t num_dims, const size_t *info, const F &f, const T *inp, T *out) {
  map<true>(numel, num_dims, info, f, out, inp);
}

}  // namespace

#define UNARY(name, T)                                                                                     \
  extern "C" __global__ void __launch_bounds__(1024, 2)                                                    \
      u##name##_##T(const size_t numel, const size_t num_dims, const size_t *info, const T *inp, T *out) { \
    run(numel, num_dims, info, Unary<op::name, T>{}, inp, out);                                            \
  }

#define UNARY_PARAM(name, T)                                                                                \
  extern "C" __global__ void __launch_bounds__(1024, 2) u##name##_##T(                                      \
      const size_t numel, const size_t num_dims, const size_t *info, const T param, const T *inp, T *out) { \
    run(numel, num_dims, info, UnaryWithParam<op::name, T>{param}, inp, out);                               \
  }

UNARY(copy, u8)
UNARY(copy, u32)
UNARY(copy, i64)

// clang-format off
UNARY(copy, bf16) UNARY(copy, f16) UNARY(copy, f32) UNARY(copy, f64) UNARY(copy, f8_e4m3)
UNARY(neg, bf16) UNARY(neg, f16) UNARY(neg, f32) UNARY(neg, f64) UNARY(neg, fp8_e4m3)
UNARY(recip, bf16) UNARY(recip, f16) UNARY(recip, f32) UNARY(recip, f64) UNARY(recip, fp8_e4m3)
UNARY(exp, bf16) UNARY(exp, f16) UNARY(exp, f32) UNARY(exp, f64) UNARY(exp, fp8_e4m3)
UNARY(log, bf16) UNARY(log, f16) UNARY(log, f32) UNARY(log, f64) UNARY(log, fp8_e4m3)
UNARY(sin, bf16) UNARY(sin, f16) UNARY(sin, f32) UNARY(sin, f64) UNARY(sin, fp8_e4m3)
UNARY(cos, bf16) UNARY(cos, f16) UNARY(cos, f32) UNARY(cos, f64) UNARY(cos, fp8_e4m3)
UNARY(tanh, bf16) UNARY(tanh, f16) UNARY(tanh, f32) UNARY(tanh, f64) UNARY(tanh, fp8_e4m3)
UNARY(erf, bf16) UNARY(erf, f16) UNARY(erf, f32) UNARY(erf, f64) UNARY(erf, fp8_e4m3)
UNARY(ceil, bf16) UNARY(ceil, f16) UNARY(ceil, f32) UNARY(ceil, f64) UNARY(ceil, fp8_e4m3)
UNARY(floor, bf16) UNARY(floor, f16) UNARY(floor, f32) UNARY(floor, f64) UNARY(floor, fp8_e4m3)
UNARY(round, bf16) UNARY(round, f16) UNARY(round, f32) UNARY(round, f64) UNARY(round, fp8_e4m3)
UNARY(normcdf, bf16) UNARY(normcdf, f16) UNARY(normcdf, f32) UNARY(normcdf, f64) UNARY(normcdf, fp8_e4m3)
UNARY(abs, bf16) UNARY(abs, f16) UNARY(abs, f32) UNARY(abs, f64) UNARY(abs, fp8_e4m3)
UNARY(sqr, bf16) UNARY(sqr, f16) UNARY(sqr, f32) UNARY(sqr, f64) UNARY(sqr, fp8_e4m3)
UNARY(sqrt, bf16) UNARY(sqrt, f16) UNARY(sqrt, f32) UNARY(sqrt, f64) UNARY(sqrt, fp8_e4m3)
UNARY(gelu, bf16) UNARY(gelu, f16) UNARY(gelu, f32) UNARY(gelu, f64) UNARY(gelu, fp8_e4m3)
UNARY(gelu_erf, bf16) UNARY(gelu_erf, f16) UNARY(gelu_erf, f32) UNARY(gelu_erf, f64) UNARY(gelu_erf, fp8_e4m3)
UNARY(relu, bf16) UNARY(relu, f16) UNARY(relu, f32) UNARY(relu, f64) UNARY(relu, fp8_e4m3)
UNARY(silu, bf16) UNARY(silu, f16) UNARY(silu, f32) UNARY(silu, f64) UNARY(silu, fp8_e4m3)
UNARY(sign, bf16) UNARY(sign, f16) UNARY(sign, f32) UNARY(sign, f64) UNARY(sign, fp8_e4m3)
UNARY(sigmoid, bf16) UNARY(sigmoid, f16) UNARY(sigmoid, f32) UNARY(sigmoid, f64) UNARY(sigmoid, fp8_e4m3)
UNARY_PARAM(elu, bf16) UNARY_PARAM(elu, f16) UNARY_PARAM(elu, f32) UNARY_PARAM(elu, f64) UNARY_PARAM(elu, fp8_e4m3)
UNARY_PARAM(powf, bf16) UNARY_PARAM(powf, f16) UNARY_PARAM(powf, f32) UNARY_PARAM(powf, f64) UNARY_PARAM(powf, fp8_e4m3)
    // clang-format on
