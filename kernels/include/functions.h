// The operations of the unary and activation kernels. `f` computes one value.
//
// A library operation has f for f32 and f64; f16, bf16 and f8 go through f32 and are rounded once.
// A stepwise operation has a template f; in f16 and bf16 every operation in it rounds, which is part of what Candle
// specifies: do not reorder. f8 is computed in f32 and encoded once.
// `most_per_thread` is how many elements a thread takes at a time: few where the code of one is long.
#pragma once

#include "number.h"

namespace candle {

struct Stepwise {
  static constexpr bool library = false;
  static constexpr bool on_bits = false;
  static constexpr bool periodic = false;
  static constexpr int most_per_thread = any_number;
};

struct StepwiseLong : Stepwise {
  static constexpr int most_per_thread = 4;
};

struct StepwiseHeavy : Stepwise {
  static constexpr int most_per_thread = 1;
};

struct Library {
  static constexpr bool library = true;
  static constexpr bool on_bits = false;
  static constexpr bool periodic = false;
  static constexpr int most_per_thread = any_number;
};

struct LibraryLong : Library {
  static constexpr int most_per_thread = 4;
};

// The memory is not what these wait for.
struct LibraryHeavy : Library {
  static constexpr int most_per_thread = 1;
};

// Libraries reduce large arguments the long way, for which some need memory of the thread's own.
struct LibraryPeriodic : LibraryLong {
  static constexpr bool periodic = true;
};

constexpr f32 long_way_from = 105615.0f;  // in CUDA's sinf and cosf

// Finite numbers of f16 and f8 end before: the compiler need not know the long way.
template <class T>
constexpr bool is_small = same<T, f16> || same<T, f8>;

// Op at x (and more arguments), rounded as Op asks for in T.
template <class Op, class T, class... More>
__device__ inline T apply(T x, More... more) {
  if constexpr (Op::on_bits) {
    return Op::f(x, more...);
  } else if constexpr (is_small<T> && Op::periodic) {
    const f32 y = widen(x);
    return narrow<T>(__builtin_fabsf(y) >= long_way_from ? y - y : Op::f(y));
  } else if constexpr (is_f8<T> || (is_half<T> && Op::library)) {
    return narrow<T>(Op::f(widen(x), widen(more)...));
  } else {
    return Op::f(x, more...);
  }
}

// Namespace op: the names are those of the kernels, and hide the C functions, hence the :: before these.
namespace op {

struct copy : Stepwise {
  static constexpr bool on_bits = true;
  template <class T>
  static __device__ T f(T x) {
    return x;
  }
};

struct neg : Stepwise {
  template <class T>
  static __device__ T f(T x) {
    return -x;
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

struct recip : Stepwise {
  template <class T>
  static __device__ T f(T x) {
    return constant<T>(1.0) / x;
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

// Half away from zero; -0 is kept.
struct round : Library {
  static __device__ f32 f(f32 x) { return __builtin_roundf(x); }
  static __device__ f64 f(f64 x) { return __builtin_round(x); }
};

struct sqrt : LibraryLong {
  static __device__ f32 f(f32 x) { return __builtin_sqrtf(x); }
  static __device__ f64 f(f64 x) { return __builtin_sqrt(x); }
};

// The normal distribution function, erfc(h) / 2 with h = -x / sqrt(2). erfc magnifies the rounding of h by 2 h^2, so
// what h lost is put back to first order: erfc'(h) is near -2 h erfc(h) where that matters.
struct normcdf : LibraryHeavy {
  template <class T, class Erfc>
  static __device__ T compensated(T x, T root_hi, T root_lo, Erfc erfc) {
    // Beyond 40 standard deviations the answer is 0 or 1 in every type; clamped, h has no infinity to lose from.
    const T clamped = x < T(-40) ? T(-40) : x > T(40) ? T(40) : x;
    const T h = -clamped * root_hi;
    const T lost = -fused(clamped, root_lo, fused(clamped, root_hi, h));
    const T tail = erfc(h);
    return T(0.5) * (h > T(1) ? fused(T(-2) * h * tail, lost, tail) : tail);
  }
  static __device__ f32 f(f32 x) {
    return compensated(x, 0x1.6a09e6p-1f, 0x1.9fcef4p-27f, [](f32 h) { return ::erfcf(h); });
  }
  static __device__ f64 f(f64 x) {
    return compensated(x, 0x1.6a09e667f3bcdp-1, -0x1.bdd3413b26456p-55, [](f64 h) { return ::erfc(h); });
  }
};

struct powf : LibraryHeavy {
  static __device__ f32 f(f32 x, f32 p) { return ::powf(x, p); }
  static __device__ f64 f(f64 x, f64 p) { return ::pow(x, p); }
};

struct sqr : Stepwise {
  template <class T>
  static __device__ T f(T x) {
    return x * x;
  }
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

// max(x, +0) with the rule of the type's maximum: NaN is 0 in f32, f64 and f8, and stays in f16 and bf16.
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

struct gelu : StepwiseLong {
  template <class T>
  static __device__ T f(T x) {
    const T cube = x * x * x;
    const T inner = fused(constant<T>(0.044715), cube, x);
    const T bent = apply<tanh>(constant<T>(0.7978845608028654) * inner);  // sqrt(2 / pi)
    return constant<T>(0.5) * x * (constant<T>(1.0) + bent);
  }
};

struct gelu_erf : StepwiseHeavy {
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

// exp(x) - 1 and not expm1.
struct elu : StepwiseLong {
  template <class T>
  static __device__ T f(T x, T alpha) {
    return is_positive(x) ? x : alpha * (apply<exp>(x) - constant<T>(1.0));
  }
};

}  // namespace op
}  // namespace candle
