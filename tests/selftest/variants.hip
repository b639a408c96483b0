// Right kernels that are made otherwise than ours and Candle's: -D LOOP is how elements are shared out, -D REDUCE how a
// block combines its partial results. variants.yaml says why each is right.
#include <hip/hip_runtime.h>

typedef unsigned char u8;
typedef unsigned int u32;
typedef long long i64;

enum Loop { grid_stride, chunks, backwards, blocks, pairs, swapped };
enum Reduce { tree, butterfly, down, wave_then_wave, one_thread, halves };
#ifndef LOOP
#define LOOP grid_stride
#endif
#ifndef REDUCE
#define REDUCE tree
#endif
constexpr Loop loop = LOOP;
constexpr Reduce reduce = REDUCE;

__device__ inline size_t place(size_t i, size_t num_dims, const size_t *dims, const size_t *strides) {
  size_t at = 0;
  for (size_t d = num_dims; d-- > 0; i /= dims[d]) at += i % dims[d] * strides[d];
  return at;
}

// f(i) for every element, by one thread of the grid each. No order among them is promised to any kernel.
template <class F>
__device__ inline void each(size_t numel, const F &f) {
  const size_t threads = size_t(gridDim.x) * blockDim.x, me = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if constexpr (loop == grid_stride) {
    for (size_t i = me; i < numel; i += threads) f(i);
  } else if constexpr (loop == chunks) {  // neighbours of one thread: slower on a GPU, and the same elements
    const size_t per = (numel + threads - 1) / threads, end = me * per + per < numel ? me * per + per : numel;
    for (size_t i = me * per; i < end; ++i) f(i);
  } else if constexpr (loop == backwards) {
    for (size_t i = me; i < numel; i += threads) f(numel - 1 - i);
  } else if constexpr (loop == blocks) {  // a stretch for each block
    const size_t per = (numel + gridDim.x - 1) / gridDim.x, first = blockIdx.x * per;
    const size_t end = first + per < numel ? first + per : numel;
    for (size_t i = first + threadIdx.x; i < end; i += blockDim.x) f(i);
  } else if constexpr (loop == pairs) {
    for (size_t i = 2 * me; i < numel; i += 2 * threads) {
      f(i);
      if (i + 1 < numel) f(i + 1);
    }
  } else {  // the work of the neighbour thread, where that is in the block
    const size_t other = blockDim.x % 2 ? me : me ^ 1;
    for (size_t i = other; i < numel; i += threads) f(i);
  }
}

#define UNARY(NAME, T, ...)                                                                                    \
  extern "C" __global__ void NAME(const size_t numel, const size_t num_dims, const size_t *info, const T *inp, \
                                  T *out) {                                                                    \
    const T *in = inp ? inp : out;                                                                             \
    each(numel, [&](size_t i) {                                                                                \
      const T x = in[info && inp ? place(i, num_dims, info, info + num_dims) : i];                             \
      out[i] = __VA_ARGS__;                                                                                    \
    });                                                                                                        \
  }
#define BINARY(NAME, T, R, ...)                                                                                \
  extern "C" __global__ void NAME(const size_t numel, const size_t num_dims, const size_t *info, const T *lhs, \
                                  const T *rhs, R *out) {                                                      \
    each(numel, [&](size_t i) {                                                                                \
      const T x = lhs[info ? place(i, num_dims, info, info + num_dims) : i];                                   \
      const T y = rhs[info ? place(i, num_dims, info, info + 2 * num_dims) : i];                               \
      out[i] = __VA_ARGS__;                                                                                    \
    });                                                                                                        \
  }
#define WHERE(NAME, I, T)                                                                                      \
  extern "C" __global__ void NAME(const size_t numel, const size_t num_dims, const size_t *info, const I *ids, \
                                  const T *t, const T *f, T *out) {                                            \
    each(numel, [&](size_t i) {                                                                                \
      const T x = t[place(i, num_dims, info, info + 2 * num_dims)],                                            \
              y = f[place(i, num_dims, info, info + 3 * num_dims)];                                            \
      out[i] = ids[place(i, num_dims, info, info + num_dims)] ? x : y;                                         \
    });                                                                                                        \
  }
#define FILL(NAME, T)                                                    \
  extern "C" __global__ void NAME(T *buf, T value, const size_t numel) { \
    each(numel, [&](size_t i) { buf[i] = value; });                      \
  }
#define COPY2D(NAME, T)                                                                                    \
  extern "C" __global__ void NAME(const T *src, T *dst, u32 d1, u32 d2, u32 src_s, u32 dst_s) {            \
    each(size_t(d1) * d2, [&](size_t i) { dst[i / d2 * dst_s + i % d2] = src[i / d2 * src_s + i % d2]; }); \
  }

UNARY(ucopy_u8, u8, x)
UNARY(ucopy_f64, double, x)
UNARY(uneg_f32, float, -x)
UNARY(uabs_f64, double, fabs(x))
UNARY(usqr_f32, float, x *x)
UNARY(usqrt_f64, double, sqrt(x))
UNARY(uceil_f32, float, ceilf(x))
UNARY(uround_f64, double, round(x))
UNARY(urelu_f32, float, x > 0 ? x : 0)
UNARY(usign_f32, float, float(x > 0) - float(x < 0))
UNARY(uexp_f32, float, expf(x))
UNARY(utanh_f64, double, tanh(x))
UNARY(ucos_f64, double, cos(x))
BINARY(badd_f32, float, float, x + y)
BINARY(bsub_f64, double, double, x - y)
BINARY(bmul_u32, u32, u32, x *y)
BINARY(bdiv_f32, float, float, x / y)
BINARY(lt_f32, float, u8, x < y)
BINARY(ge_f64, double, u8, x >= y)
BINARY(ne_i64, i64, u8, x != y)
WHERE(where_u8_f32, u8, float)
WHERE(where_i64_f64, i64, double)
FILL(fill_f32, float)
FILL(fill_u8, u8)
COPY2D(copy2d_f32, float)
COPY2D(copy2d_u8, u8)

// The combination of `mine` of all threads, in thread 0. The order is free: extremes are exact, integers wrap.
template <class T, class Op>
__device__ inline T combined(T mine, const Op &op) {
  __shared__ T part[1024];
  const u32 t = threadIdx.x, n = blockDim.x, lanes = warpSize;
  if constexpr (reduce == one_thread || reduce == tree || reduce == halves) {
    part[t] = mine;
    __syncthreads();
    if constexpr (reduce == one_thread) {
      if (t == 0)
        for (u32 k = 1; k < n; ++k) part[0] = op(part[0], part[k]);
    } else if constexpr (reduce == tree) {
      for (u32 step = 1; step < n; step *= 2) {  // neighbours first
        if (t % (2 * step) == 0 && t + step < n) part[t] = op(part[t], part[t + step]);
        __syncthreads();
      }
    } else {
      for (u32 left = n; left > 1; left = (left + 1) / 2) {  // any number of threads
        if (t < left / 2) part[t] = op(part[t], part[left - 1 - t]);
        __syncthreads();
      }
    }
    __syncthreads();
    return part[0];
  } else {
    // Blocks of Candle's have a power of two of threads: a wave is whole, or there is but one.
    const u32 width = n < lanes ? n : lanes;
    for (u32 step = width / 2; step > 0; step /= 2)
      mine = op(mine, reduce == butterfly ? __shfl_xor(mine, step) : __shfl_down(mine, step, width));
    if (t % lanes == 0) part[t / lanes] = mine;
    __syncthreads();
    const u32 waves = (n + lanes - 1) / lanes;
    if constexpr (reduce == wave_then_wave) {
      if (t < lanes) {
        mine = part[t < waves ? t : 0];
        for (u32 step = 1; step < waves; step *= 2) {
          const T other = __shfl(mine, int(t + step < waves ? t + step : t));
          mine = t + step < waves ? op(mine, other) : mine;
        }
      }
      return mine;
    } else {
      for (u32 k = 0; t == 0 && k < waves; ++k) mine = k ? op(mine, part[k]) : part[0];
      return mine;
    }
  }
}

#define REDUCTION(NAME, T, INIT, OP)                                                                               \
  extern "C" __global__ void NAME(const size_t src_numel, const size_t el_to_sum_per_block, const size_t num_dims, \
                                  const size_t *info, const T *src, T *dst) {                                      \
    const size_t first = blockIdx.x * el_to_sum_per_block, rest = src_numel > first ? src_numel - first : 0;       \
    const size_t count = rest < el_to_sum_per_block ? rest : el_to_sum_per_block;                                  \
    const auto op = [](T a, T b) { return OP; };                                                                   \
    T mine = INIT;                                                                                                 \
    for (size_t k = threadIdx.x; k < count; k += blockDim.x)                                                       \
      mine = op(mine, src[place(first + k, num_dims, info, info + num_dims)]);                                     \
    mine = combined(mine, op);                                                                                     \
    if (threadIdx.x == 0) dst[blockIdx.x] = mine;                                                                  \
  }

REDUCTION(fast_max_f32, float, -INFINITY, fmaxf(a, b))
REDUCTION(fast_min_f32, float, INFINITY, fminf(a, b))
REDUCTION(fast_max_f64, double, -INFINITY, fmax(a, b))
REDUCTION(fast_min_f64, double, INFINITY, fmin(a, b))
REDUCTION(fast_max_u32, u32, 0, a > b ? a : b)
REDUCTION(fast_min_i64, i64, 0x7fffffffffffffffll, a < b ? a : b)
REDUCTION(fast_sum_u32, u32, 0, a + b)
REDUCTION(fast_sum_i64, i64, 0, i64((unsigned long long)a + (unsigned long long)b))

// By counting: a value's place is the number of values before it, equal ones by their index.
#define RANKS(NAME, T, BEFORE)                                                                     \
  extern "C" __global__ void NAME(const T *x, u32 *dst, const int ncols, int) {                    \
    const T *row = x + size_t(blockIdx.x) * ncols;                                                 \
    for (int i = threadIdx.x; i < ncols; i += blockDim.x) {                                        \
      int rank = 0;                                                                                \
      for (int j = 0; j < ncols; ++j) rank += row[j] BEFORE row[i] || (row[j] == row[i] && j < i); \
      dst[size_t(blockIdx.x) * ncols + rank] = i;                                                  \
    }                                                                                              \
  }
RANKS(asort_asc_u8, u8, <)
RANKS(asort_desc_u32, u32, >)
RANKS(asort_asc_i64, i64, <)
