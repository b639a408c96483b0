// Atomic additions for every type of the sum kernels; each is rounded to the type.
#pragma once

#include "arithmetic.h"
#include "shuffle.h"

namespace candle {

__device__ inline void atomic_add(f32 *p, f32 x) { atomicAdd(p, x); }

__device__ inline void atomic_add(f64 *p, f64 x) { atomicAdd(p, x); }

__device__ inline void atomic_add(u32 *p, u32 x) { atomicAdd(p, x); }

// 16-bit types: compare-and-swap on the aligned 32-bit word that contains the element, as no target has one of 16 bits.
template <class T>
__device__ inline void atomic_add(T *p, half_only<T> x) {
  const size_t address = reinterpret_cast<size_t>(p);
  u32 *const word = reinterpret_cast<u32 *>(address & ~size_t(3));
  const u32 shift = address & 2 ? 16 : 0;
  u32 expected = *reinterpret_cast<volatile u32 *>(word);
  for (;;) {
    const T sum = T{u16(expected >> shift)} + x;
    const u32 desired = (expected & ~(0xffffu << shift)) | u32(sum.bits) << shift;
    const u32 observed = atomicCAS(word, expected, desired);
    if (observed == expected) return;
    expected = observed;
  }
}

template <class T>
__device__ inline auto widen_half(T x) {
  if constexpr (is_half<T>) {
    return widen(x);
  } else {
    return x;
  }
}

// What a lane adds, and to which output; nothing if index is no_index. f16 and bf16 are summed in f32 and rounded at
// the end.
template <class T>
struct Addend {
  static constexpr u32 no_index = 0xffffffff;

  u32 index;
  decltype(widen_half(T{})) value;

  // Butterfly over a logical wave: where both lanes of a pair add to the same output, the lower lane takes over both
  // values and the upper one is done. Complete only for runs of a power of two of lanes; the rest is left to the
  // atomics.
  __device__ void combine_lanes() {
    combine_step<16>();
    combine_step<8>();
    combine_step<4>();
    combine_step<2>();
    combine_step<1>();
  }

  template <int mask>
  __device__ void combine_step() {
    const u32 other_index = shuffle_xor<mask>(index);
    const auto other_value = shuffle_xor<mask>(value);
    if (other_index != index) return;
    if (threadIdx.x & mask) {
      index = no_index;
    } else {
      value = value + other_value;
    }
  }

  __device__ void add_to(T *out) const {
    if (index == no_index) return;
    if constexpr (is_half<T>) {
      atomic_add(out + index, narrow<T>(value));
    } else {
      atomic_add(out + index, value);
    }
  }
};

}  // namespace candle
