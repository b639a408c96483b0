// fill: buf[i] = value. const_set: out[offset(i)] = value. copy2d: d1 rows of d2 elements between pitched buffers.
// What these do not address stays as it was.
#include "include/elementwise.h"

using namespace candle;

namespace {

template <class T>
__device__ inline void fill(size_t numel, T value, T *out) {
  constexpr int width = pack_width(any_number, sizeof(T));
  const size_t step = thread_count();
  size_t done = 0;
  if (is_aligned<width>(out)) {
    Pack<T, width> values;
#pragma unroll
    for (int k = 0; k < width; ++k) values.at[k] = value;
    const size_t packs = numel / width;
    for (size_t p = thread_index(); p < packs; p += step) reinterpret_cast<Pack<T, width> *>(out)[p] = values;
    done = packs * width;
  }
  for (size_t i = done + thread_index(); i < numel; i += step) out[i] = value;
}

// The strides are those of out.
template <class T>
__device__ inline void const_set(size_t numel, size_t num_dims, const size_t *info, T value, T *out) {
  if (is_contiguous<1>(num_dims, info)) return fill(numel, value, out);
  const bool wide = numel >> 32;
  const size_t step = thread_count();
  for (size_t i = thread_index(); i < numel; i += step) out[offsets<1>(i, num_dims, info, wide).at[0]] = value;
}

// Lengths in units of U, which is an element or a pack.
template <class U>
__device__ inline void copy_rows(const U *src, U *dst, size_t rows, u32 cols, size_t src_pitch, size_t dst_pitch) {
  const size_t numel = rows * cols;
  const bool wide = numel >> 32;
  const size_t step = thread_count();
  for (size_t i = thread_index(); i < numel; i += step) {
    size_t row = i;
    const size_t col = divide(row, cols, wide);
    dst[row * dst_pitch + col] = src[row * src_pitch + col];
  }
}

template <class T>
__device__ inline void copy2d(const T *src, T *dst, u32 d1, u32 d2, u32 src_s, u32 dst_s) {
  constexpr int width = pack_width(any_number, sizeof(T));
  // A single row has no use for its pitch.
  const bool whole_packs = d2 % width == 0 && (d1 <= 1 || (src_s % width == 0 && dst_s % width == 0));
  if (whole_packs && is_aligned<width>(src) && is_aligned<width>(dst)) {
    copy_rows(reinterpret_cast<const Pack<T, width> *>(src), reinterpret_cast<Pack<T, width> *>(dst), d1, d2 / width,
              src_s / width, dst_s / width);
  } else {
    copy_rows(src, dst, d1, d2, src_s, dst_s);
  }
}

}  // namespace

#define FILL(T)                                                                                      \
  extern "C" __global__ void __launch_bounds__(1024) fill_##T(T *buf, T value, const size_t numel) { \
    fill(numel, value, buf);                                                                         \
  }

#define COPY2D(T)                                                              \
  extern "C" __global__ void __launch_bounds__(1024)                           \
      copy2d_##T(const T *src, T *dst, u32 d1, u32 d2, u32 src_s, u32 dst_s) { \
    copy2d(src, dst, d1, d2, src_s, dst_s);                                    \
  }

#define CONST_SET(T)                                                                                      \
  extern "C" __global__ void __launch_bounds__(1024)                                                      \
      const_set_##T(const size_t numel, const size_t num_dims, const size_t *info, const T inp, T *out) { \
    const_set(numel, num_dims, info, inp, out);                                                           \
  }

// clang-format off
FILL(bf16) FILL(f16) FILL(f32) FILL(f64) FILL(u8) FILL(u32) FILL(i64) FILL(f8_e4m3)
COPY2D(bf16) COPY2D(f16) COPY2D(f32) COPY2D(f64) COPY2D(u8) COPY2D(u32) COPY2D(i64) COPY2D(f8_e4m3)
CONST_SET(bf16) CONST_SET(f16) CONST_SET(f32) CONST_SET(f64) CONST_SET(u8) CONST_SET(u32) CONST_SET(i64) CONST_SET(f8_e4m3)
    // clang-format on
