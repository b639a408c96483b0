// Quantizes activations to q8_1 blocks.
#pragma once

#include "../convert.h"
#include "../pack.h"
#include "../shuffle.h"
#include "blocks.h"

namespace candle {

constexpr int values_per_thread = 4;  // neighbouring values of a thread

// One butterfly step over the lanes of a block: combines values that are mask * values_per_thread apart.
template <int mask>
__device__ inline void reduce_step(f32 &largest, f32 (&sums)[values_per_thread]) {
  largest = __builtin_fmaxf(largest, shuffle_xor<mask>(largest));
#pragma unroll
  for (int k = 0; k < values_per_thread; ++k) sums[k] += shuffle_xor<mask>(sums[k]);
}

// x / d, rounded once, of a rounded reciprocal of d: the first correction leaves less than an ulp, after which the
// second is exact (Markstein 1990).
__device__ inline f32 divide(f32 x, f32 d, f32 reciprocal) {
  f32 quotient = x * reciprocal;
  quotient = fma(fma(-quotient, d, x), reciprocal, quotient);
  return fma(fma(-quotient, d, x), reciprocal, quotient);
}

// A row of kx values, padded with zeros to kx_padded: eight lanes make a block of 32. The caller's first column is a
// multiple of values_per_thread, and so is step.
template <class T>
__device__ inline void quantize_row(const T *__restrict__ x, BlockQ8_1 *__restrict__ y, int kx, int kx_padded,
                                    int column, int step) {
  const bool vectorized = kx % values_per_thread == 0 && is_aligned<values_per_thread>(x);
  for (; column < kx_padded; column += step) {
    Pack<T, values_per_thread> loaded{};
    if (vectorized) {
      if (column < kx) loaded = load_pack<values_per_thread>(x + column);
    } else {
#pragma unroll
      for (int k = 0; k < values_per_thread; ++k) {
        if (column + k < kx) loaded.data[k] = x[column + k];
      }
    }
    f32 values[values_per_thread], largest = 0, sums[values_per_thread];
#pragma unroll
    for (int k = 0; k < values_per_thread; ++k) {
      values[k] = widen(loaded.data[k]);
      largest = __builtin_fmaxf(largest, __builtin_fabsf(values[k]));
      sums[k] = values[k];
    }
    reduce_step<4>(largest, sums);
    reduce_step<2>(largest, sums);
    reduce_step<1>(largest, sums);
    const f32 sum = (sums[0] + sums[2]) + (sums[1] + sums[3]);
    f32 d = largest, quotients[values_per_thread] = {};  // of zeros and infinities
    if (largest >= 0x1p-90f && largest <= 0x1p120f) {
      // No step of divide() overflows, and one underflows only where the quotient is below a half.
      d = divide(largest, 127.0f, 1.0f / 127.0f);
      const f32 reciprocal = 1.0f / d;
#pragma unroll
      for (int k = 0; k < values_per_thread; ++k) quotients[k] = divide(values[k], d, reciprocal);
    } else if (largest > 0.0f && largest < __builtin_inff()) {
      d = largest / 127.0f;
#pragma unroll
      for (int k = 0; k < values_per_thread; ++k) quotients[k] = values[k] / d;
    }
    u32 quants = 0;
#pragma unroll
    for (int k = 0; k < values_per_thread; ++k) {
      // Only the low byte: a subnormal d, which has lost bits, gives quants beyond 127.
      quants |= (u32(to_i32(__builtin_roundf(quotients[k]))) & 0xff) << 8 * k;
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

// Candle launches a thread per value; here a thread has four neighbouring values, and one thread block in four works.
__device__ inline void quantize_q8_1_block(const f32 *__restrict__ x, void *__restrict__ vy, int kx, int kx_padded) {
  if (blockIdx.x % values_per_thread != 0) return;
  const int blocks = (gridDim.x + values_per_thread - 1) / values_per_thread;
  const i64 row = i64(blockIdx.y) * blockDim.y + threadIdx.y;
  quantize_row(x + row * kx, static_cast<BlockQ8_1 *>(vy) + row * (kx_padded / group_length), kx, kx_padded,
               int(blockIdx.x / values_per_thread * blockDim.x + threadIdx.x) * values_per_thread,
               int(blocks * blockDim.x) * values_per_thread);
}

constexpr int quantize_threads = 256;

// Thread block (x, row) of quantize_threads threads quantizes that many times values_per_thread values of a row.
template <class T>
__device__ inline void quantize_rows(const T *__restrict__ x, void *__restrict__ vy, int kx, int kx_padded) {
  const i64 row = blockIdx.y;
  const int first = int(blockIdx.x * quantize_threads + threadIdx.x) * values_per_thread;
  quantize_row(x + row * kx, static_cast<BlockQ8_1 *>(vy) + row * (kx_padded / group_length), kx, kx_padded, first,
               kx_padded);
}

}  // namespace candle
