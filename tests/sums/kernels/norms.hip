// rmsnorm and layernorm with their sums in any order, and the variance by several formulas (-D FORM=...).
#include "any_order.h"

namespace sums {

enum Form { one_pass, two_passes, welford, factors };
#ifndef FORM
#define FORM one_pass
#endif
constexpr Form form = FORM;

__device__ inline f32 inverse_root(f32 x, f32 eps) {
  const f32 scale = mistake == scaled ? 1.0003f : 1.0f;
  if (mistake == no_eps) return scale / sqrtf(x);
  return form == factors ? scale / sqrtf(x + eps) : scale * rsqrtf(x + eps);
}

template <class T>
__device__ f32 square_of(T x) {
  return f32(widen(x)) * f32(widen(x));
}

template <class T>
__device__ void rmsnorm(const T *src, T *dst, const T *alpha, size_t n, f32 eps) {
  const u32 t = threadIdx.x, threads = blockDim.x;
  src += blockIdx.x * n, dst += blockIdx.x * n;
  const f32 count = f32(mistake == n_minus_1 && n > 1 ? n - 1 : n);
  using A = typename Either<mistake == in_storage && is_half<T>, T, f32>::type;
  const f32 squares = as<f32>(block_total<A>(n, t, threads, [&](size_t i) { return square_of(src[i]); }));
  const f32 scale = inverse_root(form == factors ? squares * (1 / count) : squares / count, eps);
  for (size_t i = t; i < n; i += threads) {
    const f32 x = f32(widen(src[i])), weight = alpha ? f32(widen(alpha[i])) : 1.0f;
    dst[i] = as<T>(x * (scale * weight));
  }
}

// The mean of n terms and the sum of their squared deviations from it.
struct Moments {
  f32 n, mean, squares;
};

// Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances" (1979).
__device__ inline Moments merged(Moments a, Moments b) {
  if (b.n == 0) return a;
  if (a.n == 0) return b;
  const f32 n = a.n + b.n, between = b.mean - a.mean;
  return {n, a.mean + between * (b.n / n), a.squares + b.squares + between * between * (a.n * b.n / n)};
}

template <class T>
__device__ Moments block_moments(const T *src, size_t n, u32 t, u32 threads) {
  __shared__ Moments partials[1024];
  Moments own{0, 0, 0};
  for (size_t i = t; i < n; i += threads) {
    const f32 x = f32(widen(src[i])), from_old = x - own.mean;
    own.n += 1;
    own.mean += from_old / own.n;
    own.squares += from_old * (x - own.mean);
  }
  partials[t] = own;
  __syncthreads();
  for (u32 half = threads / 2; half > 0; half /= 2) {
    if (t < half) partials[t] = merged(partials[t], partials[t + half]);
    __syncthreads();
  }
  return partials[0];
}

template <class T>
__device__ void layernorm(const T *src, T *dst, const T *alpha, const T *beta, size_t n, f32 eps) {
  const u32 t = threadIdx.x, threads = blockDim.x;
  src += blockIdx.x * n, dst += blockIdx.x * n;
  const f32 count = f32(mistake == n_minus_1 && n > 1 ? n - 1 : n);
  using A = typename Either<mistake == in_storage && is_half<T>, T, f32>::type;
  f32 mean, variance;
  if constexpr (form == welford) {
    const Moments all = block_moments(src, n, t, threads);
    mean = all.mean, variance = all.squares / all.n;
  } else {
    mean = as<f32>(block_total<A>(n, t, threads, [&](size_t i) { return f32(widen(src[i])); })) / f32(n);
    if constexpr (form == two_passes) {
      variance =
          block_total<f32>(n, t, threads, [&](size_t i) { return square_of(f32(widen(src[i])) - mean); }) / count;
    } else {
      const f32 squares = as<f32>(block_total<A>(n, t, threads, [&](size_t i) { return square_of(src[i]); })) / count;
      variance = mistake == no_mean ? squares : squares - mean * mean;
    }
  }
  const f32 scale = inverse_root(variance, eps);
  if (mistake == no_mean) mean = 0;
  for (size_t i = t; i < n; i += threads) {
    const f32 x = f32(widen(src[i])), weight = alpha ? f32(widen(alpha[i])) : 1.0f;
    const f32 offset = beta ? f32(widen(beta[i])) : 0.0f, factor = scale * weight;
    dst[i] = as<T>(form == factors ? x * factor + (offset - mean * factor) : (x - mean) * scale * weight + offset);
  }
}

}  // namespace sums

using namespace sums;

#define NORMS(T)                                                                                                      \
  extern "C" __global__ void __launch_bounds__(1024)                                                                  \
      rmsnorm_##T(const T *src, T *dst, const T *alpha, const int n_cols, const int block_size, const float eps) {    \
    rmsnorm(src, dst, alpha, n_cols, eps);                                                                            \
  }                                                                                                                   \
  extern "C" __global__ void __launch_bounds__(1024) layernorm_##T(                                                   \
      const T *src, T *dst, const T *alpha, const T *beta, const int n_cols, const int block_size, const float eps) { \
    layernorm(src, dst, alpha, beta, n_cols, eps);                                                                    \
  }

NORMS(bf16)
NORMS(f16)
NORMS(f32)
NORMS(f64)
