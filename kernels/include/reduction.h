// Reduction operations, and the tree that combines the partial results of a block in the order of Candle.
//
// An operation has a State per thread: `initial` is the state before the first element, `accumulate` adds the next
// element, whose index in the row is `index`, `combine` adds the state of a thread with a higher index, `result` is the
// value to store.
#pragma once

#include "arithmetic.h"
#include "shuffle.h"

namespace candle {

// T in a type with exact comparisons: f16 and bf16 as f32, u8 as u32.
template <class T>
__device__ inline auto comparable(T x) {
  if constexpr (is_same<T, u8>) {
    return u32(x);
  } else if constexpr (is_integer<T>) {
    return x;
  } else {
    return widen(x);
  }
}

// The lowest value of T (or the highest, if `upper`): -inf and +inf for floats.
template <class T, bool upper>
__device__ inline T limit() {
  if constexpr (is_same<T, u8>) {
    return upper ? 0xff : 0;
  } else if constexpr (is_same<T, u32>) {
    return upper ? 0xffffffff : 0;
  } else if constexpr (is_same<T, i64>) {
    return upper ? __INT64_MAX__ : -__INT64_MAX__ - 1;
  } else if constexpr (is_same<T, f64>) {
    return upper ? __builtin_inf() : -__builtin_inf();
  } else {
    return narrow<T>(upper ? __builtin_inff() : -__builtin_inff());
  }
}

// Of two zeros, max returns +0 and min -0.
template <bool greater, class T>
__device__ inline T select_zero(T a, T b) {
  if constexpr (is_same<T, f64>) {
    const u64 x = bit_cast<u64>(a), y = bit_cast<u64>(b);
    return bit_cast<f64>(greater ? x & y : x | y);
  } else if constexpr (is_same<T, f32>) {
    const u32 x = bit_cast<u32>(a), y = bit_cast<u32>(b);
    return bit_cast<f32>(greater ? x & y : x | y);
  } else {
    return T{u16(greater ? a.bits & b.bits : a.bits | b.bits)};
  }
}

// Whether x is the zero of the given sign.
__device__ inline bool is_zero(f32 x, bool negative) { return bit_cast<u32>(x) == u32(negative) << 31; }
__device__ inline bool is_zero(f64 x, bool negative) { return bit_cast<u64>(x) == u64(negative) << 63; }

// The maximum (or the minimum). f16 and bf16 propagate NaN; f32 and f64 return the number.
template <bool greater, class T>
__device__ inline T extremum(T a, T b) {
  const auto x = comparable(a);
  const auto y = comparable(b);
  if constexpr (!is_integer<T>) {
    if (x != x) return is_half<T> ? a : b;
    if (y != y) return is_half<T> ? b : a;
    if (x == y) return select_zero<greater>(a, b);  // equal bits, unless zeros of different sign
  }
  return (greater ? x > y : x < y) ? a : b;
}

template <class T>
__device__ inline T add(T a, T b) {
  if constexpr (is_same<T, i64>) {
    return i64(u64(a) + u64(b));
  } else if constexpr (is_integer<T>) {
    return T(u32(a) + u32(b));
  } else {
    return a + b;
  }
}

// Accumulates in T itself: f16 and bf16 round after every addition, integers wrap.
template <class T>
struct Sum {
  using State = T;

  static __device__ T initial() { return T{}; }
  static __device__ void accumulate(T &sum, T x, u32) { sum = add(sum, x); }
  static __device__ T combine(T a, T b) { return add(a, b); }
  static __device__ T result(T sum, size_t, size_t, size_t) { return sum; }
};

// Accumulates in a 32-bit register; the result is its low byte.
template <>
struct Sum<u8> : Sum<u32> {};

// As `extremum`, without branches. The state of f16 and bf16 is an f32, in which NaN replaces numbers and stays.
template <class T, bool greater>
struct Extremum {
  using State = decltype(comparable(T{}));

  static __device__ State initial() { return comparable(limit<T, !greater>()); }
  static __device__ State combine(State a, State b) {
    bool take_b = greater ? b > a : b < a;
    if constexpr (!is_integer<T>) {
      take_b |= (a == 0) & is_zero(b, !greater);
      if constexpr (is_half<T>) take_b |= b != b;
    }
    return take_b ? b : a;
  }
  static __device__ void accumulate(State &best, T x, u32) { best = combine(best, comparable(x)); }
  static __device__ T result(State best, size_t, size_t, size_t) {
    if constexpr (is_half<T>) {
      return narrow<T>(best);
    } else {
      return T(best);
    }
  }
};

// The best value so far and its index in the row; `none` before the first element.
template <class State>
struct Candidate {
  State value;
  u32 index;
  static constexpr u32 none = 0xffffffff;
};

// A thread takes its first element unconditionally, NaN included, and later ones only if strictly better: the order of
// comparisons decides which of equal values wins, and a leading NaN stays.
template <class T, bool greater>
struct ArgExtremum {
  using Value = decltype(comparable(T{}));
  using State = Candidate<Value>;

  static __device__ State initial() { return State{comparable(limit<T, !greater>()), State::none}; }
  static __device__ bool better(Value x, Value y) { return greater ? x > y : x < y; }
  static __device__ void accumulate(State &best, T x, u32 index) {
    const bool is_better = (best.index == State::none) | better(comparable(x), best.value);
    best = State{is_better ? comparable(x) : best.value, is_better ? index : best.index};
  }
  static __device__ State combine(State a, State b) {
    const bool take_b = better(b.value, a.value);
    return State{take_b ? b.value : a.value, take_b ? b.index : a.index};
  }
  // The result is relative to the innermost dimension.
  static __device__ u32 result(State best, size_t row, size_t length, size_t innermost) {
    if (best.index == State::none || innermost == length) return best.index;
    return u32((row * length + best.index) % innermost);
  }
};

template <class T>
using Min = Extremum<T, false>;
template <class T>
using Max = Extremum<T, true>;
template <class T>
using ArgMin = ArgExtremum<T, false>;
template <class T>
using ArgMax = ArgExtremum<T, true>;

// ---- partial results in shared memory, and exchanged between lanes

template <class State>
struct Partials {
  State data[1024];

  __device__ void put(u32 t, State x) { data[t] = x; }
  __device__ State get(u32 t) const { return data[t]; }
};

template <class T>
struct Partials<Candidate<T>> {
  T value[1024];
  u32 index[1024];

  __device__ void put(u32 t, Candidate<T> x) {
    value[t] = x.value;
    index[t] = x.index;
  }
  __device__ Candidate<T> get(u32 t) const { return Candidate<T>{value[t], index[t]}; }
};

template <int mask, class State>
__device__ inline State shuffle_xor_state(State x) {
  return shuffle_xor<mask>(x);
}

template <int mask, class T>
__device__ inline Candidate<T> shuffle_xor_state(Candidate<T> x) {
  return Candidate<T>{shuffle_xor<mask>(x.value), shuffle_xor<mask>(x.index)};
}

// ---- the tree: thread t combines with thread t + s, for s = threads / 2, ..., 2, 1

// The upper levels of the tree, between `waves` logical waves, in one thread: combines the partial results at `index`
// and at the same lane of the waves after it, down to the level where waves are `stride` apart. Depth first, so that
// few states are live at a time.
template <int waves, int stride, class Op>
__attribute__((always_inline)) __device__ inline typename Op::State tree_reduce(
    const Partials<typename Op::State> &partials, u32 index) {
  if constexpr (stride == waves) {
    return partials.get(index);
  } else {
    const auto low = tree_reduce<waves, 2 * stride, Op>(partials, index);
    return Op::combine(low, tree_reduce<waves, 2 * stride, Op>(partials, index + logical_wave_size * stride));
  }
}

template <int mask, class Op>
__device__ inline typename Op::State wave_reduce_step(typename Op::State x, u32 threads) {
  return threads > mask ? Op::combine(x, shuffle_xor_state<mask>(x)) : x;
}

template <class Op>
__device__ inline typename Op::State wave_reduce(typename Op::State x, u32 threads) {
  x = wave_reduce_step<16, Op>(x, threads);
  x = wave_reduce_step<8, Op>(x, threads);
  x = wave_reduce_step<4, Op>(x, threads);
  x = wave_reduce_step<2, Op>(x, threads);
  return wave_reduce_step<1, Op>(x, threads);
}

// The combined state of `threads` threads (a power of two, at most 1024). Thread 0 returns the result; what threads
// from 32 on return is meaningless. One barrier instead of ten: after it each lane of the first logical wave reduces
// its column of the partial results alone.
template <class Op>
__device__ inline typename Op::State block_reduce(typename Op::State value, Partials<typename Op::State> &partials,
                                                  u32 t, u32 threads) {
  if (threads > logical_wave_size) {
    partials.put(t, value);
    __syncthreads();
  }
  if (t >= logical_wave_size) return value;
  switch (threads / logical_wave_size) {
    case 32:
      value = tree_reduce<32, 1, Op>(partials, t);
      break;
    case 16:
      value = tree_reduce<16, 1, Op>(partials, t);
      break;
    case 8:
      value = tree_reduce<8, 1, Op>(partials, t);
      break;
    case 4:
      value = tree_reduce<4, 1, Op>(partials, t);
      break;
    case 2:
      value = tree_reduce<2, 1, Op>(partials, t);
      break;
  }
  return wave_reduce<Op>(value, threads);
}

}  // namespace candle
