// Rotary embedding: pairs of elements are rotated by the angles whose cosines and sines are in the tables.
//
// stride_b is 0 where all batches share the tables, else the number of elements in a batch of src; the tables of a
// batch are then assumed to have as many rows as src has, though upstream allows longer tables.
#pragma once

#include "arithmetic.h"
#include "elementwise.h"

namespace candle {

// Where the elements of a pair are in src and dst, and its angle in the tables.
struct Pair {
  u32 first, second, table;
};

// The product with x2 is rounded before the addition, as in what nvcc makes of Candle.
template <class T>
__device__ inline void rotate(T x1, T x2, T c, T s, T &y1, T &y2) {
  y1 = fma(x1, c, -(x2 * s));
  y2 = fma(x1, s, x2 * c);
}

// Rotates the pairs of the elements of two packs.
template <int width, class T>
__device__ inline void rotate_packs(const Pair &at, const T *src, const T *cos, const T *sin, T *dst) {
  const auto x1 = load_pack<width>(src + at.first), x2 = load_pack<width>(src + at.second);
  const auto c = load_pack<width>(cos + at.table), s = load_pack<width>(sin + at.table);
  Pack<T, width> y1, y2;
#pragma unroll
  for (int k = 0; k < width; ++k) rotate(x1.data[k], x2.data[k], c.data[k], s.data[k], y1.data[k], y2.data[k]);
  store_pack(dst + at.first, y1);
  store_pack(dst + at.second, y2);
}

// Rotates `width` pairs of adjacent elements.
template <int width, class T>
__device__ inline void rotate_adjacent(const Pair &at, const T *src, const T *cos, const T *sin, T *dst) {
  const auto x = load_pack<2 * width>(src + at.first);
  const auto c = load_pack<width>(cos + at.table), s = load_pack<width>(sin + at.table);
  Pack<T, 2 * width> y;
#pragma unroll
  for (int k = 0; k < 2 * width; k += 2) {
    rotate(x.data[k], x.data[k + 1], c.data[k / 2], s.data[k / 2], y.data[k], y.data[k + 1]);
  }
  store_pack(dst + at.first, y);
}

__device__ inline u32 table_batch(u32 element, u32 stride_b, u32 rows) {
  return stride_b > 0 ? element / stride_b * rows : 0;
}

// Pairs are adjacent elements; layout (bh, t, d) with td = t * d.
template <class T>
__device__ inline void rope_i(const T *__restrict__ src, const T *__restrict__ cos, const T *__restrict__ sin,
                              T *__restrict__ dst, u32 bh, u32 td, u32 stride_b) {
  constexpr int width = 8 / sizeof(T);
  const bool in_packs = td % (2 * width) == 0 && stride_b % (2 * width) == 0 && are_aligned<2 * width>(src, dst) &&
                        are_aligned<width>(cos, sin);
  const TileRange packs = assign_packs<width>(in_packs);
  if (packs.is_empty) return;
#pragma unroll 1
  for (size_t i = packs.first; 2 * i < bh * td; i += packs.step) {
    const u32 first = u32(2 * i), table = u32(i) % (td / 2) + table_batch(first, stride_b, td / 2);
    const Pair at{first, first + 1, table};
    in_packs ? rotate_adjacent<width>(at, src, cos, sin, dst) : rotate_packs<1>(at, src, cos, sin, dst);
  }
}

// Rotates pairs that are half a head apart. locate(i) is where pair i is.
template <class T, class Locate>
__device__ inline void rotate_halves(const T *__restrict__ src, const T *__restrict__ cos, const T *__restrict__ sin,
                                     T *__restrict__ dst, u32 numel, u32 half, u32 stride_b, const Locate &locate) {
  constexpr int width = 16 / sizeof(T);
  const bool in_packs = half % width == 0 && stride_b % (2 * width) == 0 && are_aligned<width>(src, cos, sin, dst);
  const TileRange packs = assign_packs<width>(in_packs);
  if (packs.is_empty) return;
#pragma unroll 1
  for (size_t i = packs.first; 2 * i < numel; i += packs.step) {
    const Pair at = locate(u32(i));
    in_packs ? rotate_packs<width>(at, src, cos, sin, dst) : rotate_packs<1>(at, src, cos, sin, dst);
  }
}

// Layout (bh, t, d).
template <class T>
__device__ inline void rope(const T *__restrict__ src, const T *__restrict__ cos, const T *__restrict__ sin,
                            T *__restrict__ dst, u32 bh, u32 td, u32 d, u32 stride_b) {
  const u32 half = d / 2;
  rotate_halves(src, cos, sin, dst, bh * td, half, stride_b, [=](u32 i) {
    const u32 in_head = i % (td / 2);  // also the index in the tables, whose layout is (t, d / 2)
    const u32 first = i / (td / 2) * td + in_head / half * d + in_head % half;
    return Pair{first, first + half, in_head + table_batch(2 * i, stride_b, td / 2)};
  });
}

// Layout (b, t, h, d).
template <class T>
__device__ inline void rope_thd(const T *__restrict__ src, const T *__restrict__ cos, const T *__restrict__ sin,
                                T *__restrict__ dst, u32 b, u32 t, u32 h, u32 d, u32 stride_b) {
  const u32 half = d / 2;
  rotate_halves(src, cos, sin, dst, b * t * h * d, half, stride_b, [=](u32 i) {
    const u32 head = i / half, column = i % half, first = head * d + column;
    const u32 table = head / h % t * half + column + table_batch(2 * i, stride_b, t * half);
    return Pair{first, first + half, table};
  });
}

}  // namespace candle
