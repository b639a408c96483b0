// The operations of the reductions, and the tree that joins the partial results of a block in Candle's order.
//
// An operation has a State per thread: `start` is that of a thread without elements,
// `visit` takes the next element, at position `at` of the row, `join` takes the state of a later thread.
#pragma once

#include "arithmetic.h"
#include "shuffle.h"

namespace candle {

// What T compares as, exactly: f16 and bf16 as f32, u8 in a whole register.
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

// The least value of T (or the greatest): -inf and +inf for floats.
template <class T, bool greatest>
__device__ inline T limit() {
  if constexpr (is_same<T, u8>) {
    return greatest ? 0xff : 0;
  } else if constexpr (is_same<T, u32>) {
    return greatest ? 0xffffffff : 0;
  } else if constexpr (is_same<T, i64>) {
    return greatest ? __INT64_MAX__ : -__INT64_MAX__ - 1;
  } else if constexpr (is_same<T, f64>) {
    return greatest ? __builtin_inf() : -__builtin_inf();
  } else {
    return narrow<T>(greatest ? __builtin_inff() : -__builtin_inff());
  }
}

// Of two zeros, max takes +0 and min takes -0.
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

// Whether x is the zero of that sign.
__device__ inline bool is_zero(f32 x, bool negative) { return bit_cast<u32>(x) == u32(negative) << 31; }
__device__ inline bool is_zero(f64 x, bool negative) { return bit_cast<u64>(x) == u64(negative) << 63; }

// The greater (or the lesser) of two. A NaN stays in f16 and bf16; f32 and f64 take the number.
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

// Accumulates in T itself: f16 and bf16 round at every step, integers wrap.
template <class T>
struct Sum {
  using State = T;

  static __device__ T start() { return T{}; }
  static __device__ void visit(T &sum, T x, u32) { sum = add(sum, x); }
  static __device__ T join(T a, T b) { return add(a, b); }
  static __device__ T result(T sum, size_t, size_t, size_t) { return sum; }
};

// In a whole register, of which the result keeps the last byte.
template <>
struct Sum<u8> : Sum<u32> {};

// As `extreme`, without branches; f16 and bf16 wait as f32, where a NaN replaces numbers and stays.
template <class T, bool greater>
struct Extremum {
  using State = decltype(comparable(T{}));

  static __device__ State start() { return comparable(limit<T, !greater>()); }
  static __device__ State join(State a, State b) {
    bool taken = greater ? b > a : b < a;
    if constexpr (!is_integer<T>) {
      taken |= (a == 0) & is_zero(b, !greater);
      if constexpr (is_half<T>) taken |= b != b;
    }
    return taken ? b : a;
  }
  static __device__ void visit(State &best, T x, u32) { best = join(best, comparable(x)); }
  static __device__ T result(State best, size_t, size_t, size_t) {
    if constexpr (is_half<T>) {
      return narrow<T>(best);
    } else {
      return T(best);
    }
  }
};

// `at` is the position in the row; none before the first element.
template <class State>
struct Candidate {
  State value;
  u32 at;
  static constexpr u32 none = 0xffffffff;
};

// A thread takes its first element whatever it is, NaN too, and then only better ones; so which of equal values wins
// follows from the order, and a NaN that came first stays.
template <class T, bool greater>
struct Position {
  using Value = decltype(comparable(T{}));
  using State = Candidate<Value>;

  static __device__ State start() { return State{comparable(limit<T, !greater>()), State::none}; }
  static __device__ bool better(Value x, Value y) { return greater ? x > y : x < y; }
  static __device__ void visit(State &best, T x, u32 at) {
    const bool taken = (best.at == State::none) | better(comparable(x), best.value);
    best = State{taken ? comparable(x) : best.value, taken ? at : best.at};
  }
  static __device__ State join(State a, State b) {
    const bool taken = better(b.value, a.value);
    return State{taken ? b.value : a.value, taken ? b.at : a.at};
  }
  // Positions count from the start of the innermost dimension.
  static __device__ u32 result(State best, size_t row, size_t length, size_t innermost) {
    if (best.at == State::none || innermost == length) return best.at;
    return u32((row * length + best.at) % innermost);
  }
};

template <class T>
using Least = Extremum<T, false>;
template <class T>
using Greatest = Extremum<T, true>;
template <class T>
using PositionOfLeast = Position<T, false>;
template <class T>
using PositionOfGreatest = Position<T, true>;

// ---- states at rest in LDS, and on their way between lanes

template <class State>
struct Shelf {
  State at[1024];

  __device__ void put(u32 t, State x) { at[t] = x; }
  __device__ State get(u32 t) const { return at[t]; }
};

template <class T>
struct Shelf<Candidate<T>> {
  T value[1024];
  u32 position[1024];

  __device__ void put(u32 t, Candidate<T> x) {
    value[t] = x.value;
    position[t] = x.at;
  }
  __device__ Candidate<T> get(u32 t) const { return Candidate<T>{value[t], position[t]}; }
};

template <int mask, class State>
__device__ inline State shuffle_xor_state(State x) {
  return shuffle_xor<mask>(x);
}

template <int mask, class T>
__device__ inline Candidate<T> shuffle_xor_state(Candidate<T> x) {
  return Candidate<T>{shuffle_xor<mask>(x.value), shuffle_xor<mask>(x.at)};
}

// ---- the tree: thread t joins thread t + s, for s = threads / 2, ..., 2, 1

// A lane's state at `at` on the shelf joined with those of the groups after, `groups` in all, by the levels from
// groups / 2 groups apart down to `apart`. Depth first: few states at a time.
template <int groups, int apart, class Op>
__attribute__((always_inline)) __device__ inline typename Op::State fold(const Shelf<typename Op::State> &shelf,
                                                                         u32 at) {
  if constexpr (apart == groups) {
    return shelf.get(at);
  } else {
    const auto low = fold<groups, 2 * apart, Op>(shelf, at);
    return Op::join(low, fold<groups, 2 * apart, Op>(shelf, at + logical_wave_size * apart));
  }
}

template <int mask, class Op>
__device__ inline typename Op::State join_lanes(typename Op::State x, u32 threads) {
  return threads > mask ? Op::join(x, shuffle_xor_state<mask>(x)) : x;
}

template <class Op>
__device__ inline typename Op::State join_group(typename Op::State x, u32 threads) {
  x = join_lanes<16, Op>(x, threads);
  x = join_lanes<8, Op>(x, threads);
  x = join_lanes<4, Op>(x, threads);
  x = join_lanes<2, Op>(x, threads);
  return join_lanes<1, Op>(x, threads);
}

// The joined state of `threads` (a power of two, at most 1024) threads; it is thread 0's that counts, and threads from
// 32 on have returned nothing. One barrier in place of ten: after it a lane has the states of all groups to itself.
template <class Op>
__device__ inline typename Op::State join_block(typename Op::State own, Shelf<typename Op::State> &shelf, u32 t,
                                                u32 threads) {
  if (threads > logical_wave_size) {
    shelf.put(t, own);
    __syncthreads();
  }
  if (t >= logical_wave_size) return own;
  switch (threads / logical_wave_size) {
    case 32:
      own = fold<32, 1, Op>(shelf, t);
      break;
    case 16:
      own = fold<16, 1, Op>(shelf, t);
      break;
    case 8:
      own = fold<8, 1, Op>(shelf, t);
      break;
    case 4:
      own = fold<4, 1, Op>(shelf, t);
      break;
    case 2:
      own = fold<2, 1, Op>(shelf, t);
      break;
  }
  return join_group<Op>(own, threads);
}

}  // namespace candle
