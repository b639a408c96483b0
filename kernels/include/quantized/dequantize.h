// Blocks as numbers: whole buffers, and rows chosen by id. A thread decodes four values.
#pragma once

#include "formats.h"

namespace candle {

template <class F>
constexpr int words_of = F::length / 4;

// Values 4 * word .. 4 * word + 3 of a block to y.
template <class F, class T>
__device__ inline void decode_word(const typename F::Block &block, int word, T *y) {
  const int group = word >> 3, in_group = word & 7;
  const u32 quants = F::quants(block, group, in_group);
  const auto scales = F::scales(block, group);
  T values[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    // Quants of 7 bits or fewer are the same signed and unsigned.
    values[k] = narrow<T>(F::value(scales, i32(quants << (24 - 8 * k)) >> 24, in_group >> 2));
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) y[k] = values[k];
}

// A thread block decodes 256 values, those of blocks that exist.
template <class F, class T>
__device__ inline void dequantize_256(const void *__restrict__ vx, T *__restrict__ y, i64 blocks) {
  const auto *x = static_cast<const typename F::Block *>(vx);
  const i64 first = i64(blockIdx.x) * (super_length / F::length);
  for (int word = threadIdx.x; word < super_length / 4; word += blockDim.x) {
    const i64 block = first + word / words_of<F>;
    if (block < blocks) decode_word<F>(x[block], word % words_of<F>, y + block * F::length + 4 * (word % words_of<F>));
  }
}

template <class F, class T>
__device__ inline void dequantize_super(const void *__restrict__ vx, T *__restrict__ y) {
  dequantize_256<F>(vx, y, i64(gridDim.x));
}

// k values over the whole grid.
template <class F, class T>
__device__ inline void dequantize_flat(const void *__restrict__ vx, T *__restrict__ y, int k) {
  const auto *x = static_cast<const typename F::Block *>(vx);
  const i64 words = k / 4, step = i64(gridDim.x) * blockDim.x;
  for (i64 word = i64(blockIdx.x) * blockDim.x + threadIdx.x; word < words; word += step) {
    decode_word<F>(x[word / words_of<F>], int(word % words_of<F>), y + 4 * word);
  }
}

// Row i of dst is row ids[i] of src0, whose rows are nb01 bytes apart. Ids are 32-bit integers, as in Candle.
template <class F>
__device__ inline void get_rows(const void *__restrict__ src0, const u32 *__restrict__ ids, f32 *__restrict__ dst,
                                i64 ne00, size_t nb01) {
  const u8 *row = static_cast<const u8 *>(src0) + i64(i32(ids[blockIdx.x])) * i64(nb01);
  const auto *x = reinterpret_cast<const typename F::Block *>(row);
  const i64 words = ne00 / 4;
  f32 *y = dst + i64(blockIdx.x) * ne00;
  const i64 step = i64(gridDim.y) * blockDim.x;
  for (i64 word = i64(blockIdx.y) * blockDim.x + threadIdx.x; word < words; word += step) {
    decode_word<F>(x[word / words_of<F>], int(word % words_of<F>), y + 4 * word);
  }
}

template <class T>
__device__ inline void get_rows_plain(const T *__restrict__ src0, const u32 *__restrict__ ids, f32 *__restrict__ dst,
                                      i64 ne00) {
  const T *x = src0 + i64(i32(ids[blockIdx.x])) * ne00;
  f32 *y = dst + i64(blockIdx.x) * ne00;
  const i64 step = i64(gridDim.y) * blockDim.x;
  for (i64 i = i64(blockIdx.y) * blockDim.x + threadIdx.x; i < ne00; i += step) y[i] = widen(x[i]);
}

}  // namespace candle
