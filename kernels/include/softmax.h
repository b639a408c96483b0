// softmax of rows: one logical wave of 32 lanes per row.
#pragma once

#include "reduction.h"
#include "unary_ops.h"

namespace candle {

template <class T>
struct accumulator {
  using type = f32;
};
template <>
struct accumulator<f64> {
  using type = f64;
};

// Every lane gets the same bits: each step adds the same two numbers in both lanes of a pair.
template <class T>
__device__ inline T wave_reduce_sum(T x) {
  x = x + shuffle_xor<16>(x);
  x = x + shuffle_xor<8>(x);
  x = x + shuffle_xor<4>(x);
  x = x + shuffle_xor<2>(x);
  return x + shuffle_xor<1>(x);
}

// The maximum of two numbers. The sign of a zero maximum has no effect on a softmax, and a NaN anywhere makes the whole
// row NaN whatever the maximum is.
__device__ inline f32 max_of(f32 a, f32 b) { return __builtin_fmaxf(a, b); }
__device__ inline f64 max_of(f64 a, f64 b) { return a < b ? b : a; }

template <class T>
__device__ inline T wave_reduce_max(T x) {
  x = max_of(x, shuffle_xor<16>(x));
  x = max_of(x, shuffle_xor<8>(x));
  x = max_of(x, shuffle_xor<4>(x));
  x = max_of(x, shuffle_xor<2>(x));
  return max_of(x, shuffle_xor<1>(x));
}

// N elements of a lane in registers; f16 and bf16 are packed two to a register.
template <class T, int N>
struct RegisterTile {
  T value[N];

  __device__ void store(const T (&x)[N]) {
#pragma unroll
    for (int k = 0; k < N; ++k) value[k] = x[k];
  }
  __device__ void load(T (&x)[N]) const {
#pragma unroll
    for (int k = 0; k < N; ++k) x[k] = value[k];
  }
};

template <class T, int N>
struct PackedRegisterTile {
  u32 word[N / 2];

  __device__ void store(const T (&x)[N]) {
#pragma unroll
    for (int k = 0; k < N / 2; ++k) word[k] = u32(x[2 * k].bits) | u32(x[2 * k + 1].bits) << 16;
  }
  __device__ void load(T (&x)[N]) const {
#pragma unroll
    for (int k = 0; k < N / 2; ++k) {
      f32 both = bit_cast<f32>(word[k]);
      // Without the barrier the compiler sees through the packing and keeps the halves in separate registers.
      target::optimization_barrier(both);
      x[2 * k] = T{u16(bit_cast<u32>(both))};
      x[2 * k + 1] = T{u16(bit_cast<u32>(both) >> 16)};
    }
  }
};

template <int N>
struct RegisterTile<f16, N> : PackedRegisterTile<f16, N> {};
template <int N>
struct RegisterTile<bf16, N> : PackedRegisterTile<bf16, N> {};

// A row is processed in strips of `strip_size` elements per lane, 32 columns apart. The first `register_strips` strips
// stay in registers. The others are read three times, in alternating direction, so that the caches still hold what was
// read last. More strips in registers would lower occupancy too much for short rows.
template <class T>
struct Softmax {
  using Wide = typename accumulator<T>::type;
  static constexpr int strip_size = is_half<T> ? 16 : 8;
  static constexpr int register_strips = is_half<T> ? 4 : sizeof(T) == 8 ? 4 : 10;
  static constexpr int strip_columns = strip_size * logical_wave_size;

  using Strip = T[strip_size];

  static __device__ void load(Strip &x, const T *src) {
#pragma unroll
    for (int k = 0; k < strip_size; ++k) x[k] = src[logical_wave_size * k];
  }

  // The last, incomplete strip of a row; `remaining` counts columns from the first of this lane.
  static __device__ void load_tail(Strip &x, const T *src, int remaining) {
#pragma unroll
    for (int k = 0; k < strip_size; ++k)
      x[k] = logical_wave_size * k < remaining ? src[logical_wave_size * k] : limit<T, false>();
  }

  static __device__ void update_max(Wide &max, const Strip &x) {
#pragma unroll
    for (int k = 0; k < strip_size; ++k) max = max_of(max, Wide(widen(x[k])));
  }

  static __device__ void exponentiate(Strip &x, T row_max) {
#pragma unroll
    for (int begin = 0; begin < strip_size; begin += 4) {
#pragma unroll
      for (int k = begin; k < begin + 4; ++k) x[k] = serialized(x[k] - row_max);
#pragma unroll
      for (int k = begin; k < begin + 4; ++k) x[k] = serialized(apply<op::exp>(x[k]));
    }
  }

  // Keeps the compiler from interleaving all conversions, which are several instructions each: sixteen at once exceed
  // the registers.
  static __device__ T serialized(T x) {
    if constexpr (is_half<T>) {
      f32 bits = bit_cast<f32>(u32(x.bits));
      target::optimization_barrier(bits);
      x = T{u16(bit_cast<u32>(bits))};
    }
    return x;
  }

  static __device__ void accumulate(Wide &sum, const Strip &x, int remaining = strip_columns) {
#pragma unroll
    for (int k = 0; k < strip_size; ++k) {
      if (logical_wave_size * k < remaining) sum += Wide(widen(x[k]));
    }
  }

  static __device__ void store(T *dst, const Strip &x, T scale, int remaining = strip_columns) {
#pragma unroll
    for (int k = 0; k < strip_size; ++k) {
      if (logical_wave_size * k < remaining) dst[logical_wave_size * k] = serialized(x[k] * scale);
    }
  }
};

// Differences, exp and the last product are in T, the sum is wider; for f16 and bf16 the reciprocal is rounded to T.
template <class T>
__attribute__((always_inline)) __device__ inline void softmax(const T *__restrict__ src, T *__restrict__ dst,
                                                              int n_cols) {
  using S = Softmax<T>;
  using Wide = typename S::Wide;
  using Strip = typename S::Strip;
  const int lane = int(threadIdx.y);
  src += size_t(blockIdx.x) * n_cols + lane;
  dst += size_t(blockIdx.x) * n_cols + lane;
  const int strips = n_cols / S::strip_columns;
  const int tail_start = strips * S::strip_columns;
  // Columns of the tail, counted from the first of this lane; may be negative.
  const int remaining = n_cols - tail_start - lane;

  RegisterTile<T, S::strip_size> tiles[S::register_strips];
  RegisterTile<T, S::strip_size> tail;
  Wide lane_max = limit<Wide, false>();
  Strip x;
  if (tail_start < n_cols) {
    S::load_tail(x, src + tail_start, remaining);
    tail.store(x);
  }
  // Loads of the next strip are in flight while halves of this one are packed, which waits for them.
  Strip next;
  if (strips > 0) S::load(next, src);
#pragma unroll
  for (int c = 0; c < S::register_strips; ++c) {
    if (c < strips) {
#pragma unroll
      for (int k = 0; k < S::strip_size; ++k) x[k] = next[k];
      if (c + 1 < S::register_strips && c + 1 < strips) S::load(next, src + (c + 1) * S::strip_columns);
      tiles[c].store(x);
    }
  }
#pragma unroll 2
  for (int c = strips - 1; c >= S::register_strips; --c) {
    S::load(x, src + c * S::strip_columns);
    S::update_max(lane_max, x);
  }
#pragma unroll
  for (int c = 0; c < S::register_strips; ++c) {
    if (c < strips) {
      tiles[c].load(x);
      S::update_max(lane_max, x);
    }
  }
  if (tail_start < n_cols) {
    tail.load(x);
    S::update_max(lane_max, x);
  }
  const T row_max = narrow<T>(wave_reduce_max(lane_max));

  Wide sum = 0;
#pragma unroll
  for (int c = 0; c < S::register_strips; ++c) {
    if (c < strips) {
      tiles[c].load(x);
      S::exponentiate(x, row_max);
      S::accumulate(sum, x);
      tiles[c].store(x);
    }
  }
  for (int c = S::register_strips; c < strips; ++c) {
    S::load(x, src + c * S::strip_columns);
    S::exponentiate(x, row_max);
    S::accumulate(sum, x);
  }
  if (tail_start < n_cols) {
    tail.load(x);
    S::exponentiate(x, row_max);
    S::accumulate(sum, x, remaining);
    tail.store(x);
  }
  const T scale = narrow<T>(Wide(1) / wave_reduce_sum(sum));

  if (tail_start < n_cols) {
    tail.load(x);
    S::store(dst + tail_start, x, scale, remaining);
  }
  for (int c = strips - 1; c >= S::register_strips; --c) {
    S::load(x, src + c * S::strip_columns);
    S::exponentiate(x, row_max);
    S::store(dst + c * S::strip_columns, x, scale);
  }
#pragma unroll
  for (int c = 0; c < S::register_strips; ++c) {
    if (c < strips) {
      tiles[c].load(x);
      S::store(dst + c * S::strip_columns, x, scale);
    }
  }
}

}  // namespace candle
