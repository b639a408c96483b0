// rmsnorm and layernorm of rows: one block a row, all arithmetic in f32, f64 rows too.
#pragma once

#include "reduction.h"
#include "softmax.h"

namespace candle {

// A thread's elements that stay in registers between the two passes over a row.
constexpr int norm_held = 4;

// The sums over `threads` threads (32, or 1024 and the multiples of 32 between) of N numbers each, in every thread:
// over the lanes of each group of 32, then over the groups.
template <int N>
struct Sums {
  f32 at[N];
};

template <int N>
__device__ inline Sums<N> sum_block(Sums<N> x, f32 (&shelf)[N][group_lanes], u32 t, u32 threads) {
#pragma unroll
  for (int n = 0; n < N; ++n) x.at[n] = sum_lanes(x.at[n]);
  if (threads <= group_lanes) return x;
  const u32 lane = t % group_lanes;
  if (lane == 0) {
#pragma unroll
    for (int n = 0; n < N; ++n) shelf[n][t / group_lanes] = x.at[n];
  }
  __syncthreads();
#pragma unroll
  for (int n = 0; n < N; ++n) x.at[n] = sum_lanes(lane < threads / group_lanes ? shelf[n][lane] : 0.0f);
  return x;
}

// f(x) of every element of a thread, in order.
template <class T, class F>
__device__ inline void load_row(const T *src, int n_cols, int t, int threads, f32 (&held)[norm_held], const F &f) {
#pragma unroll
  for (int k = 0; k < norm_held; ++k) {
    const int col = t + threads * k;
    held[k] = 0;
    if (col >= n_cols) continue;
    held[k] = f32(widen(src[col]));
    f(held[k]);
  }
  for (int col = t + threads * norm_held; col < n_cols; col += threads) f(f32(widen(src[col])));
}

template <class T>
__device__ inline T stored(f32 x) {
  if constexpr (same<T, f64>) {
    return x;
  } else {
    return narrow<T>(x);
  }
}

// dst[col] = f(x, col).
template <class T, class F>
__device__ inline void store_row(const T *src, T *dst, int n_cols, int t, int threads, const f32 (&held)[norm_held],
                                 const F &f) {
#pragma unroll
  for (int k = 0; k < norm_held; ++k) {
    const int col = t + threads * k;
    if (col < n_cols) dst[col] = stored<T>(f(held[k], col));
  }
  for (int col = t + threads * norm_held; col < n_cols; col += threads) {
    dst[col] = stored<T>(f(f32(widen(src[col])), col));
  }
}

// (x / rms) * alpha; a null alpha is 1.
template <class T>
__device__ inline void rmsnorm(const T *__restrict__ src, T *__restrict__ dst, const T *__restrict__ alpha, int n_cols,
                               int threads, f32 eps) {
  __shared__ f32 shelf[1][group_lanes];
  const size_t row = size_t(blockIdx.x) * n_cols;
  const int t = int(threadIdx.x);
  src += row;
  dst += row;
  f32 held[norm_held];
  Sums<1> squares{};
  load_row(src, n_cols, t, threads, held, [&](f32 x) { squares.at[0] = fused(x, x, squares.at[0]); });
  squares = sum_block(squares, shelf, u32(t), u32(threads));
  const f32 scale = rsqrtf(squares.at[0] / f32(n_cols) + eps);
  if (alpha) {
    store_row(src, dst, n_cols, t, threads, held, [&](f32 x, int col) { return scale * x * f32(widen(alpha[col])); });
  } else {
    store_row(src, dst, n_cols, t, threads, held, [&](f32 x, int) { return scale * x; });
  }
}

// (x - mean) / deviation * alpha + beta; either may be null. The variance is the mean of the squares less the square
// of the mean, as in Candle.
template <class T>
__device__ inline void layernorm(const T *__restrict__ src, T *__restrict__ dst, const T *__restrict__ alpha,
                                 const T *__restrict__ beta, int n_cols, int threads, f32 eps) {
  __shared__ f32 shelf[2][group_lanes];
  const size_t row = size_t(blockIdx.x) * n_cols;
  const int t = int(threadIdx.x);
  src += row;
  dst += row;
  f32 held[norm_held];
  Sums<2> sums{};  // of x and of x * x
  load_row(src, n_cols, t, threads, held, [&](f32 x) {
    sums.at[0] += x;
    sums.at[1] = fused(x, x, sums.at[1]);
  });
  sums = sum_block(sums, shelf, u32(t), u32(threads));
  const f32 mean = sums.at[0] / f32(n_cols);
  const f32 variance = fused(-mean, mean, sums.at[1] / f32(n_cols));
  const f32 scale = rsqrtf(variance + eps);
  const auto normal = [&](f32 x) { return (x - mean) * scale; };
  if (alpha && beta) {
    store_row(src, dst, n_cols, t, threads, held,
              [&](f32 x, int col) { return fused(normal(x), f32(widen(alpha[col])), f32(widen(beta[col]))); });
  } else if (alpha) {
    store_row(src, dst, n_cols, t, threads, held, [&](f32 x, int col) { return normal(x) * f32(widen(alpha[col])); });
  } else if (beta) {
    store_row(src, dst, n_cols, t, threads, held,
              [&](f32 x, int col) { return fused(x - mean, scale, f32(widen(beta[col]))); });
  } else {
    store_row(src, dst, n_cols, t, threads, held, [&](f32 x, int) { return normal(x); });
  }
}

}  // namespace candle
