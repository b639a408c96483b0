// Quantizes activations to q8_1 blocks.
#pragma once

#include "../convert.h"
#include "../shuffle.h"
#include "blocks.h"

namespace candle {

constexpr int values_per_thread = 4;  // neighbouring values of a thread

struct alignas(16) Float4 {
  f32 data[values_per_thread];
};

// One butterfly step over the lanes of a block: combines values that are mask * values_per_thread apart.
template <int mask>
__device__ inline void reduce_step(f32 &largest, f32 (&sums)[values_per_thread]) {
  largest = __builtin_fmaxf(largest, shuffle_xor<mask>(largest));
#pragma unroll
  for (int k = 0; k < values_per_thread; ++k) sums[k] += shuffle_xor<mask>(sums[k]);
}

// Candle launches a thread per value; here a thread has four neighbouring values, eight lanes make a block of 32, and
// one thread block in four works. Rows of kx values are padded with zeros to kx_padded.
__device__ inline void quantize_q8_1_block(const f32 *__restrict__ x, void *__restrict__ vy, int kx, int kx_padded) {
  if (blockIdx.x % values_per_thread != 0) return;
  const int blocks = (gridDim.x + values_per_thread - 1) / values_per_thread;
  const i64 row = i64(blockIdx.y) * blockDim.y + threadIdx.y;
  x += row * kx;
  auto *y = static_cast<BlockQ8_1 *>(vy) + row * (kx_padded / group_length);
  const bool vectorized = kx % values_per_thread == 0 && reinterpret_cast<size_t>(x) % sizeof(Float4) == 0;
  int column = (blockIdx.x / values_per_thread * blockDim.x + threadIdx.x) * values_per_thread;
  for (; column < kx_padded; column += blocks * blockDim.x * values_per_thread) {
    Float4 values{};
    if (vectorized) {
      if (column < kx) values = *reinterpret_cast<const Float4 *>(x + column);
    } else {
#pragma unroll
      for (int k = 0; k < values_per_thread; ++k) {
        if (column + k < kx) values.data[k] = x[column + k];
      }
    }
    f32 largest = 0, sums[values_per_thread];
#pragma unroll
    for (int k = 0; k < values_per_thread; ++k) {
      largest = __builtin_fmaxf(largest, __builtin_fabsf(values.data[k]));
      sums[k] = values.data[k];
    }
    reduce_step<4>(largest, sums);
    reduce_step<2>(largest, sums);
    reduce_step<1>(largest, sums);
    const f32 sum = (sums[0] + sums[2]) + (sums[1] + sums[3]);
    const f32 d = largest / 127.0f;
    u32 quants = 0;
    if (largest != 0.0f) {
#pragma unroll
      for (int k = 0; k < values_per_thread; ++k) {
        // Only the low byte: a subnormal d, which has lost bits, gives quants beyond 127.
        quants |= (u32(to_i32(__builtin_roundf(values.data[k] / d))) & 0xff) << 8 * k;
      }
    }
    BlockQ8_1 &block = y[column / group_length];
    const int in_block = column % group_length;
    *reinterpret_cast<UnalignedWord<4> *>(block.qs + in_block) = {quants};
    if (in_block == 0) {
      block.d = narrow<f16>(d);
      block.s = narrow<f16>(sum);
    }
  }
}

}  // namespace candle
