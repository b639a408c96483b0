// fill: buf[i] = value. const_set: out[offset(i)] = value. copy2d: d1 rows of d2 elements between pitched buffers.
// What these do not address stays as it was.
#include "include/elementwise.h"

using namespace candle;

namespace {

template <class T>
__device__ inline void fill_packed(size_t numel, const Part &part, T value, T *out) {
  constexpr int width = pack_width(default_max_per_thread, sizeof(T));
  size_t done = 0;
  if (is_aligned<width>(out)) {
    Pack<T, width> values;
#pragma unroll
    for (int k = 0; k < width; ++k) values.at[k] = value;
    const size_t packs = numel / width;
    for (size_t p = part.first(); p < packs; p += part.step()) reinterpret_cast<Pack<T, width> *>(out)[p] = values;
    done = packs * width;
  }
  for (size_t i = done + part.first(); i < numel; i += part.step()) out[i] = value;
}

// Without loads to wait for, blocks that end at once cost as much as those that store: each takes its own. It is the
// instructions that count; Candle launches fewer than 2^32 threads.
template <class T>
__device__ inline void fill(size_t numel, T value, T *out) {
  const size_t step = thread_count();
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += step) out[i] = value;
}

// The dimensions of out, from the largest stride to the smallest: the order of elements that are all alike is free.
__device__ CANDLE_SHARED_HELPER void sort_dims(size_t numel, size_t num_dims, const size_t *info, size_t *sorted,
                                               Strides<1> &strides) {
  constexpr u32 most = Strides<1>::most;
  u32 dims = 0;
  for (size_t d = 0; d < num_dims; ++d) {
    if (info[d] == 1) continue;
    if (dims == most) {
      strides.dims = most + 1;
      return;
    }
    // Insertion: sorted is dims, then strides, `most` apart until all are known.
    const size_t stride = info[num_dims + d];
    u32 at = dims++;
    for (; at > 0 && sorted[most + at - 1] < stride; --at) {
      sorted[at] = sorted[at - 1];
      sorted[most + at] = sorted[most + at - 1];
    }
    sorted[at] = info[d];
    sorted[most + at] = stride;
  }
  for (u32 d = 0; d < dims; ++d) sorted[dims + d] = sorted[most + d];
  merge_dims<1>(numel, dims, sorted, strides);
}

template <class T>
__device__ CANDLE_NOINLINE_NVIDIA void const_set_strided(const Part part, size_t numel, size_t num_dims,
                                                         const size_t *info, T value, T *out) {
  __shared__ Strides<1> strides;
  __shared__ size_t sorted[2 * Strides<1>::most];
  if (threadIdx.x == 0) sort_dims(numel, num_dims, info, sorted, strides);
  __syncthreads();
  const bool ready = strides.dims <= Strides<1>::most;
  if (strides.dims == 0 || (strides.dims == 1 && strides.at[0][0] == 1)) return fill_packed(numel, part, value, out);
  for (size_t i = part.first(); i < numel; i += part.step()) {
    out[ready ? strides.offsets(u32(i)).at[0] : offsets<1>(i, num_dims, info, bool(numel >> 32)).at[0]] = value;
  }
}

// The strides are those of out.
template <class T>
__device__ inline void const_set(size_t numel, size_t num_dims, const size_t *info, T value, T *out) {
  if (!info) return fill(numel, value, out);
  const u32 shift = shift_for_few_active_blocks(numel);
  if (numel == 0 || is_idle_block(shift)) return;
  const_set_strided(active_grid(shift), numel, num_dims, info, value, out);
}

// Lengths in units of U, which is an element or a pack.
template <class Index, class U>
__device__ inline void copy_units(const Part &part, const U *src, U *dst, Index numel, u32 cols, u32 src_pitch,
                                  u32 dst_pitch) {
  for (Index i = Index(part.first()), step = Index(part.step()); i < numel; i += step) {
    const Index row = i / cols, col = i - row * cols;
    dst[size_t(row) * dst_pitch + col] = src[size_t(row) * src_pitch + col];
  }
}

template <class U>
__device__ inline void copy_rows(const Part &part, const U *src, U *dst, u32 rows, u32 cols, u32 src_pitch,
                                 u32 dst_pitch) {
  const size_t numel = size_t(rows) * cols;
  if ((numel + part.step()) >> 32) {
    copy_units<size_t>(part, src, dst, numel, cols, src_pitch, dst_pitch);
  } else {
    copy_units<u32>(part, src, dst, u32(numel), cols, src_pitch, dst_pitch);
  }
}

template <class T>
__device__ inline void copy2d(const T *src, T *dst, u32 d1, u32 d2, u32 src_s, u32 dst_s) {
  constexpr int width = pack_width(default_max_per_thread, sizeof(T));
  // A single row has no use for its pitch.
  const bool whole_packs = d2 % width == 0 && (d1 <= 1 || (src_s % width == 0 && dst_s % width == 0));
  const bool packed = whole_packs && is_aligned<width>(src) && is_aligned<width>(dst);
  const u32 shift = packed && thread_count() >= size_t(d1) * d2 ? log2_of(width) : 0;
  if (is_idle_block(shift)) return;
  const Part part = active_grid(shift);
  if (packed) {
    copy_rows(part, reinterpret_cast<const Pack<T, width> *>(src), reinterpret_cast<Pack<T, width> *>(dst), d1,
              d2 / width, src_s / width, dst_s / width);
  } else {
    copy_rows(part, src, dst, d1, d2, src_s, dst_s);
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
