// softmax of rows: one group of 32 lanes a row.
#pragma once

#include "functions.h"
#include "reduction.h"

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
__device__ inline T sum_lanes(T x) {
  x = x + swap<16>(x);
  x = x + swap<8>(x);
  x = x + swap<4>(x);
  x = x + swap<2>(x);
  return x + swap<1>(x);
}

template <class T>
__device__ inline T greatest_of_lanes(T x) {
  x = extreme<true>(x, swap<16>(x));
  x = extreme<true>(x, swap<8>(x));
  x = extreme<true>(x, swap<4>(x));
  x = extreme<true>(x, swap<2>(x));
  return extreme<true>(x, swap<1>(x));
}

// Differences, exp and the last product are of type T, the sum is wider; f16 and bf16 round the reciprocal to T. A
// lane holds its first elements in registers, the further ones wait in dst.
template <class T>
__device__ inline void softmax(const T *__restrict__ src, T *__restrict__ dst, int n_cols) {
  using Wide = typename accumulator<T>::type;
  constexpr int held = sizeof(T) == 8 ? 4 : 8;
  const size_t row = size_t(blockIdx.x) * n_cols;
  const int lane = int(threadIdx.y);
  src += row;
  dst += row;

  T mine[held];
  T greatest = limit<T, false>();
#pragma unroll
  for (int k = 0; k < held; ++k) {
    const int col = lane + group_lanes * k;
    mine[k] = col < n_cols ? src[col] : limit<T, false>();
    greatest = extreme<true>(greatest, mine[k]);
  }
  for (int col = lane + group_lanes * held; col < n_cols; col += group_lanes) {
    greatest = extreme<true>(greatest, src[col]);
  }
  greatest = greatest_of_lanes(greatest);

  Wide sum = 0;
#pragma unroll
  for (int k = 0; k < held; ++k) {
    if (lane + group_lanes * k >= n_cols) break;
    mine[k] = apply<op::exp>(mine[k] - greatest);
    sum += Wide(widen(mine[k]));
  }
  for (int col = lane + group_lanes * held; col < n_cols; col += group_lanes) {
    const T power = apply<op::exp>(src[col] - greatest);
    dst[col] = power;
    sum += Wide(widen(power));
  }
  const T scale = narrow<T>(Wide(1) / sum_lanes(sum));

#pragma unroll
  for (int k = 0; k < held; ++k) {
    const int col = lane + group_lanes * k;
    if (col < n_cols) dst[col] = mine[k] * scale;
  }
  for (int col = lane + group_lanes * held; col < n_cols; col += group_lanes) dst[col] = dst[col] * scale;
}

}  // namespace candle
