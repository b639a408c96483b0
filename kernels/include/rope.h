// Rotary embedding: a thread rotates one pair of elements by the angle whose cosine and sine are in the tables.
//
// stride_b is 0 where all batches share the tables, else the number of elements in a batch of src; the tables of a
// batch are then assumed to have as many rows as src has, though upstream allows longer tables.
#pragma once

#include "arithmetic.h"
#include "elementwise.h"

namespace candle {

// The product with x2 is rounded before the addition, as in what nvcc makes of Candle.
template <class T>
__device__ inline void rotate(const T *src, T *dst, u32 first, u32 second, T c, T s) {
  const T x1 = src[first];
  const T x2 = src[second];
  dst[first] = fma(x1, c, -(x2 * s));
  dst[second] = fma(x1, s, x2 * c);
}

__device__ inline u32 table_batch(u32 element, u32 stride_b, u32 rows) {
  return stride_b > 0 ? element / stride_b * rows : 0;
}

// Pairs are adjacent elements; layout (bh, t, d) with td = t * d.
template <class T>
__device__ inline void rope_i(const T *__restrict__ src, const T *__restrict__ cos, const T *__restrict__ sin,
                              T *__restrict__ dst, u32 bh, u32 td, u32 stride_b) {
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (2 * i >= bh * td) return;
  const u32 table = i % (td / 2) + table_batch(2 * i, stride_b, td / 2);
  const T c = cos[table];
  const T s = sin[table];
  if (is_aligned<2>(src) && is_aligned<2>(dst)) {
    const auto pair = load_pack<2>(src + 2 * i);
    rotate(pair.data, reinterpret_cast<Pack<T, 2> *>(dst + 2 * i)->data, 0, 1, c, s);
  } else {
    rotate(src, dst, 2 * i, 2 * i + 1, c, s);
  }
}

// Pairs are half a head apart; layout (bh, t, d).
template <class T>
__device__ inline void rope(const T *__restrict__ src, const T *__restrict__ cos, const T *__restrict__ sin,
                            T *__restrict__ dst, u32 bh, u32 td, u32 d, u32 stride_b) {
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (2 * i >= bh * td) return;
  const u32 half = d / 2;
  const u32 in_head = i % (td / 2);  // also the index in the tables, whose layout is (t, d / 2)
  const u32 first = i / (td / 2) * td + in_head / half * d + in_head % half;
  const u32 table = in_head + table_batch(2 * i, stride_b, td / 2);
  rotate(src, dst, first, first + half, cos[table], sin[table]);
}

// Pairs are half a head apart; layout (b, t, h, d).
template <class T>
__device__ inline void rope_thd(const T *__restrict__ src, const T *__restrict__ cos, const T *__restrict__ sin,
                                T *__restrict__ dst, u32 b, u32 t, u32 h, u32 d, u32 stride_b) {
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (2 * i >= b * t * h * d) return;
  const u32 half = d / 2;
  const u32 head = i / half;
  const u32 column = i % half;
  const u32 first = head * d + column;
  const u32 table = head / h % t * half + column + table_batch(2 * i, stride_b, t * half);
  rotate(src, dst, first, first + half, cos[table], sin[table]);
}

}  // namespace candle
