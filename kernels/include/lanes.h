// Exchange within an aligned group of 32 lanes: the same on waves of 32 and of 64 lanes.
#pragma once

#include "types.h"

namespace candle {

constexpr int group_lanes = 32;

template <int mask>
__device__ inline u32 swap_word(u32 x) {
  static_assert(mask == 1 || mask == 2 || mask == 4 || mask == 8 || mask == 16, "a step of a butterfly");
#ifdef __AMDGCN__
  // Data-parallel moves cost no more than a register move; the rest goes through the LDS crossbar.
  if constexpr (mask == 1) {
    return u32(__builtin_amdgcn_update_dpp(0, int(x), 0xb1, 0xf, 0xf, true));  // quad_perm:[1,0,3,2]
  } else if constexpr (mask == 2) {
    return u32(__builtin_amdgcn_update_dpp(0, int(x), 0x4e, 0xf, 0xf, true));  // quad_perm:[2,3,0,1]
  } else if constexpr (mask == 8) {
    return u32(__builtin_amdgcn_update_dpp(0, int(x), 0x128, 0xf, 0xf, true));  // row_ror:8, of rows of 16
  } else {
    return u32(__builtin_amdgcn_ds_swizzle(int(x), mask << 10 | 0x1f));  // lane ^ mask
  }
#else
  return __shfl_xor(x, mask, group_lanes);
#endif
}

// The x of lane (own lane ^ mask). The lanes of a pair must both be there.
template <int mask, class T>
__device__ inline T swap(T x) {
  if constexpr (sizeof(T) == 8) {
#ifdef __AMDGCN__
    const u64 word = bit_cast<u64>(x);
    return bit_cast<T>(u64(swap_word<mask>(u32(word))) | u64(swap_word<mask>(u32(word >> 32))) << 32);
#else
    return bit_cast<T>(__shfl_xor(bit_cast<u64>(x), mask, group_lanes));
#endif
  } else if constexpr (sizeof(T) == 4) {
    return bit_cast<T>(swap_word<mask>(bit_cast<u32>(x)));
  } else if constexpr (sizeof(T) == 2) {
    return bit_cast<T>(u16(swap_word<mask>(bit_cast<u16>(x))));
  } else {
    return bit_cast<T>(u8(swap_word<mask>(bit_cast<u8>(x))));
  }
}

}  // namespace candle
