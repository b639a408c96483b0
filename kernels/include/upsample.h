// Upsampling of a four-dimensional source to a contiguous output. info is the dims and strides of the source. Positions
// are computed in f64, as Candle does: with f32 or integers some sizes give other pixels.
#pragma once

#include "convert.h"
#include "elementwise.h"

namespace candle {

__device__ inline size_t nearest(size_t pixel, f64 scale, size_t size) {
  const size_t from = size_t(f64(pixel) * scale);
  return from < size ? from : size - 1;
}

// "w" is dimension 2 and "h" dimension 3.
template <class T>
__device__ inline void upsample_nearest2d(size_t w_out, size_t h_out, f64 w_scale, f64 h_scale,
                                          const size_t *__restrict__ info, const T *__restrict__ src,
                                          T *__restrict__ dst) {
  const size_t channels = info[1], width = info[2], height = info[3];
  const size_t *s = info + 4;
  const size_t numel = info[0] * channels * w_out * h_out;
  const bool wide = numel >> 32;
  const size_t step = thread_count();
  for (size_t i = thread_index(); i < numel; i += step) {
    size_t b = i;
    const size_t h = nearest(divide(b, h_out, wide), h_scale, height);
    const size_t w = nearest(divide(b, w_out, wide), w_scale, width);
    const size_t c = divide(b, channels, wide);
    dst[i] = src[b * s[0] + c * s[1] + w * s[2] + h * s[3]];
  }
}

// Source pixels per output pixel.
__device__ inline f64 bilinear_scale(size_t in, size_t out, bool align_corners, bool has_factor, f64 factor) {
  if (align_corners) return out > 1 ? f64(in - 1) / f64(out - 1) : 0.0;
  return has_factor ? 1.0 / factor : f64(in) / f64(out);
}

// The two source pixels on either side of an output pixel, and the weight of the second.
struct Interpolation {
  size_t low, high;
  f64 weight;
};

__device__ inline Interpolation interpolation_at(size_t pixel, f64 scale, size_t size, bool align_corners) {
  f64 position = align_corners ? scale * f64(pixel) : fma(scale, f64(pixel) + 0.5, -0.5);
  if (!(position > 0.0)) position = 0.0;
  const size_t low = size_t(position);
  const size_t high = low + 1 < size ? low + 1 : size - 1;
  f64 weight = position - f64(low);
  if (!(weight > 0.0)) weight = 0.0;
  if (weight > 1.0) weight = 1.0;
  return Interpolation{low, high, weight};
}

template <class T>
__device__ inline f64 to_f64(T x) {
  if constexpr (is_integer<T>) {
    return f64(x);
  } else {
    return f64(widen(x));
  }
}

__device__ inline f64 lerp(f64 a, f64 b, f64 weight) { return fma(a, 1.0 - weight, b * weight); }

// The source is (b, c, h, w). Neighbours of weight 0 are not skipped: 0 * inf is NaN.
template <class T>
__device__ inline void upsample_bilinear2d(size_t w_out, size_t h_out, bool align_corners, bool has_scale_h,
                                           f64 scale_h_factor, bool has_scale_w, f64 scale_w_factor,
                                           const size_t *__restrict__ info, const T *__restrict__ src,
                                           T *__restrict__ dst) {
  const size_t channels = info[1], height = info[2], width = info[3];
  const size_t *s = info + 4;
  const f64 h_scale = bilinear_scale(height, h_out, align_corners, has_scale_h, scale_h_factor);
  const f64 w_scale = bilinear_scale(width, w_out, align_corners, has_scale_w, scale_w_factor);
  const size_t numel = info[0] * channels * w_out * h_out;
  const bool wide = numel >> 32;
  const size_t step = thread_count();
  for (size_t i = thread_index(); i < numel; i += step) {
    size_t b = i;
    const Interpolation x = interpolation_at(divide(b, w_out, wide), w_scale, width, align_corners);
    const Interpolation y = interpolation_at(divide(b, h_out, wide), h_scale, height, align_corners);
    const size_t c = divide(b, channels, wide);
    const T *plane = src + b * s[0] + c * s[1];
    const T *top = plane + y.low * s[2];
    const T *bottom = plane + y.high * s[2];
    const f64 above = lerp(to_f64(top[x.low * s[3]]), to_f64(top[x.high * s[3]]), x.weight);
    const f64 below = lerp(to_f64(bottom[x.low * s[3]]), to_f64(bottom[x.high * s[3]]), x.weight);
    dst[i] = convert<T>(lerp(above, below, y.weight));
  }
}

}  // namespace candle
