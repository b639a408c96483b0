// Activations to q8_1 blocks.
#pragma once

#include "../convert.h"
#include "../lanes.h"
#include "blocks.h"

namespace candle {

template <int mask>
__device__ inline void reduce_step(f32 &largest, f32 &sum) {
  largest = __builtin_fmaxf(largest, swap<mask>(largest));
  sum += swap<mask>(sum);
}

// A thread has one value; 32 lanes make a block. Rows of kx values are filled up with zeros to kx_padded.
__device__ inline void quantize_q8_1_block(const f32 *__restrict__ x, void *__restrict__ vy, int kx, int kx_padded) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= kx_padded) return;
  const i64 row = i64(blockIdx.y) * blockDim.y + threadIdx.y;
  const f32 value = column < kx ? x[row * kx + column] : 0.0f;
  f32 largest = __builtin_fabsf(value), sum = value;
  reduce_step<16>(largest, sum);
  reduce_step<8>(largest, sum);
  reduce_step<4>(largest, sum);
  reduce_step<2>(largest, sum);
  reduce_step<1>(largest, sum);
  const f32 d = largest / 127.0f;
  const i32 q = largest == 0.0f ? 0 : to_i32(__builtin_roundf(value / d));
  const i64 at = row * kx_padded + column;
  BlockQ8_1 &block = static_cast<BlockQ8_1 *>(vy)[at / group_length];
  block.qs[at % group_length] = u8(q);  // the low byte: a d that lost bits makes quants beyond 127
  if (at % group_length == 0) {
    block.d = narrow<f16>(d);
    block.s = narrow<f16>(sum);
  }
}

}  // namespace candle
