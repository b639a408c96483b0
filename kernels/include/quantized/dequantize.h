// Dequantization of whole buffers, and of rows selected by id.
#pragma once

#include "../pack.h"
#include "block32_formats.h"
#include "k_quant_formats.h"

namespace candle {

template <class F>
constexpr u32 words_of = F::length / 4;

__device__ inline u32 bits_of(f32 x) { return bit_cast<u32>(x); }
__device__ inline u32 bits_of(f16 x) { return x.bits; }

// Decodes 4 * count values, from word `word` of a block on, to y. If `aligned`, y is a multiple of 16 bytes, or of the
// size of the values if that is less.
template <int count, class F, class T>
__device__ inline void decode_words(bool aligned, const typename F::Block &block, u32 word, T *y) {
  constexpr int bytes = 4 * count * sizeof(T), store_bytes = bytes < 16 ? bytes : 16;
  const int group = int(word >> 3), in_group = int(word & 7);
  const auto scales = F::scales(block, group);
  T values[4 * count];
#pragma unroll
  for (int n = 0; n < count; ++n) {
    const u32 quants = F::quants(block, group, in_group + n);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      // Quants of at most 7 bits are the same signed and unsigned.
      values[4 * n + k] = narrow<T>(F::value(scales, i32(quants << (24 - 8 * k)) >> 24, in_group >> 2));
    }
  }
  if (aligned) {
    using StoreWords = Pack<u32, store_bytes / 4>;
    // Stored as words: compilers store 16-bit values one by one.
#pragma unroll
    for (int n = 0; n < bytes / store_bytes; ++n) {
      StoreWords words;
#pragma unroll
      for (int k = 0; k < store_bytes / 4; ++k) {
        const T *from = values + (store_bytes * n + 4 * k) / sizeof(T);
        words.data[k] = bits_of(from[0]);
        if constexpr (sizeof(T) == 2) words.data[k] |= bits_of(from[1]) << 16;
      }
      reinterpret_cast<StoreWords *>(y)[n] = words;
    }
  } else {
#pragma unroll
    for (int k = 0; k < 4 * count; ++k) y[k] = values[k];
  }
}

// A thread block decodes 256 values, as far as there are blocks; a thread 4 * count at a time.
template <int count, bool aligned, class F, class T>
__device__ inline void dequantize_words(const void *__restrict__ vx, T *__restrict__ y, i64 blocks) {
  const auto *x = static_cast<const typename F::Block *>(vx);
  const i64 first = i64(blockIdx.x) * (super_block_length / F::length);
  for (u32 word = count * threadIdx.x; word < super_block_length / 4; word += count * blockDim.x) {
    const i64 block = first + word / words_of<F>;
    if (block < blocks) {
      decode_words<count, F>(aligned, x[block], word % words_of<F>, y + first * F::length + 4 * word);
    }
  }
}

// `threads` is the size of Candle's thread blocks; any other is right too.
template <int threads, class F, class T>
__device__ inline void dequantize_256(const void *__restrict__ vx, T *__restrict__ y, i64 blocks) {
  if (is_aligned<16 / sizeof(T)>(y)) {
    dequantize_words<super_block_length / 4 / threads, true, F>(vx, y, blocks);
  } else {
    dequantize_words<1, false, F>(vx, y, blocks);
  }
}

// The thread blocks that have work. Candle launches a thread for every value or two; where a thread processes more, one
// of every 2 or 4 blocks works and the others return at once. If instead the last blocks were the idle ones, memory
// would sit idle while those blocks launch and exit.
struct ActiveBlocks {
  u32 block, blocks;
  bool idle;

  __device__ ActiveBlocks(u32 index, u32 count, size_t items) {
    const size_t threads = size_t(count) * blockDim.x;
    const u32 shift = threads >= 4 * items ? 2 : threads >= 2 * items ? 1 : 0;
    block = index >> shift;
    blocks = (count + (1u << shift) - 1) >> shift;
    idle = (index & ((1u << shift) - 1)) != 0;
  }
  __device__ size_t first() const { return size_t(block) * blockDim.x + threadIdx.x; }
  __device__ size_t step() const { return size_t(blocks) * blockDim.x; }
};

// k values, distributed over the whole grid.
template <class F, class T>
__device__ inline void dequantize_flat(const void *__restrict__ vx, T *__restrict__ y, int k) {
  const auto *x = static_cast<const typename F::Block *>(vx);
  const size_t words = size_t(k) / 4;
  const ActiveBlocks active(blockIdx.x, gridDim.x, words);
  if (active.idle) return;
  const bool aligned = is_aligned<4>(y);
  for (size_t word = active.first(); word < words; word += active.step()) {
    decode_words<1, F>(aligned, x[word / words_of<F>], u32(word) % words_of<F>, y + 4 * word);
  }
}

// Row i of dst is row ids[i] of src0, whose rows are nb01 bytes apart. Ids are 32-bit integers, as in Candle.
template <class F>
__device__ inline void get_rows(const void *__restrict__ src0, const u32 *__restrict__ ids, f32 *__restrict__ dst,
                                i64 ne00, size_t nb01) {
  const size_t words = size_t(ne00) / 4;
  const ActiveBlocks active(blockIdx.y, gridDim.y, words);
  if (active.idle) return;
  const u8 *row = static_cast<const u8 *>(src0) + i64(i32(ids[blockIdx.x])) * i64(nb01);
  const auto *x = reinterpret_cast<const typename F::Block *>(row);
  f32 *y = dst + i64(blockIdx.x) * ne00;
  const bool aligned = is_aligned<4>(y);
  for (size_t word = active.first(); word < words; word += active.step()) {
    decode_words<1, F>(aligned, x[word / words_of<F>], u32(word) % words_of<F>, y + 4 * word);
  }
}

template <class T>
__device__ inline void get_rows_unquantized(const T *__restrict__ src0, const u32 *__restrict__ ids,
                                            f32 *__restrict__ dst, i64 ne00) {
  const T *x = src0 + i64(i32(ids[blockIdx.x])) * ne00;
  f32 *y = dst + i64(blockIdx.x) * ne00;
  if constexpr (sizeof(T) == sizeof(f32)) {
    if (ne00 % 4 == 0 && is_aligned<4>(src0) && is_aligned<4>(dst)) {
      const ActiveBlocks active(blockIdx.y, gridDim.y, ne00 / 4);
      if (active.idle) return;
      const auto *from = reinterpret_cast<const Pack<T, 4> *>(x);
      auto *to = reinterpret_cast<Pack<T, 4> *>(y);
#pragma unroll 1
      for (i64 i = active.first(); i < ne00 / 4; i += active.step()) to[i] = from[i];
      return;
    }
  }
  // f16 and bf16 are converted one by one: packs of four leave blocks idle and were slower, and so was a loop unrolled
  // for rows of one iteration.
  const i64 step = i64(gridDim.y) * blockDim.x;
#pragma unroll 1
#pragma clang loop vectorize(disable)
  for (i64 i = i64(blockIdx.y) * blockDim.x + threadIdx.x; i < ne00; i += step) y[i] = widen(x[i]);
}

}  // namespace candle
