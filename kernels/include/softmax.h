// softmax of rows: one group of 32 lanes a row.
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

// The butterfly leaves the same bits in every lane: each step adds the same two numbers in both lanes of a pair.
template <class T>
__device__ inline T wave_reduce_sum(T x) {
  x = x + shuffle_xor<16>(x);
  x = x + shuffle_xor<8>(x);
  x = x + shuffle_xor<4>(x);
  x = x + shuffle_xor<2>(x);
  return x + shuffle_xor<1>(x);
}

// The greater of two numbers. Which of two zeros it is does not show in a softmax, and a NaN anywhere makes the whole
// row NaN, whatever the maximum.
__device__ inline f32 greater_of(f32 a, f32 b) { return __builtin_fmaxf(a, b); }
__device__ inline f64 greater_of(f64 a, f64 b) { return a < b ? b : a; }

template <class T>
__device__ inline T wave_reduce_max(T x) {
  x = greater_of(x, shuffle_xor<16>(x));
  x = greater_of(x, shuffle_xor<8>(x));
  x = greater_of(x, shuffle_xor<4>(x));
  x = greater_of(x, shuffle_xor<2>(x));
  return greater_of(x, shuffle_xor<1>(x));
}

// Elements of a lane at rest in registers, f16 and bf16 two in each.
template <class T, int N>
struct Kept {
  T value[N];

  __device__ void put(const T (&x)[N]) {
#pragma unroll
    for (int k = 0; k < N; ++k) value[k] = x[k];
  }
  __device__ void get(T (&x)[N]) const {
#pragma unroll
    for (int k = 0; k < N; ++k) x[k] = value[k];
  }
};

template <class T, int N>
struct KeptHalves {
  u32 word[N / 2];

  __device__ void put(const T (&x)[N]) {
#pragma unroll
    for (int k = 0; k < N / 2; ++k) word[k] = u32(x[2 * k].bits) | u32(x[2 * k + 1].bits) << 16;
  }
  __device__ void get(T (&x)[N]) const {
#pragma unroll
    for (int k = 0; k < N / 2; ++k) {
      f32 both = bit_cast<f32>(word[k]);
      target::optimization_barrier(both);  // else a compiler sees through the word, and keeps the two apart
      x[2 * k] = T{u16(bit_cast<u32>(both))};
      x[2 * k + 1] = T{u16(bit_cast<u32>(both) >> 16)};
    }
  }
};

template <int N>
struct Kept<f16, N> : KeptHalves<f16, N> {};
template <int N>
struct Kept<bf16, N> : KeptHalves<bf16, N> {};

// A row in strips of `strip` elements a lane, each 32 columns from the next. The first `kept` strips stay in registers;
// those after are read three times, to and fro, so that the caches still have what was read last. More in registers
// would leave fewer rows at a time than short ones need.
template <class T>
struct Softmax {
  using Wide = typename accumulator<T>::type;
  static constexpr int strip = is_half<T> ? 16 : 8;
  static constexpr int kept = is_half<T> ? 4 : sizeof(T) == 8 ? 4 : 10;
  static constexpr int columns = strip * logical_wave_size;

  using Strip = T[strip];

  static __device__ void load(Strip &x, const T *src) {
#pragma unroll
    for (int k = 0; k < strip; ++k) x[k] = src[logical_wave_size * k];
  }

  // The last columns of a row, fewer than a strip has; `left` counts from the lane's own column.
  static __device__ void load_rest(Strip &x, const T *src, int left) {
#pragma unroll
    for (int k = 0; k < strip; ++k)
      x[k] = logical_wave_size * k < left ? src[logical_wave_size * k] : limit<T, false>();
  }

  static __device__ void raise(Wide &greatest, const Strip &x) {
#pragma unroll
    for (int k = 0; k < strip; ++k) greatest = greater_of(greatest, Wide(widen(x[k])));
  }

  static __device__ void power(Strip &x, T greatest) {
#pragma unroll
    for (int begin = 0; begin < strip; begin += 4) {
#pragma unroll
      for (int k = begin; k < begin + 4; ++k) x[k] = in_turn(x[k] - greatest);
#pragma unroll
      for (int k = begin; k < begin + 4; ++k) x[k] = in_turn(apply<op::exp>(x[k]));
    }
  }

  // Software conversions of sixteen elements at once would take more registers than there are.
  static __device__ T in_turn(T x) {
    if constexpr (is_half<T>) {
      f32 bits = bit_cast<f32>(u32(x.bits));
      target::optimization_barrier(bits);
      x = T{u16(bit_cast<u32>(bits))};
    }
    return x;
  }

  static __device__ void add(Wide &sum, const Strip &x, int left = columns) {
#pragma unroll
    for (int k = 0; k < strip; ++k) {
      if (logical_wave_size * k < left) sum += Wide(widen(x[k]));
    }
  }

  static __device__ void store(T *dst, const Strip &x, T scale, int left = columns) {
#pragma unroll
    for (int k = 0; k < strip; ++k) {
      if (logical_wave_size * k < left) dst[logical_wave_size * k] = in_turn(x[k] * scale);
    }
  }
};

// Differences, exp and the last product are of type T, the sum is wider; f16 and bf16 round the reciprocal to T.
template <class T>
__attribute__((always_inline)) __device__ inline void softmax(const T *__restrict__ src, T *__restrict__ dst,
                                                              int n_cols) {
  using S = Softmax<T>;
  using Wide = typename S::Wide;
  using Strip = typename S::Strip;
  const int lane = int(threadIdx.y);
  src += size_t(blockIdx.x) * n_cols + lane;
  dst += size_t(blockIdx.x) * n_cols + lane;
  const int strips = n_cols / S::columns;
  const int rest = strips * S::columns;
  const int left = n_cols - rest - lane;  // of the rest, from the lane's first column on; may be negative

  Kept<T, S::strip> kept[S::kept];
  Kept<T, S::strip> last;
  Wide most = limit<Wide, false>();
  Strip x;
  if (rest < n_cols) {
    S::load_rest(x, src + rest, left);
    last.put(x);
  }
  // The next strip is on its way while two halves of this one are put into a register, which waits for them.
  Strip next;
  if (strips > 0) S::load(next, src);
#pragma unroll
  for (int c = 0; c < S::kept; ++c) {
    if (c < strips) {
#pragma unroll
      for (int k = 0; k < S::strip; ++k) x[k] = next[k];
      if (c + 1 < S::kept && c + 1 < strips) S::load(next, src + (c + 1) * S::columns);
      kept[c].put(x);
    }
  }
#pragma unroll 2
  for (int c = strips - 1; c >= S::kept; --c) {
    S::load(x, src + c * S::columns);
    S::raise(most, x);
  }
#pragma unroll
  for (int c = 0; c < S::kept; ++c) {
    if (c < strips) {
      kept[c].get(x);
      S::raise(most, x);
    }
  }
  if (rest < n_cols) {
    last.get(x);
    S::raise(most, x);
  }
  const T greatest = narrow<T>(wave_reduce_max(most));

  Wide sum = 0;
#pragma unroll
  for (int c = 0; c < S::kept; ++c) {
    if (c < strips) {
      kept[c].get(x);
      S::power(x, greatest);
      S::add(sum, x);
      kept[c].put(x);
    }
  }
  for (int c = S::kept; c < strips; ++c) {
    S::load(x, src + c * S::columns);
    S::power(x, greatest);
    S::add(sum, x);
  }
  if (rest < n_cols) {
    last.get(x);
    S::power(x, greatest);
    S::add(sum, x, left);
    last.put(x);
  }
  const T scale = narrow<T>(Wide(1) / wave_reduce_sum(sum));

  if (rest < n_cols) {
    last.get(x);
    S::store(dst + rest, x, scale, left);
  }
  for (int c = strips - 1; c >= S::kept; --c) {
    S::load(x, src + c * S::columns);
    S::power(x, greatest);
    S::store(dst + c * S::columns, x, scale);
  }
#pragma unroll
  for (int c = 0; c < S::kept; ++c) {
    if (c < strips) {
      kept[c].get(x);
      S::store(dst + c * S::columns, x, scale);
    }
  }
}

}  // namespace candle
