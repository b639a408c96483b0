// out[i] = op(lhs[i], rhs[i]): arithmetic in the operands' type, comparisons to u8 0 or 1.
//
// dims_and_strides is dims, lhs strides, rhs strides; null when both are contiguous.
#include "include/arithmetic.h"
#include "include/elementwise.h"

using namespace candle;

namespace {

template <class T>
__device__ inline auto comparable(T x) {
  if constexpr (is_integer<T>) {
    return x;
  } else {
    return widen(x);
  }
}

// Combines the bits of two zeros: with or if use_or, else with and.
template <class T>
__device__ inline T combine_zeros(T a, T b, bool use_or) {
  if constexpr (is_same<T, f32>) {
    const u32 x = bit_cast<u32>(a), y = bit_cast<u32>(b);
    return bit_cast<f32>(use_or ? x | y : x & y);
  } else if constexpr (is_same<T, f64>) {
    const u64 x = bit_cast<u64>(a), y = bit_cast<u64>(b);
    return bit_cast<f64>(use_or ? x | y : x & y);
  } else {
    return T{u16(use_or ? a.bits | b.bits : a.bits & b.bits)};
  }
}

// The maximum (or the minimum). +0 is greater than -0. f32, f64 and f8 return the other operand of a NaN, f16 and bf16
// propagate NaN.
template <bool greater, class T>
__device__ inline T extremum(T a, T b) {
  const auto x = comparable(a);
  const auto y = comparable(b);
  if constexpr (!is_integer<T>) {
    if (x != x) return is_half<T> ? a : b;
    if (y != y) return is_half<T> ? b : a;
    if (x == y) return combine_zeros(a, b, !greater);  // equal bits, unless zeros of different sign
  }
  return (greater ? x > y : x < y) ? a : b;
}

// Names in namespace op are those of the kernels; some are C functions too.
namespace op {

// Integers wrap: computed in unsigned arithmetic, where overflow is defined.
struct Wrapping {
  static constexpr bool wraps = true;
};
struct NotWrapping {
  static constexpr bool wraps = false;
};

struct add : Wrapping {
  template <class T>
  static __device__ T f(T a, T b) {
    return a + b;
  }
};

struct sub : Wrapping {
  template <class T>
  static __device__ T f(T a, T b) {
    return a - b;
  }
};

struct mul : Wrapping {
  template <class T>
  static __device__ T f(T a, T b) {
    return a * b;
  }
};

// x / 0 and INT64_MIN / -1 are not specified by Candle: here all ones and INT64_MIN, so that no target traps.
struct div : NotWrapping {
  template <class T>
  static __device__ T f(T a, T b) {
    if constexpr (is_integer<T>) {
      if (b == 0) return T(-1);
      if (is_same<T, i64> && b == T(-1)) return T(0 - u64(a));
    }
    return a / b;
  }
};

struct maximum : NotWrapping {
  template <class T>
  static __device__ T f(T a, T b) {
    return extremum<true>(a, b);
  }
};

struct minimum : NotWrapping {
  template <class T>
  static __device__ T f(T a, T b) {
    return extremum<false>(a, b);
  }
};

struct eq {
  template <class T>
  static __device__ bool f(T a, T b) {
    return a == b;
  }
};
struct ne {
  template <class T>
  static __device__ bool f(T a, T b) {
    return a != b;
  }
};
struct lt {
  template <class T>
  static __device__ bool f(T a, T b) {
    return a < b;
  }
};
struct le {
  template <class T>
  static __device__ bool f(T a, T b) {
    return a <= b;
  }
};
struct gt {
  template <class T>
  static __device__ bool f(T a, T b) {
    return a > b;
  }
};
struct ge {
  template <class T>
  static __device__ bool f(T a, T b) {
    return a >= b;
  }
};

}  // namespace op

template <class Op, class T>
struct Binary {
  static constexpr int max_per_thread = default_max_per_thread;

  __device__ T operator()(T a, T b) const {
    if constexpr (is_f8<T>) {
      return narrow<f8>(Op::f(widen(a), widen(b)));
    } else if constexpr (is_integer<T> && Op::wraps) {
      return T(Op::f(u64(a), u64(b)));
    } else {
      return Op::f(a, b);
    }
  }
};

template <class Op, class T>
struct Compare {
  static constexpr int max_per_thread = default_max_per_thread;

  __device__ u8 operator()(T a, T b) const { return u8(Op::f(comparable(a), comparable(b))); }
};

}  // namespace

#define BINARY(name, T)                                                                                                \
  extern "C" __global__ void __launch_bounds__(1024, 2) b##name##_##T(                                                 \
      const size_t numel, const size_t num_dims, const size_t *dims_and_strides, const T *lhs, const T *rhs, T *out) { \
    map(numel, num_dims, dims_and_strides, Binary<op::name, T>{}, out, lhs, rhs);                                      \
  }

#define COMPARE(name, T)                                                                                  \
  extern "C" __global__ void __launch_bounds__(1024, 2)                                                   \
      name##_##T(const size_t numel, const size_t num_dims, const size_t *dims_and_strides, const T *lhs, \
                 const T *rhs, u8 *out) {                                                                 \
    map(numel, num_dims, dims_and_strides, Compare<op::name, T>{}, out, lhs, rhs);                        \
  }

// clang-format off
BINARY(add, bf16) BINARY(add, f16) BINARY(add, f32) BINARY(add, f64)
BINARY(add, u8) BINARY(add, u32) BINARY(add, i64) BINARY(add, f8_e4m3)
BINARY(sub, bf16) BINARY(sub, f16) BINARY(sub, f32) BINARY(sub, f64)
BINARY(sub, u8) BINARY(sub, u32) BINARY(sub, i64) BINARY(sub, f8_e4m3)
BINARY(mul, bf16) BINARY(mul, f16) BINARY(mul, f32) BINARY(mul, f64)
BINARY(mul, u8) BINARY(mul, u32) BINARY(mul, i64) BINARY(mul, f8_e4m3)
BINARY(div, bf16) BINARY(div, f16) BINARY(div, f32) BINARY(div, f64)
BINARY(div, u8) BINARY(div, u32) BINARY(div, i64) BINARY(div, f8_e4m3)
BINARY(maximum, bf16) BINARY(maximum, f16) BINARY(maximum, f32) BINARY(maximum, f64)
BINARY(maximum, u8) BINARY(maximum, u32) BINARY(maximum, i64) BINARY(maximum, f8_e4m3)
BINARY(minimum, bf16) BINARY(minimum, f16) BINARY(minimum, f32) BINARY(minimum, f64)
BINARY(minimum, u8) BINARY(minimum, u32) BINARY(minimum, i64) BINARY(minimum, f8_e4m3)
COMPARE(eq, bf16) COMPARE(eq, f16) COMPARE(eq, f32) COMPARE(eq, f64)
COMPARE(eq, u8) COMPARE(eq, u32) COMPARE(eq, i64) COMPARE(eq, f8_e4m3)
COMPARE(ne, bf16) COMPARE(ne, f16) COMPARE(ne, f32) COMPARE(ne, f64)
COMPARE(ne, u8) COMPARE(ne, u32) COMPARE(ne, i64) COMPARE(ne, f8_e4m3)
COMPARE(lt, bf16) COMPARE(lt, f16) COMPARE(lt, f32) COMPARE(lt, f64)
COMPARE(lt, u8) COMPARE(lt, u32) COMPARE(lt, i64) COMPARE(lt, f8_e4m3)
COMPARE(le, bf16) COMPARE(le, f16) COMPARE(le, f32) COMPARE(le, f64)
COMPARE(le, u8) COMPARE(le, u32) COMPARE(le, i64) COMPARE(le, f8_e4m3)
COMPARE(gt, bf16) COMPARE(gt, f16) COMPARE(gt, f32) COMPARE(gt, f64)
COMPARE(gt, u8) COMPARE(gt, u32) COMPARE(gt, i64) COMPARE(gt, f8_e4m3)
COMPARE(ge, bf16) COMPARE(ge, f16) COMPARE(ge, f32) COMPARE(ge, f64)
COMPARE(ge, u8) COMPARE(ge, u32) COMPARE(ge, i64) COMPARE(ge, f8_e4m3)
    // clang-format on
