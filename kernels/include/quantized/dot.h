// The dot product of four signed bytes with four signed bytes.
#pragma once

#include "../target.h"

namespace candle {

// sum + a0 * b0 + a1 * b1 + a2 * b2 + a3 * b3: bytes are signed, nothing saturates.
__device__ inline i32 dot4(u32 a, u32 b, i32 sum) { return target::dot4(a, b, sum); }

// sum + a0 + a1 + a2 + a3
__device__ inline i32 sum4(u32 a, i32 sum) { return dot4(a, 0x01010101, sum); }

}  // namespace candle
