// Data exchange within logical waves: aligned groups of 32 lanes (the warp of Candle), which are a wave32 or half of a
// wave64.
#pragma once

#include "target.h"

namespace candle {

constexpr int logical_wave_size = 32;

// The x of lane (lane ^ mask). Both lanes of a pair must be active.
template <int mask, class T>
__device__ inline T shuffle_xor(T x) {
  static_assert(mask == 1 || mask == 2 || mask == 4 || mask == 8 || mask == 16, "a power of two below 32");
  if constexpr (sizeof(T) == 8) {
    return bit_cast<T>(target::shuffle_xor_word<mask>(bit_cast<u64>(x)));
  } else if constexpr (sizeof(T) == 4) {
    return bit_cast<T>(target::shuffle_xor_word<mask>(bit_cast<u32>(x)));
  } else if constexpr (sizeof(T) == 2) {
    return bit_cast<T>(u16(target::shuffle_xor_word<mask>(u32(bit_cast<u16>(x)))));
  } else {
    return bit_cast<T>(u8(target::shuffle_xor_word<mask>(u32(bit_cast<u8>(x)))));
  }
}

}  // namespace candle
