// Blocks as numbers: whole buffers, and rows chosen by id. A thread decodes four values, or eight where it has to.
#pragma once

#include "formats.h"

namespace candle {

template <class F>
constexpr int words_of = F::length / 4;

// N values that move in one load or store.
template <class T, int N>
struct alignas(sizeof(T) * N) Vector {
  T at[N];
};

template <int N, class T>
__device__ inline bool is_vector(const T *p) {
  return reinterpret_cast<size_t>(p) % sizeof(Vector<T, N>) == 0;
}

// count * 4 values from word `word` of a block to y.
template <int count, class F, class T>
__device__ inline void decode_words(const typename F::Block &block, int word, T *y) {
  constexpr int each = 4 * count * sizeof(T) <= 16 ? 4 * count : 4;
  const int group = word >> 3, in_group = word & 7;
  const auto scales = F::scales(block, group);
  Vector<T, each> values[4 * count / each];
#pragma unroll
  for (int n = 0; n < count; ++n) {
    const u32 quants = F::quants(block, group, in_group + n);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      // Quants of 7 bits or fewer are the same signed and unsigned.
      values[(4 * n + k) / each].at[(4 * n + k) % each] =
          narrow<T>(F::value(scales, i32(quants << (24 - 8 * k)) >> 24, in_group >> 2));
    }
  }
  const bool aligned = is_vector<each>(y);
#pragma unroll
  for (int n = 0; n < 4 * count / each; ++n) {
    if (aligned) {
      *reinterpret_cast<Vector<T, each> *>(y + each * n) = values[n];
    } else {
#pragma unroll
      for (int k = 0; k < each; ++k) y[each * n + k] = values[n].at[k];
    }
  }
}

// A thread block decodes 256 values, those of blocks that exist.
template <int count, class F, class T>
__device__ inline void dequantize_words(const void *__restrict__ vx, T *__restrict__ y, i64 blocks) {
  const auto *x = static_cast<const typename F::Block *>(vx);
  const i64 first = i64(blockIdx.x) * (super_length / F::length);
  for (int word = count * threadIdx.x; word < super_length / 4; word += count * blockDim.x) {
    const i64 block = first + word / words_of<F>;
    const int in_block = word % words_of<F>;
    if (block < blocks) decode_words<count, F>(x[block], in_block, y + block * F::length + 4 * in_block);
  }
}

template <class F, class T>
__device__ inline void dequantize_256(const void *__restrict__ vx, T *__restrict__ y, i64 blocks) {
  if (blockDim.x < super_length / 4) {
    dequantize_words<2, F>(vx, y, blocks);
  } else {
    dequantize_words<1, F>(vx, y, blocks);
  }
}

template <class F, class T>
__device__ inline void dequantize_super(const void *__restrict__ vx, T *__restrict__ y) {
  dequantize_256<F>(vx, y, i64(gridDim.x));
}

// Which items a thread takes. Candle launches a thread for every value or two; where a thread takes more, every block
// but one of 2 or 4 ends at once. Were those the last blocks, the memory would stand still while they come and go.
struct Share {
  u32 block, blocks;
  bool idle;

  __device__ Share(u32 index, u32 count, size_t items) {
    const size_t threads = size_t(count) * blockDim.x;
    const u32 shift = threads >= 4 * items ? 2 : threads >= 2 * items ? 1 : 0;
    block = index >> shift;
    blocks = (count + (1u << shift) - 1) >> shift;
    idle = (index & ((1u << shift) - 1)) != 0;
  }
  __device__ size_t first() const { return size_t(block) * blockDim.x + threadIdx.x; }
  __device__ size_t step() const { return size_t(blocks) * blockDim.x; }
};

// k values over the whole grid.
template <class F, class T>
__device__ inline void dequantize_flat(const void *__restrict__ vx, T *__restrict__ y, int k) {
  const auto *x = static_cast<const typename F::Block *>(vx);
  const size_t words = size_t(k) / 4;
  const Share share(blockIdx.x, gridDim.x, words);
  if (share.idle) return;
  for (size_t word = share.first(); word < words; word += share.step()) {
    decode_words<1, F>(x[word / words_of<F>], int(word % words_of<F>), y + 4 * word);
  }
}

// Row i of dst is row ids[i] of src0, whose rows are nb01 bytes apart. Ids are 32-bit integers, as in Candle.
template <class F>
__device__ inline void get_rows(const void *__restrict__ src0, const u32 *__restrict__ ids, f32 *__restrict__ dst,
                                i64 ne00, size_t nb01) {
  const size_t words = size_t(ne00) / 4;
  const Share share(blockIdx.y, gridDim.y, words);
  if (share.idle) return;
  const u8 *row = static_cast<const u8 *>(src0) + i64(i32(ids[blockIdx.x])) * i64(nb01);
  const auto *x = reinterpret_cast<const typename F::Block *>(row);
  f32 *y = dst + i64(blockIdx.x) * ne00;
  for (size_t word = share.first(); word < words; word += share.step()) {
    decode_words<1, F>(x[word / words_of<F>], int(word % words_of<F>), y + 4 * word);
  }
}

template <class T>
__device__ inline void get_rows_plain(const T *__restrict__ src0, const u32 *__restrict__ ids, f32 *__restrict__ dst,
                                      i64 ne00) {
  constexpr int each = 4;
  const bool packed = ne00 % each == 0 && is_vector<each>(src0) && is_vector<each>(dst);
  const size_t needed = packed ? ne00 / each : ne00;
  const Share share(blockIdx.y, gridDim.y, needed);
  if (share.idle) return;
  const T *x = src0 + i64(i32(ids[blockIdx.x])) * ne00;
  f32 *y = dst + i64(blockIdx.x) * ne00;
#pragma unroll 1
  for (size_t i = share.first(); i < needed; i += share.step()) {
    if (packed) {
      const auto from = *reinterpret_cast<const Vector<T, each> *>(x + each * i);
      Vector<f32, each> to;
#pragma unroll
      for (int k = 0; k < each; ++k) to.at[k] = widen(from.at[k]);
      *reinterpret_cast<Vector<f32, each> *>(y + each * i) = to;
    } else {
      y[i] = widen(x[i]);
    }
  }
}

}  // namespace candle
