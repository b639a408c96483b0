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

// By words for AMD GPUs: LLVM keeps an array of what is copied as a whole in scratch memory, not in registers.
__device__ inline void copy(Quad &to, const Quad &from) {
  if constexpr (target::on_amd) {
#pragma unroll
    for (int k = 0; k < 4; ++k) to.word[k] = from.word[k];
  } else {
    to = from;
  }
}

__device__ inline i32 dot16(const Quad &a, const Quad &b, i32 sum) {
#pragma unroll
  for (int k = 0; k < 4; ++k) sum = dot4(a.word[k], b.word[k], sum);
  return sum;
}

__device__ constexpr int clamp_index(int i, int last) { return i < last ? i : last; }

}  // namespace candle
