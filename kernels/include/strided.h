// Index arithmetic: which elements a thread processes, and the offsets of the elements of strided tensors.
#pragma once

#include "pack.h"

namespace candle {

__device__ inline size_t thread_index() { return size_t(blockIdx.x) * blockDim.x + threadIdx.x; }

__device__ inline size_t thread_count() { return size_t(gridDim.x) * blockDim.x; }

// Whether each of the N operands whose strides follow dims in info is row-major and without gaps. A null info means
// that too.
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

// Divides i by d in place and returns the remainder. `wide` (indices need 64 bits) is uniform over the grid; a 32-bit
// division is several times cheaper.
__device__ inline size_t divide(size_t &i, size_t d, bool wide) {
  const size_t quotient = wide ? i / d : size_t(u32(i) / u32(d));
  const size_t remainder = i - quotient * d;
  i = quotient;
  return remainder;
}

template <int N>
struct Offsets {
  size_t operand[N];
};

// The offset of the i-th element (row-major) in each operand. Dimensions that are contiguous with each other are
// merged; the outermost needs no division. All control flow here is uniform over the grid.
template <int N>
__device__ CANDLE_SHARED_HELPER Offsets<N> offsets(size_t i, size_t num_dims, const size_t *info, bool wide) {
  Offsets<N> result{};
#pragma unroll 1
  for (size_t d = num_dims; d-- > 0;) {
    const size_t inner = d;
    size_t size = info[d];
    if (size == 1) continue;
#pragma unroll 1
    for (; d > 0; --d) {
      bool mergeable = true;
      for (int k = 1; k <= N; ++k) {
        mergeable &= info[k * num_dims + d - 1] == size * info[k * num_dims + inner];
      }
      if (!mergeable) break;
      size *= info[d - 1];
    }
    const size_t index = d == 0 ? i : divide(i, size, wide);
    for (int k = 0; k < N; ++k) result.operand[k] += index * info[(k + 1) * num_dims + inner];
  }
  return result;
}

// The blocks that have work. Candle launches one thread per element; where a thread processes several, one block of
// every 2^shift does the work of its neighbours, which return at once. If instead the last blocks were the idle ones,
// memory would sit idle while those blocks launch and exit; but in a small grid, whose working blocks a GPU holds all
// at once, they start sooner if they are the first. Idle blocks are most of the grid: they must find out in a few
// instructions, and those of large grids do from blockIdx alone.
struct ActiveGrid {
  u32 block, blocks;

  __device__ size_t first() const { return size_t(block) * blockDim.x + threadIdx.x; }
  __device__ size_t step() const { return size_t(blocks) * blockDim.x; }
};

constexpr u32 small_grid = 2048;

// Where every 2^shift-th block works, whatever the grid.
__device__ inline ActiveGrid alternating_grid(u32 shift) {
  return {blockIdx.x >> shift, (gridDim.x + (1u << shift) - 1) >> shift};
}

__device__ inline bool is_idle_in_alternating_grid(u32 shift) { return (blockIdx.x & ((1u << shift) - 1)) != 0; }

__device__ inline ActiveGrid active_grid(u32 shift) {
  const ActiveGrid grid = alternating_grid(shift);
  return {gridDim.x <= small_grid ? blockIdx.x : grid.block, grid.blocks};
}

__device__ inline bool is_idle_block(u32 shift) {
  const bool is_other = is_idle_in_alternating_grid(shift);
  if (is_other && blockIdx.x >= small_grid) return true;
  return gridDim.x <= small_grid ? blockIdx.x >= alternating_grid(shift).blocks : is_other;
}

// For blocks with expensive setup: a few hundred blocks fill a GPU.
template <u32 max_shift = 6>
__device__ inline u32 shift_for_few_active_blocks() {
  if (max_shift >= 6 && gridDim.x >= 256 << 6) return 6;
  return gridDim.x >= 256 << 4 ? 4 : gridDim.x >= 256 << 2 ? 2 : 0;
}

// is_idle_block for that shift, which most blocks of a large grid need not know.
template <u32 max_shift = 6>
__device__ inline bool is_idle_of_few() {
  if (blockIdx.x >= 256 << 4 && blockIdx.x % 16 != 0) return true;
  return is_idle_block(shift_for_few_active_blocks<max_shift>());
}

constexpr u32 blocks_to_fill_gpu = 128;  // one per multiprocessor of a large GPU

// The tiles of a thread: every step-th from `first` on.
struct TileRange {
  size_t first, step;
  bool is_empty;
};

// One in (1 << log_tile) threads works: whole blocks as long as these are enough for every multiprocessor of a large
// GPU, else a part of the threads of more blocks. The others exit at once.
template <u32 log_tile>
__device__ inline TileRange assign_tiles() {
  u32 thread_shift = 0;  // a block uses 1 in (1 << thread_shift) of its threads
  while (thread_shift < log_tile && gridDim.x >> (log_tile - thread_shift) < blocks_to_fill_gpu) ++thread_shift;
  const u32 threads = (blockDim.x + (1u << thread_shift) - 1) >> thread_shift;
  if (is_idle_block(log_tile - thread_shift) || threadIdx.x >= threads) return {0, 0, true};
  const ActiveGrid grid = active_grid(log_tile - thread_shift);
  return {size_t(grid.block) * threads + threadIdx.x, size_t(grid.blocks) * threads, false};
}

// Division by a loop-invariant divisor, of dividends below 2^31 (T. Granlund, P. Montgomery, "Division by invariant
// integers using multiplication", 1994).
struct Divisor {
  u32 size, factor, shift;

  __device__ u32 quotient(u32 n) const { return u32((u64(n) * factor >> 32) + n) >> shift; }
};

__device__ inline Divisor make_divisor(u32 d) {
  u32 shift = 0;
#pragma unroll 1
  while ((u64(1) << shift) < d) ++shift;
  return {d, u32(((u64(1) << 32) * ((u64(1) << shift) - d)) / d + 1), shift};
}

// The layout of N operands, prepared for index arithmetic: without dimensions of size 1, and with dimensions merged
// that are contiguous with each other.
template <int N>
struct Strides {
  static constexpr u32 max_dims = 6;
  u32 dims;  // more than max_dims: too many, and the rest is not valid
  Divisor size[max_dims];
  size_t stride[N][max_dims];

  // The offset of the i-th element (row-major) in each operand.
  __device__ Offsets<N> offsets(u32 i) const {
    Offsets<N> result{};
#pragma unroll 1
    for (u32 d = dims; d-- > 0;) {
      const u32 quotient = d == 0 ? 0 : size[d].quotient(i);
      const u32 index = i - quotient * size[d].size;
      for (int k = 0; k < N; ++k) result.operand[k] += index * stride[k][d];
      i = quotient;
    }
    return result;
  }
};

template <int N>
__device__ CANDLE_SHARED_HELPER void merge_dims(size_t numel, size_t num_dims, const size_t *info,
                                                Strides<N> &strides) {
  strides.dims = numel >> 31 ? Strides<N>::max_dims + 1 : 0;
  if (strides.dims != 0) return;
#pragma unroll 1
  for (size_t d = 0; d < num_dims; ++d) {
    const u32 size = u32(info[d]);
    if (size == 1) continue;
    bool merged = strides.dims > 0;
    for (int k = 0; k < N; ++k) {
      merged = merged && strides.stride[k][strides.dims - 1] == size * info[(k + 1) * num_dims + d];
    }
    if (!merged && strides.dims == Strides<N>::max_dims) {
      ++strides.dims;
      return;
    }
    if (!merged) strides.size[strides.dims++].size = 1;
    const u32 last = strides.dims - 1;
    strides.size[last].size *= size;
    for (int k = 0; k < N; ++k) strides.stride[k][last] = info[(k + 1) * num_dims + d];
  }
#pragma unroll 1
  for (u32 d = 0; d < strides.dims; ++d) strides.size[d] = make_divisor(strides.size[d].size);
}

}  // namespace candle
