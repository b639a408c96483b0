// The operations of the unary and activation kernels. `f` computes one value.
//
// A library operation defines f for f32 and f64; f16, bf16 and f8 are computed in f32 and rounded once.
// A stepwise operation defines a template f; in f16 and bf16 every operation in it rounds, as in Candle: do not
// reorder. f8 is computed in f32 and rounded once.
// `max_per_thread` limits the elements that a thread processes at a time, for operations with long code.
#pragma once

#include "arithmetic.h"

namespace candle {

struct Stepwise {
  static constexpr bool is_library = false;
  static constexpr bool is_bitwise = false;
  static constexpr bool is_periodic = false;
  static constexpr int max_per_thread = default_max_per_thread;
};

struct StepwiseLong : Stepwise {
  static constexpr int max_per_thread = 4;
};

struct StepwiseComputeBound : Stepwise {
  static constexpr int max_per_thread = 1;
};

struct Library {
  static constexpr bool is_library = true;
  static constexpr bool is_bitwise = false;
  static constexpr bool is_periodic = false;
  static constexpr int max_per_thread = default_max_per_thread;
};

struct LibraryLong : Library {
  static constexpr int max_per_thread = 4;
};

// These are compute-bound: more elements per thread gain nothing.
struct LibraryComputeBound : Library {
  static constexpr int max_per_thread = 1;
};

// Library functions use the slow Payne-Hanek reduction for large arguments, for which some need scratch memory.
struct LibraryPeriodic : LibraryLong {
  static constexpr bool is_periodic = true;
};

constexpr f32 payne_hanek_threshold = 105615.0f;  // of CUDA's sinf and cosf

// All finite values of f16 and f8 are below the threshold, which lets the compiler drop the slow path.
template <class T>
constexpr bool skips_payne_hanek = is_same<T, f16> || is_same<T, f8>;

// Op applied to x (and more arguments), rounded to T as the kind of Op asks for.
template <class Op, class T, class... More>
__device__ inline T apply(T x, More... more) {
  if constexpr (Op::is_bitwise) {
    return Op::f(x, more...);
  } else if constexpr (skips_payne_hanek<T> && Op::is_periodic) {
    const f32 y = widen(x);
    return narrow<T>(__builtin_fabsf(y) >= payne_hanek_threshold ? y - y : Op::f(y));
  } else if constexpr (is_f8<T> || (is_half<T> && Op::is_library)) {
    return narrow<T>(Op::f(widen(x), widen(more)...));
  } else {
    return Op::f(x, more...);
  }
}

// A stepwise operation of one expression in x, of any type T.
#define STEPWISE_OP(name, expression) \
  struct name : Stepwise {            \
    template <class T>                \
    static __device__ T f(T x) {      \
      return expression;              \
    }                                 \
  }

// Names in namespace op are those of the kernels, and hide C functions: call those with ::.
namespace op {

STEPWISE_OP(neg, -x);
STEPWISE_OP(sqr, (x * x));

struct recip : StepwiseLong {
  template <class T>
  static __device__ T f(T x) {
    return constant<T>(1.0) / x;
  }
};

struct copy : Stepwise {
  static constexpr bool is_bitwise = true;
  template <class T>
  static __device__ T f(T x) {
    return x;
  }
};

struct abs : Stepwise {
  static __device__ f32 f(f32 x) { return __builtin_fabsf(x); }
  static __device__ f64 f(f64 x) { return __builtin_fabs(x); }
  template <class T>
  static __device__ T f(T x) {
    return T{u16(x.bits & 0x7fff)};
  }
};

struct exp : LibraryLong {
  static __device__ f32 f(f32 x) { return ::expf(x); }
  static __device__ f64 f(f64 x) { return ::exp(x); }
};

struct log : LibraryLong {
  static __device__ f32 f(f32 x) { return ::logf(x); }
  static __device__ f64 f(f64 x) { return ::log(x); }
};

struct sin : LibraryPeriodic {
  static __device__ f32 f(f32 x) { return ::sinf(x); }
  static __device__ f64 f(f64 x) { return ::sin(x); }
};

struct cos : LibraryPeriodic {
  static __device__ f32 f(f32 x) { return ::cosf(x); }
  static __device__ f64 f(f64 x) { return ::cos(x); }
};

struct tanh : LibraryLong {
  static __device__ f32 f(f32 x) { return ::tanhf(x); }
  static __device__ f64 f(f64 x) { return ::tanh(x); }
};

struct erf : LibraryLong {
  static __device__ f32 f(f32 x) { return ::erff(x); }
  static __device__ f64 f(f64 x) { return ::erf(x); }
};

struct ceil : Library {
  static __device__ f32 f(f32 x) { return __builtin_ceilf(x); }
  static __device__ f64 f(f64 x) { return __builtin_ceil(x); }
};

struct floor : Library {
  static __device__ f32 f(f32 x) { return __builtin_floorf(x); }
  static __device__ f64 f(f64 x) { return __builtin_floor(x); }
};

// Rounds halves away from zero; -0 stays -0.
struct round : Library {
  static __device__ f32 f(f32 x) { return __builtin_roundf(x); }
  static __device__ f64 f(f64 x) { return __builtin_round(x); }
};

struct sqrt : LibraryLong {
  static __device__ f32 f(f32 x) { return __builtin_sqrtf(x); }
  static __device__ f64 f(f64 x) { return __builtin_sqrt(x); }
};

// The normal distribution function, erfc(h) / 2 with h = -x / sqrt(2). erfc amplifies the rounding error of h by 2 h^2;
// the error is compensated to first order, as erfc'(h) is close to -2 h erfc(h) where it matters.
struct normcdf : LibraryComputeBound {
  template <class T, class Erfc>
  static __device__ T compensated(T x, T root_hi, T root_lo, Erfc erfc) {
    // Beyond 40 standard deviations the result is 0 or 1 in every type; clamping keeps h finite.
    const T clamped = x < T(-40) ? T(-40) : x > T(40) ? T(40) : x;
    const T h = -clamped * root_hi;
    const T h_error = -fma(clamped, root_lo, fma(clamped, root_hi, h));
    const T tail = erfc(h);
    return T(0.5) * (h > T(1) ? fma(T(-2) * h * tail, h_error, tail) : tail);
  }
  static __device__ f32 f(f32 x) {
    return compensated(x, 0x1.6a09e6p-1f, 0x1.9fcef4p-27f, [](f32 h) { return ::erfcf(h); });
  }
  static __device__ f64 f(f64 x) {
    return compensated(x, 0x1.6a09e667f3bcdp-1, -0x1.bdd3413b26456p-55, [](f64 h) { return ::erfc(h); });
  }
};

struct powf : LibraryComputeBound {
  static __device__ f32 f(f32 x, f32 p) { return ::powf(x, p); }
  static __device__ f64 f(f64 x, f64 p) { return ::pow(x, p); }
};

template <class T>
__device__ inline bool is_positive(T x) {
  return widen(x) > 0;
}

template <class T>
__device__ inline bool is_negative(T x) {
  return widen(x) < 0;
}

template <class T>
__device__ inline bool is_nan(T x) {
  return widen(x) != widen(x);
}

// max(x, +0), with the NaN rule of the type's maximum: NaN gives 0 in f32, f64 and f8, and stays NaN in f16 and bf16.
struct relu : Stepwise {
  template <class T>
  static __device__ T f(T x) {
    if (is_half<T> && is_nan(x)) return x;
    return is_positive(x) ? x : T{};
  }
};

// NaN and both zeros give +0.
struct sign : Stepwise {
  template <class T>
  static __device__ T f(T x) {
    return is_positive(x) ? constant<T>(1.0) : is_negative(x) ? constant<T>(-1.0) : T{};
  }
};

// x / 2 (1 + tanh u) with u = sqrt(2 / pi) (x + 0.044715 x^3). In f32 that is x / (1 + 2^v) with v = -2 u / ln 2, two
// instructions of the hardware in place of a library function, and loses no digits where tanh is near -1. f16 and bf16
// are rounded once, from f32.
struct gelu : StepwiseLong {
  template <class T>
  static __device__ T f(T x) {
    if constexpr (is_same<T, f64>) {
      const T inner = fma(0.044715, x * x * x, x);
      return 0.5 * x * (1.0 + ::tanh(0.7978845608028654 * inner));  // sqrt(2 / pi)
    } else {
      const f32 wide = widen(x);
      const f32 sum = 1.0f + target::exp2(wide * fma(-0.1029432395800235f, wide * wide, -2.302208198144325f));
      const f32 inverse = target::reciprocal(sum);
      if constexpr (is_half<T>) return narrow<T>(wide * inverse);
      // One step of Newton's; where the sum overflows or its inverse is flushed, there is nothing to correct.
      const f32 corrected = fma(inverse, fma(-sum, inverse, 1.0f), inverse);
      return narrow<T>(wide * (inverse > 0.0f ? corrected : inverse));
    }
  }
};

struct gelu_erf : StepwiseComputeBound {
  template <class T>
  static __device__ T f(T x) {
    return x * apply<normcdf>(x);
  }
};

struct silu : StepwiseLong {
  template <class T>
  static __device__ T f(T x) {
    return x / (constant<T>(1.0) + apply<exp>(-x));
  }
};

struct sigmoid : StepwiseLong {
  template <class T>
  static __device__ T f(T x) {
    return constant<T>(1.0) / (constant<T>(1.0) + apply<exp>(-x));
  }
};

// exp(x) - 1, not expm1, as in Candle.
struct elu : StepwiseLong {
  template <class T>
  static __device__ T f(T x, T alpha) {
    return is_positive(x) ? x : alpha * (apply<exp>(x) - constant<T>(1.0));
  }
};

}  // namespace op
}  // namespace candle
