// The operations of the reductions, and the tree that joins the partial results of a block in Candle's order.
//
// An operation has a State per thread: `start` is that of a thread without elements, `visit` takes the element at
// position `at` of the row, `join` takes the state of a later thread. `any_order` says that the order of elements does
// not show in the result.
#pragma once

#include "lanes.h"
#include "number.h"

namespace candle {

template <class T>
__device__ inline auto comparable(T x) {
  if constexpr (is_integer<T>) {
    return x;
  } else {
    return widen(x);
  }
}

// The least value of T (or the greatest): -inf and +inf for floats.
template <class T, bool greatest>
__device__ inline T limit() {
  if constexpr (same<T, u8>) {
    return greatest ? 0xff : 0;
  } else if constexpr (same<T, u32>) {
    return greatest ? 0xffffffff : 0;
  } else if constexpr (same<T, i64>) {
    return greatest ? __INT64_MAX__ : -__INT64_MAX__ - 1;
  } else if constexpr (same<T, f64>) {
    return greatest ? __builtin_inf() : -__builtin_inf();
  } else {
    return narrow<T>(greatest ? __builtin_inff() : -__builtin_inff());
  }
}

// Of two zeros, max takes +0 and min takes -0.
template <bool greater, class T>
__device__ inline T choose_zero(T a, T b) {
  if constexpr (same<T, f64>) {
    const u64 x = bit_cast<u64>(a), y = bit_cast<u64>(b);
    return bit_cast<f64>(greater ? x & y : x | y);
  } else if constexpr (same<T, f32>) {
    const u32 x = bit_cast<u32>(a), y = bit_cast<u32>(b);
    return bit_cast<f32>(greater ? x & y : x | y);
  } else {
    return T{u16(greater ? a.bits & b.bits : a.bits | b.bits)};
  }
}

// The greater (or the lesser) of two. A NaN stays in f16 and bf16; f32 and f64 take the number.
template <bool greater, class T>
__device__ inline T extreme(T a, T b) {
  const auto x = comparable(a);
  const auto y = comparable(b);
  if constexpr (!is_integer<T>) {
    if (x != x) return is_half<T> ? a : b;
    if (y != y) return is_half<T> ? b : a;
    if (x == y) return choose_zero<greater>(a, b);  // equal bits, unless zeros of different sign
  }
  return (greater ? x > y : x < y) ? a : b;
}

template <class T>
__device__ inline T add(T a, T b) {
  if constexpr (same<T, i64>) {
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
  static constexpr bool any_order = is_integer<T>;

  static __device__ T start() { return T{}; }
  static __device__ void visit(T &sum, T x, u32) { sum = add(sum, x); }
  static __device__ T join(T a, T b) { return add(a, b); }
  static __device__ T result(T sum, size_t, size_t) { return sum; }
};

template <class T, bool greater>
struct Extreme {
  using State = T;
  static constexpr bool any_order = true;

  static __device__ T start() { return limit<T, !greater>(); }
  static __device__ void visit(T &best, T x, u32) { best = extreme<greater>(best, x); }
  static __device__ T join(T a, T b) { return extreme<greater>(a, b); }
  static __device__ T result(T best, size_t, size_t) { return best; }
};

// `at` is the position in the row; none before the first element.
template <class T>
struct Candidate {
  T value;
  u32 at;
  static constexpr u32 none = 0xffffffff;
};

// A thread takes its first element whatever it is, NaN too, and then only better ones; so which of equal values wins
// follows from the order, and a NaN that came first stays.
template <class T, bool greater>
struct Position {
  using State = Candidate<T>;
  static constexpr bool any_order = false;

  static __device__ bool better(T a, T b) {
    return greater ? comparable(a) > comparable(b) : comparable(a) < comparable(b);
  }
  static __device__ State start() { return State{limit<T, !greater>(), State::none}; }
  static __device__ void visit(State &best, T x, u32 at) {
    if (best.at == State::none || better(x, best.value)) best = State{x, at};
  }
  static __device__ State join(State a, State b) { return better(b.value, a.value) ? b : a; }
  // Positions count from the start of the innermost dimension.
  static __device__ u32 result(State best, size_t row_start, size_t innermost) {
    return best.at == State::none ? State::none : u32((row_start + best.at) % innermost);
  }
};

template <class T>
using Least = Extreme<T, false>;
template <class T>
using Greatest = Extreme<T, true>;
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
__device__ inline State swap_state(State x) {
  return swap<mask>(x);
}

template <int mask, class T>
__device__ inline Candidate<T> swap_state(Candidate<T> x) {
  return Candidate<T>{swap<mask>(x.value), swap<mask>(x.at)};
}

// ---- the tree: thread t joins thread t + s, for s = threads / 2, ..., 2, 1

// One level of it among the groups of a lane: position k joins k + half. The first level takes the states from the
// shelf, except the lane's own.
template <int half, class Op>
__device__ inline void fold(typename Op::State (&held)[16], const Shelf<typename Op::State> &shelf, u32 groups,
                            u32 lane) {
  if (groups == 2 * half) {
#pragma unroll
    for (int k = 0; k < half; ++k) {
      const auto own = k == 0 ? held[0] : shelf.get(group_lanes * k + lane);
      held[k] = Op::join(own, shelf.get(group_lanes * (k + half) + lane));
    }
  } else if (groups > 2 * half) {
#pragma unroll
    for (int k = 0; k < half; ++k) held[k] = Op::join(held[k], held[k + half]);
  }
}

template <int mask, class Op>
__device__ inline typename Op::State join_lanes(typename Op::State x, u32 threads) {
  return threads > mask ? Op::join(x, swap_state<mask>(x)) : x;
}

// The joined state of `threads` (a power of two, at most 1024) threads; it is thread 0's that counts, and threads from
// 32 on have returned nothing. One barrier in place of ten: after it a lane has the states of all groups to itself.
template <class Op>
__device__ inline typename Op::State join_block(typename Op::State own, Shelf<typename Op::State> &shelf, u32 t,
                                                u32 threads) {
  if (threads > group_lanes) {
    if (t >= group_lanes) shelf.put(t, own);
    __syncthreads();
  }
  if (t >= group_lanes) return own;
  const u32 groups = threads / group_lanes;
  typename Op::State held[16];
  held[0] = own;
  fold<16, Op>(held, shelf, groups, t);
  fold<8, Op>(held, shelf, groups, t);
  fold<4, Op>(held, shelf, groups, t);
  fold<2, Op>(held, shelf, groups, t);
  fold<1, Op>(held, shelf, groups, t);
  auto joined = join_lanes<16, Op>(held[0], threads);
  joined = join_lanes<8, Op>(joined, threads);
  joined = join_lanes<4, Op>(joined, threads);
  joined = join_lanes<2, Op>(joined, threads);
  return join_lanes<1, Op>(joined, threads);
}

}  // namespace candle
