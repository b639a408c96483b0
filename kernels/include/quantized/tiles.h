// What all tiled products have in common.
#pragma once

#include "blocks.h"
#include "dot.h"

namespace candle {

constexpr int group_words = group_length / 4;

// 16 bytes of shared memory, read by one instruction.
struct alignas(16) Quad {
  u32 word[4];
};

__device__ inline i32 dot16(const Quad &a, const Quad &b, i32 sum) {
#pragma unroll
  for (int k = 0; k < 4; ++k) sum = dot4(a.word[k], b.word[k], sum);
  return sum;
}

__device__ constexpr int clamp_index(int i, int last) { return i < last ? i : last; }

}  // namespace candle
