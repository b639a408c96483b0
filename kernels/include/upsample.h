// Upsampling of a four-dimensional source to a contiguous output. info is the dims and strides of the source. Positions
// are computed in f64, as Candle does: with f32 or integers some sizes give other pixels.
#pragma once

#include "columns.h"
#include "convert.h"
#include "elementwise.h"

namespace candle {

// An axis of source and output: their sizes, source pixels per output pixel, and what is added to an output pixel
// before and subtracted from the product: half a pixel, where the edges are aligned instead of the centres of the
// corners.
struct Upsampling {
  size_t in, out;
  f64 scale, offset;
};

// What an output pixel is computed from along one axis: a source pixel.
template <class Index>
struct Nearest {
  static constexpr int max_width = 8;
  Index pixel;

  static __device__ Nearest at(Index out, const Upsampling &axis) {
    const size_t pixel = size_t(f64(out) * axis.scale);
    return {Index(pixel < axis.in ? pixel : axis.in - 1)};
  }
};

// The two source pixels on either side of an output pixel, and the weight of the second.
template <class Index>
struct Interpolation {
  static constexpr int max_width = 2;
  Index low, high;
  f64 weight;

  static __device__ Interpolation at(Index out, const Upsampling &axis) {
    f64 position = fma(axis.scale, f64(out) + axis.offset, -axis.offset);
    if (!(position > 0.0)) position = 0.0;
    const Index low = Index(position), last = Index(axis.in - 1), high = low < last ? low + 1 : last;
    f64 weight = position - f64(low);
    if (!(weight > 0.0)) weight = 0.0;
    if (weight > 1.0) weight = 1.0;
    return {low, high, weight};
  }
};

template <class T>
__device__ inline f64 to_f64(T x) {
  if constexpr (is_integer<T>) {
    return f64(x);
  } else {
    return f64(widen(x));
  }
}

__device__ inline f64 lerp(f64 a, f64 b, f64 weight) { return fma(a, 1.0 - weight, b * weight); }

// The output at a row and column of a plane, whose strides are row_stride and column_stride.
template <class Index, class T>
__device__ inline T sample(const T *plane, const Nearest<Index> &row, Index row_stride, const Nearest<Index> &column,
                           Index column_stride) {
  return plane[row.pixel * row_stride + column.pixel * column_stride];
}

// Neighbours of weight 0 are not skipped: 0 * inf is NaN.
template <class Index, class T>
__device__ inline T sample(const T *plane, const Interpolation<Index> &row, Index row_stride,
                           const Interpolation<Index> &column, Index column_stride) {
  const Index left = column.low * column_stride, right = column.high * column_stride;
  const T *top = plane + row.low * row_stride;
  const T *bottom = plane + row.high * row_stride;
  const f64 above = lerp(to_f64(top[left]), to_f64(top[right]), column.weight);
  const f64 below = lerp(to_f64(bottom[left]), to_f64(bottom[right]), column.weight);
  return convert<T>(lerp(above, below, row.weight));
}

// A thread computes `width` neighbours of a row at a time.
template <template <class> class Position, int width, class T>
__device__ inline void upsample_columns(const ColumnRange &range, const Upsampling &rows, const Upsampling &columns,
                                        const size_t *__restrict__ info, const T *__restrict__ src,
                                        T *__restrict__ dst) {
  const u32 s[4] = {u32(info[4]), u32(info[5]), u32(info[6]), u32(info[7])};
#pragma unroll 1
  for (u32 column = range.column; column < range.columns; column += range.column_step) {
    Position<u32> x[width];
#pragma unroll
    for (int k = 0; k < width; ++k) x[k] = Position<u32>::at(column * width + k, columns);
    Row row = range.first;
#pragma unroll 1
    do {
      const T *plane = src + (row.outer * s[0] + row.middle * s[1]);
      const auto y = Position<u32>::at(row.inner, rows);
      Pack<T, width> out;
#pragma unroll
      for (int k = 0; k < width; ++k) out.data[k] = sample(plane, y, s[2], x[k], s[3]);
      reinterpret_cast<Pack<T, width> *>(dst)[row.index * range.columns + column] = out;
    } while (range.advance(row));
  }
}

// rows are dimension 2 and columns dimension 3, whatever Candle calls them.
template <template <class> class Position, class T>
__device__ inline void upsample(const Upsampling &rows, const Upsampling &columns, const size_t *__restrict__ info,
                                const T *__restrict__ src, T *__restrict__ dst) {
  constexpr int in_16_bytes = 16 / sizeof(T), max_width = Position<u32>::max_width;
  constexpr int width = in_16_bytes < max_width ? in_16_bytes : max_width;
  const u32 shift = shift_for_few_active_blocks();
  const ActiveGrid grid = active_grid(shift);
  const size_t batches = info[0], channels = info[1], numel = batches * channels * rows.out * columns.out;
  size_t last = 0;
#pragma unroll
  for (int d = 0; d < 4; ++d) last += (info[d] - 1) * info[d + 4];
  if ((numel | last | thread_count()) >> 31) {
    for (size_t i = grid.first(); i < numel; i += grid.step()) {
      size_t b = i;
      const auto x = Position<size_t>::at(divide(b, columns.out, true), columns);
      const auto y = Position<size_t>::at(divide(b, rows.out, true), rows);
      const size_t c = divide(b, channels, true);
      dst[i] = sample(src + (b * info[4] + c * info[5]), y, info[6], x, info[7]);
    }
  } else if (numel > 0) {
    const bool in_packs = shift != 0 && columns.out % width == 0 && is_aligned<width>(dst);
    const ColumnRange range(grid, u32(columns.out) / (in_packs ? width : 1), batches, channels, rows.out);
    if (in_packs) {
      upsample_columns<Position, width>(range, rows, columns, info, src, dst);
    } else {
      upsample_columns<Position, 1>(range, rows, columns, info, src, dst);
    }
  }
}

template <class T>
__device__ inline void upsample_nearest2d(size_t w_out, size_t h_out, f64 w_scale, f64 h_scale,
                                          const size_t *__restrict__ info, const T *__restrict__ src,
                                          T *__restrict__ dst) {
  if (is_idle_of_few()) return;
  upsample<Nearest>({info[2], w_out, w_scale, 0.0}, {info[3], h_out, h_scale, 0.0}, info, src, dst);
}

__device__ inline Upsampling bilinear(size_t in, size_t out, bool align_corners, bool has_factor, f64 factor) {
  if (align_corners) return {in, out, out > 1 ? f64(in - 1) / f64(out - 1) : 0.0, 0.0};
  return {in, out, has_factor ? 1.0 / factor : f64(in) / f64(out), 0.5};
}

template <class T>
__device__ inline void upsample_bilinear2d(size_t w_out, size_t h_out, bool align_corners, bool has_scale_h,
                                           f64 scale_h_factor, bool has_scale_w, f64 scale_w_factor,
                                           const size_t *__restrict__ info, const T *__restrict__ src,
                                           T *__restrict__ dst) {
  if (is_idle_of_few()) return;
  upsample<Interpolation>(bilinear(info[2], h_out, align_corners, has_scale_h, scale_h_factor),
                          bilinear(info[3], w_out, align_corners, has_scale_w, scale_w_factor), info, src, dst);
}

}  // namespace candle
