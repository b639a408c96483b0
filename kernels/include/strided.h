// Which elements a thread takes, and where the elements of strided tensors lie.
#pragma once

#include "pack.h"
#include "target.h"

namespace candle {

__device__ inline size_t thread_index() { return size_t(blockIdx.x) * blockDim.x + threadIdx.x; }

__device__ inline size_t thread_count() { return size_t(gridDim.x) * blockDim.x; }

// Row-major without gaps, for each of the N operands whose strides follow dims in info; null info says so too.
template <int N>
__device__ CANDLE_SHARED_HELPER bool is_contiguous(size_t num_dims, const size_t *info) {
  if (!info) return true;
  size_t expected = 1;
  for (size_t d = num_dims; d-- > 0;) {
    const size_t size = info[d];
    if (size <= 1) continue;  // the stride of such a dimension is never used
    for (int k = 0; k < N; ++k) {
      if (info[(k + 1) * num_dims + d] != expected) return false;
    }
    expected *= size;
  }
  return true;
}

// i / d and i mod d. `wide` is uniform over the grid; a 32-bit division is several times cheaper.
__device__ inline size_t divide(size_t &i, size_t d, bool wide) {
  const size_t quotient = wide ? i / d : size_t(u32(i) / u32(d));
  const size_t remainder = i - quotient * d;
  i = quotient;
  return remainder;
}

template <int N>
struct Offsets {
  size_t at[N];
};

// Where the i-th element (row-major) of each operand lies. Dimensions that lie in memory as one are taken as one;
// the outermost needs no division. All control flow here is uniform over the grid.
template <int N>
__device__ CANDLE_SHARED_HELPER Offsets<N> offsets(size_t i, size_t num_dims, const size_t *info, bool wide) {
  Offsets<N> result{};
  for (size_t d = num_dims; d-- > 0;) {
    const size_t inner = d;
    size_t size = info[d];
    if (size == 1) continue;
    for (; d > 0; --d) {
      bool mergeable = true;
      for (int k = 1; k <= N; ++k) {
        mergeable &= info[k * num_dims + d - 1] == size * info[k * num_dims + inner];
      }
      if (!mergeable) break;
      size *= info[d - 1];
    }
    const size_t index = d == 0 ? i : divide(i, size, wide);
    for (int k = 0; k < N; ++k) result.at[k] += index * info[(k + 1) * num_dims + inner];
  }
  return result;
}

// The thread blocks among which the elements are shared out. Candle launches a thread per element; where a thread takes
// several, one block of every 2^shift does the work of its neighbours, which end at once. Were the idle blocks the last
// ones, the memory would stand still while they come and go. Idle blocks are most of the grid: they must find out in a
// few instructions.
struct Part {
  u32 block, blocks;

  __device__ size_t first() const { return size_t(block) * blockDim.x + threadIdx.x; }
  __device__ size_t step() const { return size_t(blocks) * blockDim.x; }
};

__device__ inline bool is_idle_block(u32 shift) { return (blockIdx.x & ((1u << shift) - 1)) != 0; }

__device__ inline Part active_grid(u32 shift) {
  return {blockIdx.x >> shift, (gridDim.x + (1u << shift) - 1) >> shift};
}

// Where the work of a block has a dear beginning; some hundreds of blocks fill a GPU.
__device__ inline u32 shift_for_few_active_blocks(size_t numel) {
  if (thread_count() < numel) return 0;
  return gridDim.x >= 256 << 6 ? 6 : gridDim.x >= 256 << 4 ? 4 : gridDim.x >= 256 << 2 ? 2 : 0;
}

// Division by a number that is known before, of anything below 2^31 (T. Granlund, P. Montgomery, "Division by invariant
// integers using multiplication", 1994).
struct Divisor {
  u32 size, factor, shift;

  __device__ u32 quotient(u32 n) const { return u32((u64(n) * factor >> 32) + n) >> shift; }
};

__device__ inline Divisor divisor(u32 d) {
  u32 shift = 0;
  while ((u64(1) << shift) < d) ++shift;
  return {d, u32(((u64(1) << 32) * ((u64(1) << shift) - d)) / d + 1), shift};
}

// How N operands lie, ready for use: dimensions of size 1 left out, those that lie in memory as one joined.
template <int N>
struct Strides {
  static constexpr u32 most = 6;
  u32 dims;  // more than `most`: not ready for use
  Divisor size[most];
  size_t at[N][most];

  // Where the i-th element (row-major) of operand k lies.
  __device__ Offsets<N> offsets(u32 i) const {
    Offsets<N> result{};
    for (u32 d = dims; d-- > 0;) {
      const u32 rest = d == 0 ? 0 : size[d].quotient(i);
      const u32 index = i - rest * size[d].size;
      for (int k = 0; k < N; ++k) result.at[k] += index * at[k][d];
      i = rest;
    }
    return result;
  }
};

template <int N>
__device__ CANDLE_SHARED_HELPER void merge_dims(size_t numel, size_t num_dims, const size_t *info,
                                                Strides<N> &strides) {
  strides.dims = 0;
  if (numel >> 31) {
    strides.dims = Strides<N>::most + 1;
    return;
  }
  for (size_t d = 0; d < num_dims; ++d) {
    const u32 size = u32(info[d]);
    if (size == 1) continue;
    bool joined = strides.dims > 0;
    for (int k = 0; k < N; ++k) {
      joined = joined && strides.at[k][strides.dims - 1] == size * info[(k + 1) * num_dims + d];
    }
    if (!joined && strides.dims == Strides<N>::most) {
      ++strides.dims;
      return;
    }
    if (!joined) strides.size[strides.dims++].size = 1;
    const u32 last = strides.dims - 1;
    strides.size[last].size *= size;
    for (int k = 0; k < N; ++k) strides.at[k][last] = info[(k + 1) * num_dims + d];
  }
  for (u32 d = 0; d < strides.dims; ++d) strides.size[d] = divisor(strides.size[d].size);
}

}  // namespace candle
