// Exchange within an aligned group of 32 lanes: the same on waves of 32 and of 64 lanes.
#pragma once

#include "target.h"

namespace candle {

constexpr int group_lanes = 32;

// The x of lane (own lane ^ mask). The lanes of a pair must both be there.
template <int mask, class T>
__device__ inline T swap(T x) {
  static_assert(mask == 1 || mask == 2 || mask == 4 || mask == 8 || mask == 16, "a step of a butterfly");
  if constexpr (sizeof(T) == 8) {
    return bit_cast<T>(target::swap_word<mask>(bit_cast<u64>(x)));
  } else if constexpr (sizeof(T) == 4) {
    return bit_cast<T>(target::swap_word<mask>(bit_cast<u32>(x)));
  } else if constexpr (sizeof(T) == 2) {
    return bit_cast<T>(u16(target::swap_word<mask>(u32(bit_cast<u16>(x)))));
  } else {
    return bit_cast<T>(u8(target::swap_word<mask>(u32(bit_cast<u8>(x)))));
  }
}

}  // namespace candle
