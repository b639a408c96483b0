// Atomic additions for every type of the sum kernels, each rounded to the type.
#pragma once

#include "number.h"

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

}  // namespace candle
