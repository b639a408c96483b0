// The dot product of four signed bytes with four signed bytes.
#pragma once

#include "../types.h"

// v_dot4_i32_i8 (Vega 20, CDNA, RDNA 2) and v_dot4_i32_iu8 (RDNA 3 and 4, where each side says whether it is signed).
#if defined(__gfx906__) || defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx940__) || defined(__gfx941__) || \
    defined(__gfx942__) || defined(__gfx950__) || defined(__gfx1011__) || defined(__gfx1012__) ||                      \
    defined(__gfx1030__) || defined(__gfx1031__) || defined(__gfx1032__) || defined(__gfx1033__) ||                    \
    defined(__gfx1034__) || defined(__gfx1035__) || defined(__gfx1036__)
#define CANDLE_SDOT4 1
#elif defined(__GFX11__) || defined(__GFX12__)
#define CANDLE_SUDOT4 1
#endif

// Columns are unrolled where their sums must be in registers. On the host that would only make code: several times the
// compile time, and clang 19 vectorises the four or eight copies of q8_0 wrongly.
#ifdef __AMDGCN__
#define CANDLE_UNROLL_COLUMNS _Pragma("unroll")
#else
#define CANDLE_UNROLL_COLUMNS
#endif

namespace candle {

// sum + a0 * b0 + a1 * b1 + a2 * b2 + a3 * b3: bytes are signed, nothing saturates.
__device__ inline i32 dot4(u32 a, u32 b, i32 sum) {
#if defined(CANDLE_SDOT4)
  return __builtin_amdgcn_sdot4(i32(a), i32(b), sum, false);
#elif defined(CANDLE_SUDOT4)
  return __builtin_amdgcn_sudot4(true, i32(a), true, i32(b), sum, false);
#else
  using i8 = signed char;
  sum += i32(i8(a)) * i32(i8(b));
  sum += i32(i8(a >> 8)) * i32(i8(b >> 8));
  sum += i32(i8(a >> 16)) * i32(i8(b >> 16));
  return sum + i32(i8(a >> 24)) * i32(i8(b >> 24));
#endif
}

// sum + a0 + a1 + a2 + a3
__device__ inline i32 sum4(u32 a, i32 sum) { return dot4(a, 0x01010101, sum); }

}  // namespace candle
