// rmsnorm and layernorm of rows: one block per row, all arithmetic in f32, also for rows of f64.
#pragma once

#include "pack.h"
#include "reduction.h"
#include "softmax.h"

namespace candle {

// The number of elements per thread that stay in registers between the two passes over a row that is longer than the
// block.
constexpr int norm_cached = 4;

// alpha or beta. A thread that has one column loads its value before the reduction.
template <int cached, class T>
struct Weights {
  const T *values;
  f32 cached_value;

  __device__ Weights(const T *values, int col, int n_cols) : values(values), cached_value(0) {
    if (cached == 1 && values && col < n_cols) cached_value = f32(widen(values[col]));
  }
  __device__ f32 at(int col) const { return cached == 1 ? cached_value : f32(widen(values[col])); }
};

// Sums of N numbers over `threads` threads (32, or multiples of 32 up to 1024), returned to every thread: first over
// each logical wave, then over the waves.
template <int N>
struct Sums {
  f32 data[N];
};

template <int N>
__device__ inline Sums<N> block_reduce_sum(Sums<N> x, f32 (&partials)[N][logical_wave_size], u32 t, u32 threads) {
#pragma unroll
  for (int n = 0; n < N; ++n) x.data[n] = wave_reduce_sum(x.data[n]);
  if (threads <= logical_wave_size) return x;
  const u32 lane = t % logical_wave_size;
  if (lane == 0) {
#pragma unroll
    for (int n = 0; n < N; ++n) partials[n][t / logical_wave_size] = x.data[n];
  }
  __syncthreads();
#pragma unroll
  for (int n = 0; n < N; ++n)
    x.data[n] = wave_reduce_sum(lane < threads / logical_wave_size ? partials[n][lane] : 0.0f);
  return x;
}

// Calls f(x) for every element of a thread, in order. A thread has packs of `width` elements, `threads` packs apart.
template <int width, int N, class T, class F>
__device__ inline void load_row(const T *src, int n_cols, int t, int threads, f32 (&cached)[N], const F &f) {
#pragma unroll
  for (int k = 0; k < N; k += width) {
    const int col = t * width + threads * k;
    if (col >= n_cols) continue;
    const auto pack = load_pack<width>(src + col);
#pragma unroll
    for (int j = 0; j < width; ++j) f(cached[k + j] = f32(widen(pack.data[j])));
  }
  if constexpr (N > 1) {
    for (int col = t * width + threads * N; col < n_cols; col += threads * width) {
#pragma unroll
      for (int j = 0; j < width; ++j) f(f32(widen(src[col + j])));
    }
  }
}

template <class T>
__device__ inline T from_f32(f32 x) {
  if constexpr (is_same<T, f64>) {
    return x;
  } else {
    return narrow<T>(x);
  }
}

// dst[col] = f(x, col), as load_row.
template <int width, int N, class T, class F>
__device__ inline void store_row(const T *src, T *dst, int n_cols, int t, int threads, const f32 (&cached)[N],
                                 const F &f) {
#pragma unroll
  for (int k = 0; k < N; k += width) {
    const int col = t * width + threads * k;
    if (col >= n_cols) continue;
    Pack<T, width> pack;
#pragma unroll
    for (int j = 0; j < width; ++j) pack.data[j] = from_f32<T>(f(cached[k + j], col + j));
    *reinterpret_cast<Pack<T, width> *>(dst + col) = pack;
  }
  if constexpr (N > 1) {
#pragma clang loop vectorize(disable)  // a vector would be for one thread only
    for (int col = t * width + threads * N; col < n_cols; col += threads * width) {
#pragma unroll
      for (int j = 0; j < width; ++j) dst[col + j] = from_f32<T>(f(f32(widen(src[col + j])), col + j));
    }
  }
}

// Whether rows are read and written in packs of two: of 16 bits, one by one they would not fill the memory's width.
template <class T>
__device__ inline bool in_pairs(const T *src, const T *dst, int n_cols) {
  return sizeof(T) == 2 && n_cols % 2 == 0 && is_aligned<2>(src) && is_aligned<2>(dst);
}

// (x / rms) * alpha; a null alpha is taken as 1.
template <int width, int N, class T>
__device__ inline void rmsnorm_row(const T *__restrict__ src, T *__restrict__ dst, const T *__restrict__ alpha,
                                   int n_cols, int threads, f32 eps, f32 (&partials)[1][logical_wave_size]) {
  const int t = int(threadIdx.x);
  const Weights<N, T> weights(alpha, t, n_cols);
  f32 cached[N];
  Sums<1> squares{};
  load_row<width>(src, n_cols, t, threads, cached, [&](f32 x) { squares.data[0] = fma(x, x, squares.data[0]); });
  squares = block_reduce_sum(squares, partials, u32(t), u32(threads));
  const f32 scale = rsqrtf(squares.data[0] / f32(n_cols) + eps);
  if (alpha) {
    store_row<width>(src, dst, n_cols, t, threads, cached, [&](f32 x, int col) { return scale * x * weights.at(col); });
  } else {
    store_row<width>(src, dst, n_cols, t, threads, cached, [&](f32 x, int) { return scale * x; });
  }
}

template <class T>
__device__ inline void rmsnorm(const T *__restrict__ src, T *__restrict__ dst, const T *__restrict__ alpha, int n_cols,
                               int threads, f32 eps) {
  __shared__ f32 partials[1][logical_wave_size];
  const size_t row = size_t(blockIdx.x) * n_cols;
  if (n_cols <= threads) {
    rmsnorm_row<1, 1>(src + row, dst + row, alpha, n_cols, threads, eps, partials);
  } else if (in_pairs(src, dst, n_cols)) {
    rmsnorm_row<2, 2 * norm_cached>(src + row, dst + row, alpha, n_cols, threads, eps, partials);
  } else {
    rmsnorm_row<1, norm_cached>(src + row, dst + row, alpha, n_cols, threads, eps, partials);
  }
}

// (x - mean) / deviation * alpha + beta; either may be null. The variance is the mean of the squares minus the square
// of the mean, as in Candle.
template <int width, int N, class T>
__device__ inline void layernorm_row(const T *__restrict__ src, T *__restrict__ dst, const T *__restrict__ alpha,
                                     const T *__restrict__ beta, int n_cols, int threads, f32 eps,
                                     f32 (&partials)[2][logical_wave_size]) {
  const int t = int(threadIdx.x);
  const Weights<N, T> weights(alpha, t, n_cols), offsets(beta, t, n_cols);
  f32 cached[N];
  Sums<2> sums{};  // of x and of x * x
  load_row<width>(src, n_cols, t, threads, cached, [&](f32 x) {
    sums.data[0] += x;
    sums.data[1] = fma(x, x, sums.data[1]);
  });
  sums = block_reduce_sum(sums, partials, u32(t), u32(threads));
  const f32 mean = sums.data[0] / f32(n_cols);
  const f32 variance = fma(-mean, mean, sums.data[1] / f32(n_cols));
  const f32 scale = rsqrtf(variance + eps);
  const auto normalize = [&](f32 x) { return (x - mean) * scale; };
  if (alpha && beta) {
    store_row<width>(src, dst, n_cols, t, threads, cached,
                     [&](f32 x, int col) { return fma(normalize(x), weights.at(col), offsets.at(col)); });
  } else if (alpha) {
    store_row<width>(src, dst, n_cols, t, threads, cached,
                     [&](f32 x, int col) { return normalize(x) * weights.at(col); });
  } else if (beta) {
    store_row<width>(src, dst, n_cols, t, threads, cached,
                     [&](f32 x, int col) { return fma(x - mean, scale, offsets.at(col)); });
  } else {
    store_row<width>(src, dst, n_cols, t, threads, cached, [&](f32 x, int) { return normalize(x); });
  }
}

template <class T>
__device__ inline void layernorm(const T *__restrict__ src, T *__restrict__ dst, const T *__restrict__ alpha,
                                 const T *__restrict__ beta, int n_cols, int threads, f32 eps) {
  __shared__ f32 partials[2][logical_wave_size];
  const size_t row = size_t(blockIdx.x) * n_cols;
  if (n_cols <= threads) {
    layernorm_row<1, 1>(src + row, dst + row, alpha, beta, n_cols, threads, eps, partials);
  } else if (in_pairs(src, dst, n_cols)) {
    layernorm_row<2, 2 * norm_cached>(src + row, dst + row, alpha, beta, n_cols, threads, eps, partials);
  } else {
    layernorm_row<1, norm_cached>(src + row, dst + row, alpha, beta, n_cols, threads, eps, partials);
  }
}

}  // namespace candle
