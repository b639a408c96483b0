// fill: buf[i] = value. const_set: out[offset(i)] = value. copy2d: d1 rows of d2 elements between pitched buffers.
// Memory outside the addressed elements is not written.
#include "include/columns.h"
#include "include/elementwise.h"

using namespace candle;

namespace {

template <class T>
__device__ inline void fill_packed(size_t numel, const ActiveGrid &grid, T value, T *out) {
  constexpr int width = pack_width(default_max_per_thread, sizeof(T));
  size_t packed = 0;
  if (is_aligned<width>(out)) {
    Pack<T, width> values;
#pragma unroll
    for (int k = 0; k < width; ++k) values.data[k] = value;
    const size_t packs = numel / width;
    for (size_t p = grid.first(); p < packs; p += grid.step()) reinterpret_cast<Pack<T, width> *>(out)[p] = values;
    packed = packs * width;
  }
  for (size_t i = packed + grid.first(); i < numel; i += grid.step()) out[i] = value;
}

// No idle blocks here: without loads to hide, a block that exits at once costs as much as one that stores. The
// instruction count matters; Candle launches fewer than 2^32 threads, so that the first index fits in 32 bits.
template <class T>
__device__ inline void fill(size_t numel, T value, T *out) {
  const size_t step = thread_count();
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += step) out[i] = value;
}

// The dimensions of out, sorted from the largest stride to the smallest: all elements get the same value, so their
// order is free.
__device__ CANDLE_SHARED_HELPER void sort_dims(size_t numel, size_t num_dims, const size_t *info, size_t *sorted,
                                               Strides<1> &strides) {
  constexpr u32 max_dims = Strides<1>::max_dims;
  u32 dims = 0;
  for (size_t d = 0; d < num_dims; ++d) {
    if (info[d] == 1) continue;
    if (dims == max_dims) {
      strides.dims = max_dims + 1;
      return;
    }
    // Insertion sort; sorted holds dims, then strides, which start at max_dims until all are known.
    const size_t stride = info[num_dims + d];
    u32 insert_at = dims++;
    for (; insert_at > 0 && sorted[max_dims + insert_at - 1] < stride; --insert_at) {
      sorted[insert_at] = sorted[insert_at - 1];
      sorted[max_dims + insert_at] = sorted[max_dims + insert_at - 1];
    }
    sorted[insert_at] = info[d];
    sorted[max_dims + insert_at] = stride;
  }
  for (u32 d = 0; d < dims; ++d) sorted[dims + d] = sorted[max_dims + d];
  merge_dims<1>(numel, dims, sorted, strides);
}

template <class T>
__device__ CANDLE_NOINLINE_NVIDIA void const_set_strided(const ActiveGrid grid, size_t numel, size_t num_dims,
                                                         const size_t *info, T value, T *out) {
  __shared__ Strides<1> strides;
  __shared__ size_t sorted[2 * Strides<1>::max_dims];
  if (threadIdx.x == 0) sort_dims(numel, num_dims, info, sorted, strides);
  __syncthreads();
  const bool has_strides = strides.dims <= Strides<1>::max_dims;
  if (strides.dims == 0 || (strides.dims == 1 && strides.stride[0][0] == 1))
    return fill_packed(numel, grid, value, out);
  for (size_t i = grid.first(); i < numel; i += grid.step()) {
    out[has_strides ? strides.offsets(u32(i)).operand[0]
                    : offsets<1>(i, num_dims, info, bool(numel >> 32)).operand[0]] = value;
  }
}

// The strides in info are those of out.
template <class T>
__device__ inline void const_set(size_t numel, size_t num_dims, const size_t *info, T value, T *out) {
  if (!info) return fill(numel, value, out);
  if (numel == 0 || is_idle_of_few()) return;
  const_set_strided(active_grid(shift_for_few_active_blocks()), numel, num_dims, info, value, out);
}

// Lengths are in units of U, an element or a pack.
template <class U>
__device__ inline void copy_rows(const ActiveGrid &grid, const U *src, U *dst, u32 rows, u32 cols, u32 src_pitch,
                                 u32 dst_pitch) {
  const size_t numel = size_t(rows) * cols;
  if ((numel | grid.step()) >> 31) {
    for (size_t i = grid.first(); i < numel; i += grid.step()) {
      const size_t row = i / cols, col = i - row * cols;
      dst[row * dst_pitch + col] = src[row * src_pitch + col];
    }
  } else if (numel > 0) {
    const ColumnRange range(grid, cols, 1, 1, rows);
#pragma unroll 1
    for (u32 col = range.column; col < cols; col += range.column_step) {
      Row row = range.first;
      do {
        dst[size_t(row.index) * dst_pitch + col] = src[size_t(row.index) * src_pitch + col];
      } while (range.advance(row));
    }
  }
}

template <class T>
__device__ inline void copy2d(const T *src, T *dst, u32 d1, u32 d2, u32 src_s, u32 dst_s) {
  constexpr int width = 16 / sizeof(T);
  // The pitch of a single row is irrelevant.
  const bool whole_packs = d2 % width == 0 && (d1 <= 1 || (src_s % width == 0 && dst_s % width == 0));
  const bool packed = whole_packs && is_aligned<width>(src) && is_aligned<width>(dst);
  const u32 shift = packed ? shift_for_few_active_blocks() : 0;
  if (is_idle_in_alternating_grid(shift)) return;
  const ActiveGrid grid = alternating_grid(shift);
  if (packed) {
    copy_rows(grid, reinterpret_cast<const Pack<T, width> *>(src), reinterpret_cast<Pack<T, width> *>(dst), d1,
              d2 / width, src_s / width, dst_s / width);
  } else {
    copy_rows(grid, src, dst, d1, d2, src_s, dst_s);
  }
}

}  // namespace

#define FILL(T)                                                                                         \
  extern "C" __global__ void __launch_bounds__(1024, 2) fill_##T(T *buf, T value, const size_t numel) { \
    fill(numel, value, buf);                                                                            \
  }

#define COPY2D(T)                                                              \
  extern "C" __global__ void __launch_bounds__(1024, 2)                        \
      copy2d_##T(const T *src, T *dst, u32 d1, u32 d2, u32 src_s, u32 dst_s) { \
    copy2d(src, dst, d1, d2, src_s, dst_s);                                    \
  }

#define CONST_SET(T)                                                                                      \
  extern "C" __global__ void __launch_bounds__(1024, 2)                                                   \
      const_set_##T(const size_t numel, const size_t num_dims, const size_t *info, const T inp, T *out) { \
    const_set(numel, num_dims, info, inp, out);                                                           \
  }

// clang-format off
FILL(bf16) FILL(f16) FILL(f32) FILL(f64) FILL(u8) FILL(u32) FILL(i64) FILL(f8_e4m3)
COPY2D(bf16) COPY2D(f16) COPY2D(f32) COPY2D(f64) COPY2D(u8) COPY2D(u32) COPY2D(i64) COPY2D(f8_e4m3)
CONST_SET(bf16) CONST_SET(f16) CONST_SET(f32) CONST_SET(f64) CONST_SET(u8) CONST_SET(u32) CONST_SET(i64) CONST_SET(f8_e4m3)
    // clang-format on
