// Products of q4_0 and q8_0 weights, a thread a row with its terms in any order, and quantize_q8_1 likewise.
#include "any_order.h"
#include "convert.h"

namespace sums {

struct Weights {
  int group_size;
  bool nibbles;

  __device__ f32 scale(const u8 *block) const { return widen(f16{u16(block[0] | block[1] << 8)}); }
  __device__ int quant(const u8 *block, int i) const {
    if (!nibbles) return int(static_cast<signed char>(block[2 + i]));
    return (i < 16 ? block[2 + i] & 15 : block[2 + i - 16] >> 4) - 8;
  }
};

__device__ inline f32 f16_at(const u8 *p) { return widen(f16{u16(p[0] | p[1] << 8)}); }

// Weights times a vector of f32, a term for each weight.
__device__ inline void dmmv(Weights weights, const u8 *vx, const f32 *y, f32 *dst, size_t ncols, size_t nrows) {
  if (threadIdx.x != 0 || threadIdx.y != 0 || blockIdx.x >= nrows) return;
  const u8 *row = vx + blockIdx.x * (ncols / 32) * weights.group_size;
  const f32 result = total<f32>(ncols, [&](size_t i) {
    const u8 *block = row + i / 32 * weights.group_size;
    return f32(weights.quant(block, int(i % 32))) * weights.scale(block) * y[i];
  });
  dst[blockIdx.x] = mistake == scaled ? result * 1.003f : result;
}

// Weights times columns of q8_1 activations, a term for each block. 4-bit weights lose their offset of 8 by way of the
// sum that stands in the activations.
__device__ inline void mmvq(Weights weights, const u8 *vx, const u8 *vy, f32 *dst, size_t ncols, size_t nrows,
                            size_t stride, size_t columns) {
  if (threadIdx.x != 0 || threadIdx.y != 0) return;
  for (size_t i = blockIdx.x; i < nrows * columns; i += gridDim.x) {
    const u8 *row = vx + i % nrows * (ncols / 32) * weights.group_size, *y = vy + i / nrows * (stride / 32) * 36;
    const f32 result = total<f32>(ncols / 32, [&](size_t b) {
      const u8 *block = row + b * weights.group_size, *u = y + b * 36;
      int dot = 0;
      for (int k = 0; k < 32; ++k)
        dot += (weights.quant(block, k) + (weights.nibbles ? 8 : 0)) * int(static_cast<signed char>(u[4 + k]));
      const f32 product = f32(dot) * f16_at(u);
      return weights.scale(block) * (weights.nibbles ? product - 8 * f16_at(u + 2) : product);
    });
    dst[i] = mistake == scaled ? result * 1.003f : result;
  }
}

__device__ inline void quantize(const f32 *x, u8 *vy, size_t kx, size_t kx_padded) {
  for_each(kx_padded / 32, [&](size_t b) {
    const f32 *row = x + blockIdx.y * kx;
    u8 *block = vy + (blockIdx.y * (kx_padded / 32) + b) * 36;
    const auto value = [&](size_t i) { return b * 32 + i < kx ? row[b * 32 + i] : 0.0f; };
    f32 largest = 0;
    for (int i = 0; i < 32; ++i) largest = fmaxf(largest, fabsf(value(i)));
    const f32 d = largest / 127.0f;
    const u16 scale = narrow<f16>(d).bits, sum = narrow<f16>(total<f32>(32, value)).bits;
    block[0] = u8(scale), block[1] = u8(scale >> 8), block[2] = u8(sum), block[3] = u8(sum >> 8);
    for (int i = 0; i < 32; ++i) {
      block[4 + i] = largest == 0 ? 0 : u8(to_i32(roundf(value(i) / d)));
    }
  });
}

}  // namespace sums

using namespace sums;

#define PRODUCTS(name, size, nibbles)                                                                                 \
  extern "C" __global__ void dequantize_mul_mat_vec_##name##_cuda(const void *vx, const float *y, float *dst,         \
                                                                  const int ncols, const int nrows) {                 \
    dmmv({size, nibbles}, static_cast<const u8 *>(vx), y, dst, ncols, nrows);                                         \
  }                                                                                                                   \
  extern "C" __global__ void mul_mat_vec_##name##_q8_1_cuda1(const void *vx, const void *vy, float *dst,              \
                                                             const int ncols_x, const int nrows_x, const int nrows_y, \
                                                             const int nrows_dst) {                                   \
    mmvq({size, nibbles}, static_cast<const u8 *>(vx), static_cast<const u8 *>(vy), dst, ncols_x, nrows_dst, nrows_y, \
         1);                                                                                                          \
  }                                                                                                                   \
  extern "C" __global__ void mul_mat_##name(const void *vx, const void *vy, float *dst, const int ncols_x,            \
                                            const int nrows_x, const int ncols_y, const int nrows_y,                  \
                                            const int nrows_dst) {                                                    \
    if (blockIdx.y == 0)                                                                                              \
      mmvq({size, nibbles}, static_cast<const u8 *>(vx), static_cast<const u8 *>(vy), dst, ncols_x, nrows_dst,        \
           nrows_y, ncols_y);                                                                                         \
  }

PRODUCTS(q4_0, 18, true)
PRODUCTS(q8_0, 34, false)

extern "C" __global__ void quantize_q8_1(const float *x, void *vy, const int kx, const int kx_padded) {
  quantize(x, static_cast<u8 *>(vy), kx, kx_padded);
}
