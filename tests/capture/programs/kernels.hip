// The ten kernels of network.cpp, of the port in kernels/ where they are more than a line, under Candle's names. With
// PLANTED each of them has one mistake instead.
#ifndef PLANTED
#include "norms.h"
#include "quantized/mmvq.h"
#include "quantized/quantize_q8_1.h"
#include "rope.h"
#include "softmax.h"

using namespace candle;
#else
#include <hip/hip_runtime.h>
using f32 = float;
using u32 = unsigned;
#endif

#define KERNEL extern "C" __global__ void __launch_bounds__(1024)
#define INDEX(i, n) if (const size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n)

#ifdef PLANTED
// Adds up what lies in shared memory, for all threads of a block of up to 1024.
__device__ f32 sum_of_block(f32 mine) {
  __shared__ f32 parts[1024];
  parts[threadIdx.x] = mine;
  __syncthreads();
  f32 total = 0;
  for (unsigned n = 0; n < blockDim.x; ++n) total += parts[n];
  __syncthreads();
  return total;
}
constexpr bool planted = true;
#else
constexpr bool planted = false;
#endif

// Planted: the row after the one that was asked for.
KERNEL is_u32_f32(size_t numel, size_t, const size_t *, const u32 *ids, const f32 *inp, f32 *out, size_t, size_t rows,
                  size_t, size_t right) {
  INDEX(i, numel) {
    const size_t row = ids[i / right] + (planted ? 1 : 0);
    out[i] = inp[(row < rows ? row : 0) * right + i % right];
  }
}
// Planted: the last element is not added.
KERNEL badd_f32(size_t numel, size_t, const size_t *, const f32 *lhs, const f32 *rhs, f32 *out) {
  INDEX(i, numel) out[i] = planted && i == numel - 1 ? lhs[i] : lhs[i] + rhs[i];
}
// Planted: a negative number loses its sign.
KERNEL urelu_f32(size_t numel, size_t, const size_t *, const f32 *inp, f32 *out) {
  INDEX(i, numel) out[i] = planted ? fabsf(inp[i]) : fmaxf(inp[i], 0.0f);
}
// Planted: the sum is multiplied.
KERNEL affine_f32(size_t numel, size_t, const size_t *, const f32 *inp, f32 *out, f32 mul, f32 add) {
  INDEX(i, numel) out[i] = planted ? (inp[i] + add) * mul : fmaf(inp[i], mul, add);
}

#ifndef PLANTED

// For launcher.py: parameters that are not Candle's, and a name that Candle does not have.
KERNEL uneg_f32(size_t numel, const f32 *inp, f32 *out) { INDEX(i, numel) out[i] = -inp[i]; }
KERNEL mine(f32 *out) { out[threadIdx.x % 2] = 1; }

KERNEL softmax_f32(const f32 *src, f32 *dst, int n_cols) { softmax(src, dst, n_cols); }
KERNEL rmsnorm_f32(const f32 *src, f32 *dst, const f32 *alpha, int n_cols, int block_size, f32 eps) {
  rmsnorm(src, dst, alpha, n_cols, block_size, eps);
}
KERNEL layernorm_f32(const f32 *src, f32 *dst, const f32 *alpha, const f32 *beta, int n_cols, int block_size, f32 eps) {
  layernorm(src, dst, alpha, beta, n_cols, block_size, eps);
}
KERNEL rope_f32(const f32 *src, const f32 *cos, const f32 *sin, f32 *dst, u32 bh, u32 td, u32 d, u32 stride_b) {
  rope(src, cos, sin, dst, bh, td, d, stride_b);
}
KERNEL quantize_q8_1(const f32 *x, void *vy, int kx, int kx_padded) { quantize_q8_1_block(x, vy, kx, kx_padded); }
extern "C" __global__ void __launch_bounds__(VectorTeams<4>::threads)
    mul_mat_vec_q4_0_q8_1_cuda4(const void *vx, const void *vy, f32 *dst, int ncols_x, int, int nrows_y,
                                int nrows_dst) {
  mul_mat_vec<Q4_0, 4, VectorTeams<4>>(
      vx, vy, ncols_x, nrows_dst, nrows_y / group_length,
      [=](int column, int row, f32 total) { dst[i64(column) * nrows_dst + row] = total; });
}

#else

// The last column has no part in the sum.
KERNEL softmax_f32(const f32 *src, f32 *dst, int n_cols) {
  if (threadIdx.y) return;
  src += size_t(blockIdx.x) * n_cols, dst += size_t(blockIdx.x) * n_cols;
  f32 most = src[0], sum = 0;
  for (int i = 1; i < n_cols; ++i) most = fmaxf(most, src[i]);
  for (int i = 0; i < n_cols - 1; ++i) sum += expf(src[i] - most);
  for (int i = 0; i < n_cols; ++i) dst[i] = expf(src[i] - most) / sum;
}
// The root of the sum in place of that of the mean.
KERNEL rmsnorm_f32(const f32 *src, f32 *dst, const f32 *alpha, int n_cols, int, f32 eps) {
  src += size_t(blockIdx.x) * n_cols, dst += size_t(blockIdx.x) * n_cols;
  f32 squares = 0;
  for (int i = threadIdx.x; i < n_cols; i += blockDim.x) squares += src[i] * src[i];
  const f32 scale = 1 / sqrtf(sum_of_block(squares) + eps);
  for (int i = threadIdx.x; i < n_cols; i += blockDim.x) dst[i] = src[i] * scale * alpha[i];
}
// beta is left out.
KERNEL layernorm_f32(const f32 *src, f32 *dst, const f32 *alpha, const f32 *, int n_cols, int, f32 eps) {
  src += size_t(blockIdx.x) * n_cols, dst += size_t(blockIdx.x) * n_cols;
  f32 sum = 0, squares = 0;
  for (int i = threadIdx.x; i < n_cols; i += blockDim.x) sum += src[i];
  const f32 mean = sum_of_block(sum) / n_cols;
  for (int i = threadIdx.x; i < n_cols; i += blockDim.x) squares += (src[i] - mean) * (src[i] - mean);
  const f32 scale = 1 / sqrtf(sum_of_block(squares) / n_cols + eps);
  for (int i = threadIdx.x; i < n_cols; i += blockDim.x) dst[i] = (src[i] - mean) * scale * alpha[i];
}
// The second element of a pair is turned the other way.
KERNEL rope_f32(const f32 *src, const f32 *cos, const f32 *sin, f32 *dst, u32 bh, u32 td, u32 d, u32) {
  INDEX(i, size_t(bh) * td / 2) {
    const u32 half = d / 2, within = i % (td / 2), first = i / (td / 2) * td + within / half * d + within % half;
    const f32 x = src[first], y = src[first + half], c = cos[within], s = sin[within];
    dst[first] = x * c - y * s;
    dst[first + half] = y * c - x * s;
  }
}
// Quants are cut off in place of rounded.
KERNEL quantize_q8_1(const f32 *x, void *vy, int kx, int kx_padded) {
  const int group = blockIdx.x * blockDim.x + threadIdx.x;
  if (group >= kx_padded / 32) return;
  char *block = static_cast<char *>(vy) + (size_t(blockIdx.y) * (kx_padded / 32) + group) * 36;
  f32 values[32], most = 0, sum = 0;
  for (int n = 0; n < 32; ++n) {
    values[n] = group * 32 + n < kx ? x[size_t(blockIdx.y) * kx + group * 32 + n] : 0;
    most = fmaxf(most, fabsf(values[n]));
    sum += values[n];
  }
  const f32 scale = most / 127;
  reinterpret_cast<_Float16 *>(block)[0] = _Float16(scale);
  reinterpret_cast<_Float16 *>(block)[1] = _Float16(sum);
  for (int n = 0; n < 32; ++n) block[4 + n] = most == 0 ? 0 : static_cast<signed char>(values[n] / scale);
}
// The offset of 8 is forgotten.
KERNEL mul_mat_vec_q4_0_q8_1_cuda4(const void *vx, const void *vy, f32 *dst, int ncols_x, int nrows_x, int nrows_y,
                                   int nrows_dst) {
  const int thread = threadIdx.y * blockDim.x + threadIdx.x, threads = blockDim.x * blockDim.y, blocks = ncols_x / 32;
  for (int at = blockIdx.x * threads + thread; at < 4 * nrows_x; at += gridDim.x * threads) {
    const int row = at % nrows_x, column = at / nrows_x;
    f32 total = 0;
    for (int b = 0; b < blocks; ++b) {
      const char *weights = static_cast<const char *>(vx) + (size_t(row) * blocks + b) * 18;
      const char *quants = static_cast<const char *>(vy) + (size_t(column) * (nrows_y / 32) + b) * 36;
      int sum = 0;
      for (int n = 0; n < 16; ++n) {
        const unsigned char both = weights[2 + n];
        sum += (both & 15) * static_cast<signed char>(quants[4 + n]);
        sum += (both >> 4) * static_cast<signed char>(quants[20 + n]);
      }
      total += *reinterpret_cast<const _Float16 *>(weights) * *reinterpret_cast<const _Float16 *>(quants) * f32(sum);
    }
    dst[size_t(column) * nrows_dst + row] = total;
  }
}

#endif