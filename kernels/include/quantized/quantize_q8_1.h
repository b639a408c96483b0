// Activations to q8_1 blocks.
#pragma once

#include "../convert.h"
#include "../shuffle.h"
#include "blocks.h"

namespace candle {

constexpr int lane_values = 4;  // side by side in a thread

struct alignas(16) Four {
  f32 at[lane_values];
};

// One step of the butterfly over a group, for values that lie mask * lane_values apart.
template <int mask>
__device__ inline void reduce_step(f32 &largest, f32 (&sums)[lane_values]) {
  largest = __builtin_fmaxf(largest, shuffle_xor<mask>(largest));
#pragma unroll
  for (int k = 0; k < lane_values; ++k) sums[k] += shuffle_xor<mask>(sums[k]);
}

// Candle launches a thread per value; here one has four, eight lanes make a block of 32, and one thread block in four
// works. Rows of kx values are filled up with zeros to kx_padded.
__device__ inline void quantize_q8_1_block(const f32 *__restrict__ x, void *__restrict__ vy, int kx, int kx_padded) {
  if (blockIdx.x % lane_values != 0) return;
  const int blocks = (gridDim.x + lane_values - 1) / lane_values;
  const i64 row = i64(blockIdx.y) * blockDim.y + threadIdx.y;
  x += row * kx;
  auto *y = static_cast<BlockQ8_1 *>(vy) + row * (kx_padded / group_length);
  const bool packs = kx % lane_values == 0 && reinterpret_cast<size_t>(x) % sizeof(Four) == 0;
  int column = (blockIdx.x / lane_values * blockDim.x + threadIdx.x) * lane_values;
  for (; column < kx_padded; column += blocks * blockDim.x * lane_values) {
    Four values{};
    if (packs) {
      if (column < kx) values = *reinterpret_cast<const Four *>(x + column);
    } else {
#pragma unroll
      for (int k = 0; k < lane_values; ++k) {
        if (column + k < kx) values.at[k] = x[column + k];
      }
    }
    f32 largest = 0, sums[lane_values];
#pragma unroll
    for (int k = 0; k < lane_values; ++k) {
      largest = __builtin_fmaxf(largest, __builtin_fabsf(values.at[k]));
      sums[k] = values.at[k];
    }
    reduce_step<4>(largest, sums);
    reduce_step<2>(largest, sums);
    reduce_step<1>(largest, sums);
    const f32 sum = (sums[0] + sums[2]) + (sums[1] + sums[3]);
    const f32 d = largest / 127.0f;
    u32 quants = 0;
    if (largest != 0.0f) {
#pragma unroll
      for (int k = 0; k < lane_values; ++k) {
        // The low byte: a d that lost bits makes quants beyond 127.
        quants |= (u32(to_i32(__builtin_roundf(values.at[k] / d))) & 0xff) << 8 * k;
      }
    }
    BlockQ8_1 &block = y[column / group_length];
    const int in_block = column % group_length;
    *reinterpret_cast<Word<4> *>(block.qs + in_block) = {quants};
    if (in_block == 0) {
      block.d = narrow<f16>(d);
      block.s = narrow<f16>(sum);
    }
  }
}

}  // namespace candle
