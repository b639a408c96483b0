// rmsnorm and layernorm of rows: one block a row, all arithmetic in f32, f64 rows too.
#pragma once

#include "reduction.h"
#include "softmax.h"

namespace candle {

// A thread's elements that stay in registers between the two passes over a row: all of them where it has one.
constexpr int norm_held = 4;

// alpha or beta, of a thread that has one column loaded before the sums are joined.
template <int held, class T>
struct Weights {
  const T *all;
  f32 own;

  __device__ Weights(const T *all, int col, int n_cols) : all(all), own(0) {
    if (held == 1 && all && col < n_cols) own = f32(widen(all[col]));
  }
  __device__ f32 at(int col) const { return held == 1 ? own : f32(widen(all[col])); }
};

// The sums over `threads` threads (32, or 1024 and the multiples of 32 between) of N numbers each, in every thread:
// over the lanes of each group of 32, then over the groups.
template <int N>
struct Sums {
  f32 at[N];
};

template <int N>
__device__ inline Sums<N> sum_block(Sums<N> x, f32 (&shelf)[N][logical_wave_size], u32 t, u32 threads) {
#pragma unroll
  for (int n = 0; n < N; ++n) x.at[n] = wave_reduce_sum(x.at[n]);
  if (threads <= logical_wave_size) return x;
  const u32 lane = t % logical_wave_size;
  if (lane == 0) {
#pragma unroll
    for (int n = 0; n < N; ++n) shelf[n][t / logical_wave_size] = x.at[n];
  }
  __syncthreads();
#pragma unroll
  for (int n = 0; n < N; ++n) x.at[n] = wave_reduce_sum(lane < threads / logical_wave_size ? shelf[n][lane] : 0.0f);
  return x;
}

// f(x) of every element of a thread, in order.
template <int N, class T, class F>
__device__ inline void load_row(const T *src, int n_cols, int t, int threads, f32 (&held)[N], const F &f) {
#pragma unroll
  for (int k = 0; k < N; ++k) {
    const int col = t + threads * k;
    held[k] = 0;
    if (col >= n_cols) continue;
    held[k] = f32(widen(src[col]));
    f(held[k]);
  }
  if constexpr (N > 1) {
    for (int col = t + threads * N; col < n_cols; col += threads) f(f32(widen(src[col])));
  }
}

template <class T>
__device__ inline T stored(f32 x) {
  if constexpr (is_same<T, f64>) {
    return x;
  } else {
    return narrow<T>(x);
  }
}

// dst[col] = f(x, col).
template <int N, class T, class F>
__device__ inline void store_row(const T *src, T *dst, int n_cols, int t, int threads, const f32 (&held)[N],
                                 const F &f) {
#pragma unroll
  for (int k = 0; k < N; ++k) {
    const int col = t + threads * k;
    if (col < n_cols) dst[col] = stored<T>(f(held[k], col));
  }
  if constexpr (N > 1) {
    for (int col = t + threads * N; col < n_cols; col += threads) {
      dst[col] = stored<T>(f(f32(widen(src[col])), col));
    }
  }
}

// (x / rms) * alpha; a null alpha is 1.
template <int N, class T>
__device__ inline void rmsnorm_row(const T *__restrict__ src, T *__restrict__ dst, const T *__restrict__ alpha,
                                   int n_cols, int threads, f32 eps, f32 (&shelf)[1][logical_wave_size]) {
  const int t = int(threadIdx.x);
  const Weights<N, T> weights(alpha, t, n_cols);
  f32 held[N];
  Sums<1> squares{};
  load_row(src, n_cols, t, threads, held, [&](f32 x) { squares.at[0] = fma(x, x, squares.at[0]); });
  squares = sum_block(squares, shelf, u32(t), u32(threads));
  const f32 scale = rsqrtf(squares.at[0] / f32(n_cols) + eps);
  if (alpha) {
    store_row(src, dst, n_cols, t, threads, held, [&](f32 x, int col) { return scale * x * weights.at(col); });
  } else {
    store_row(src, dst, n_cols, t, threads, held, [&](f32 x, int) { return scale * x; });
  }
}

template <class T>
__device__ inline void rmsnorm(const T *__restrict__ src, T *__restrict__ dst, const T *__restrict__ alpha, int n_cols,
                               int threads, f32 eps) {
  __shared__ f32 shelf[1][logical_wave_size];
  const size_t row = size_t(blockIdx.x) * n_cols;
  if (n_cols <= threads) {
    rmsnorm_row<1>(src + row, dst + row, alpha, n_cols, threads, eps, shelf);
  } else {
    rmsnorm_row<norm_held>(src + row, dst + row, alpha, n_cols, threads, eps, shelf);
  }
}

// (x - mean) / deviation * alpha + beta; either may be null. The variance is the mean of the squares less the square
// of the mean, as in Candle.
template <int N, class T>
__device__ inline void layernorm_row(const T *__restrict__ src, T *__restrict__ dst, const T *__restrict__ alpha,
                                     const T *__restrict__ beta, int n_cols, int threads, f32 eps,
                                     f32 (&shelf)[2][logical_wave_size]) {
  const int t = int(threadIdx.x);
  const Weights<N, T> weights(alpha, t, n_cols), offsets(beta, t, n_cols);
  f32 held[N];
  Sums<2> sums{};  // of x and of x * x
  load_row(src, n_cols, t, threads, held, [&](f32 x) {
    sums.at[0] += x;
    sums.at[1] = fma(x, x, sums.at[1]);
  });
  sums = sum_block(sums, shelf, u32(t), u32(threads));
  const f32 mean = sums.at[0] / f32(n_cols);
  const f32 variance = fma(-mean, mean, sums.at[1] / f32(n_cols));
  const f32 scale = rsqrtf(variance + eps);
  const auto normal = [&](f32 x) { return (x - mean) * scale; };
  if (alpha && beta) {
    store_row(src, dst, n_cols, t, threads, held,
              [&](f32 x, int col) { return fma(normal(x), weights.at(col), offsets.at(col)); });
  } else if (alpha) {
    store_row(src, dst, n_cols, t, threads, held, [&](f32 x, int col) { return normal(x) * weights.at(col); });
  } else if (beta) {
    store_row(src, dst, n_cols, t, threads, held,
              [&](f32 x, int col) { return fma(x - mean, scale, offsets.at(col)); });
  } else {
    store_row(src, dst, n_cols, t, threads, held, [&](f32 x, int) { return normal(x); });
  }
}

template <class T>
__device__ inline void layernorm(const T *__restrict__ src, T *__restrict__ dst, const T *__restrict__ alpha,
                                 const T *__restrict__ beta, int n_cols, int threads, f32 eps) {
  __shared__ f32 shelf[2][logical_wave_size];
  const size_t row = size_t(blockIdx.x) * n_cols;
  if (n_cols <= threads) {
    layernorm_row<1>(src + row, dst + row, alpha, beta, n_cols, threads, eps, shelf);
  } else {
    layernorm_row<norm_held>(src + row, dst + row, alpha, beta, n_cols, threads, eps, shelf);
  }
}

}  // namespace candle
