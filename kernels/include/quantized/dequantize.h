// Dequantization of whole buffers, and of rows selected by id.
#pragma once

#include "../strided.h"
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

// k values, distributed over the whole grid, of which Candle's has a thread for every two.
template <class F, class T>
__device__ inline void dequantize_flat(const void *__restrict__ vx, T *__restrict__ y, int k) {
  const auto *x = static_cast<const typename F::Block *>(vx);
  const size_t words = size_t(k) / 4;
  const u32 shift = thread_count() >= 2 * words ? 1 : 0;
  if (is_idle_block(shift)) return;
  const ActiveGrid grid = active_grid(shift);
  const bool aligned = is_aligned<4>(y);
  for (size_t word = grid.first(); word < words; word += grid.step()) {
    decode_words<1, F>(aligned, x[word / words_of<F>], u32(word) % words_of<F>, y + 4 * word);
  }
}

// The blocks (i, y) that produce the `items` items of row i of dst, of which Candle's grid has 2^shift threads each:
// one block of every 2^shift works. In a large grid it is another from row to row, so that blocks with work and idle
// ones alternate.
template <u32 shift_of_candle>
struct RowBlocks {
  u32 shift;
  bool idle;

  __device__ explicit RowBlocks(size_t items)
      : shift(size_t(gridDim.y) * blockDim.x >= items << shift_of_candle ? shift_of_candle : 0) {
    const u32 mask = (1u << shift) - 1;
    const bool alternates = gridDim.x >= small_grid && (gridDim.y & mask) == 0;
    idle = ((blockIdx.y + (alternates ? blockIdx.x : 0)) & mask) != 0;
  }
  __device__ ActiveGrid grid() const { return {blockIdx.y >> shift, (gridDim.y + (1u << shift) - 1) >> shift}; }
};

// Row i of dst is row ids[i] of src0, whose rows are nb01 bytes apart. Ids are 32-bit integers, as in Candle.
template <class F>
__device__ inline void get_rows(const void *__restrict__ src0, const u32 *__restrict__ ids, f32 *__restrict__ dst,
                                i64 ne00, size_t nb01) {
  const size_t words = size_t(ne00) / 4;
  const RowBlocks<F::length == super_block_length ? 0 : 1> blocks(words);
  if (blocks.idle) return;
  const ActiveGrid grid = blocks.grid();
  const u8 *row = static_cast<const u8 *>(src0) + i64(i32(ids[blockIdx.x])) * i64(nb01);
  const auto *x = reinterpret_cast<const typename F::Block *>(row);
  f32 *y = dst + i64(blockIdx.x) * ne00;
  const bool aligned = is_aligned<4>(y);
  for (size_t word = grid.first(); word < words; word += grid.step()) {
    decode_words<1, F>(aligned, x[word / words_of<F>], u32(word) % words_of<F>, y + 4 * word);
  }
}

template <int width, class T>
__device__ inline void get_row(const ActiveGrid &grid, size_t packs, const T *__restrict__ from, f32 *__restrict__ to) {
#pragma unroll 1
#pragma clang loop vectorize(disable)
  for (size_t i = grid.first(); i < packs; i += grid.step()) {
    const auto x = load_pack<width>(from + i * width);
    Pack<f32, width> y;
#pragma unroll
    for (int k = 0; k < width; ++k) y.data[k] = widen(x.data[k]);
    store_pack(to + i * width, y);
  }
}

template <class T>
__device__ inline void get_rows_unquantized(const T *__restrict__ src0, const u32 *__restrict__ ids,
                                            f32 *__restrict__ dst, i64 ne00) {
  constexpr int width = 4;
  const size_t length = size_t(ne00);
  const bool packed = length % width == 0 && is_aligned<width>(src0) && is_aligned<width>(dst);
  const RowBlocks<2> blocks(packed ? length / width : length);
  if (blocks.idle) return;
  const T *from = src0 + i64(i32(ids[blockIdx.x])) * ne00;
  f32 *to = dst + i64(blockIdx.x) * ne00;
  if (packed) {
    get_row<width>(blocks.grid(), length / width, from, to);
  } else {
    get_row<1>(blocks.grid(), length, from, to);
  }
}

}  // namespace candle
