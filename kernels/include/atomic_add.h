// Atomic additions for every type of the sum kernels, each rounded to the type.
#pragma once

#include "arithmetic.h"
#include "shuffle.h"

namespace candle {

__device__ inline void atomic_add(f32 *p, f32 x) { atomicAdd(p, x); }

__device__ inline void atomic_add(f64 *p, f64 x) { atomicAdd(p, x); }

__device__ inline void atomic_add(u32 *p, u32 x) { atomicAdd(p, x); }

// No target has a compare-and-swap of 16 bits: the aligned word around the element, its other half unchanged.
template <class T>
__device__ inline void atomic_add(T *p, half_only<T> x) {
  const size_t address = reinterpret_cast<size_t>(p);
  u32 *const word = reinterpret_cast<u32 *>(address & ~size_t(3));
  const u32 shift = address & 2 ? 16 : 0;
  u32 seen = *reinterpret_cast<volatile u32 *>(word);
  for (;;) {
    const T sum = T{u16(seen >> shift)} + x;
    const u32 wanted = (seen & ~(0xffffu << shift)) | u32(sum.bits) << shift;
    const u32 before = atomicCAS(word, seen, wanted);
    if (before == seen) return;
    seen = before;
  }
}

template <class T>
__device__ inline auto widened(T x) {
  if constexpr (is_half<T>) {
    return widen(x);
  } else {
    return x;
  }
}

// What a lane has to add, and to which element; nothing for `nowhere`. f16 and bf16 are rounded at the end only.
template <class T>
struct Addend {
  static constexpr u32 nowhere = 0xffffffff;

  u32 to;
  decltype(widened(T{})) x;

  // Lanes of a group that add to one element leave it to the first of them, if they are a whole half of it, a quarter
  // and so on.
  __device__ void meet() {
    meet_at<16>();
    meet_at<8>();
    meet_at<4>();
    meet_at<2>();
    meet_at<1>();
  }

  template <int mask>
  __device__ void meet_at() {
    const u32 other = shuffle_xor<mask>(to);
    const auto more = shuffle_xor<mask>(x);
    if (other != to) return;
    if (threadIdx.x & mask) {
      to = nowhere;
    } else {
      x = x + more;
    }
  }

  __device__ void add_to(T *out) const {
    if (to == nowhere) return;
    if constexpr (is_half<T>) {
      atomic_add(out + to, narrow<T>(x));
    } else {
      atomic_add(out + to, x);
    }
  }
};

}  // namespace candle
