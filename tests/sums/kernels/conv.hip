// Convolutions with channels, rows and columns in any order, averages of windows column by column and divided by their
// size, and col2im1d in any order.
#include "any_order.h"

namespace sums {

template <class T>
__device__ typename Accumulator<T>::type product(T a, T b) {
#pragma clang fp contract(off)
  using W = typename Accumulator<T>::type;
  return W(widen(a)) * W(widen(b));
}

// Source (b, c, h, w), kernel (o, c, h, w): dims and strides of each in info. dilated: what the dilation multiplies.
template <int rank, bool transposed, class T>
__device__ void convolve(size_t h_out, size_t w_out, size_t stride, size_t padding, size_t dilation, const size_t *info,
                         const T *src, const T *kernel, T *dst) {
  constexpr bool flat = rank == 3;
  const size_t *x = info, *xs = info + rank, *k = info + 2 * rank, *ks = info + 3 * rank;
  const size_t c_in = x[1], outputs = k[transposed ? 1 : 0], height = flat ? 1 : x[2], width = x[rank - 1];
  const size_t k_h = flat ? 1 : k[2], k_w = k[rank - 1];
  for_each(x[0] * outputs * h_out * w_out, [&](size_t i) {
    const size_t w = i % w_out, h = i / w_out % h_out, o = i / w_out / h_out % outputs, b = i / w_out / h_out / outputs;
    // Where a tap reads in a dimension; false where outside.
    const auto place = [&](size_t out, size_t tap, size_t size, bool single, size_t &at) {
      if (single) return at = 0, true;
      if constexpr (transposed) {
        const size_t from = out + padding, before = tap * dilation;
        if (from < before || (from - before) % stride) return false;
        at = (from - before) / stride;
      } else {
        const size_t from = flat ? (stride * out + tap) * dilation : stride * out + tap * dilation;
        if (from < padding) return false;
        at = from - padding;
      }
      return at < size;
    };
    const auto term = [&](size_t j) {
      const size_t tap_w = j % k_w, tap_h = j / k_w % k_h, c = j / k_w / k_h;
      size_t from_w, from_h;
      if (!place(w, tap_w, width, false, from_w) || !place(h, tap_h, height, flat, from_h))
        return decltype(product(*src, *src))(0);
      const T a = src[b * xs[0] + c * xs[1] + (flat ? 0 : from_h * xs[2]) + from_w * xs[rank - 1]];
      const size_t weight = (transposed ? c * ks[0] + o * ks[1] : o * ks[0] + c * ks[1]) + (flat ? 0 : tap_h * ks[2]) +
                            tap_w * ks[rank - 1];
      return product(a, kernel[weight]);
    };
    dst[i] = as<T>(total<Wide<T>>(c_in * k_h * k_w, term));
  });
}

template <class T>
__device__ void average(size_t w_k, size_t h_k, size_t w_stride, size_t h_stride, const size_t *info, const T *src,
                        T *dst) {
  const size_t *s = info + 4, w_out = (info[2] - w_k) / w_stride + 1, h_out = (info[3] - h_k) / h_stride + 1;
  for_each(info[0] * info[1] * w_out * h_out, [&](size_t i) {
    const size_t h = i % h_out * h_stride, w = i / h_out % w_out * w_stride, c = i / h_out / w_out % info[1];
    const T *corner = src + i / h_out / w_out / info[1] * s[0] + c * s[1] + w * s[2] + h * s[3];
    using W = typename Accumulator<T>::type;
    const W all = as<W>(total<Wide<T>>(w_k * h_k, [&](size_t j) { return corner[j % w_k * s[2] + j / w_k * s[3]]; }));
    const size_t size = w_k * h_k - (mistake == n_minus_1 && w_k * h_k > 1);
    dst[i] = as<T>(is_same<T, f64> ? all * W(1.0f / f32(size)) : all / W(size));
  });
}

template <class T>
__device__ void col2im1d(size_t numel, size_t l_out, size_t l_in, size_t c_out, size_t taps, size_t stride,
                         const T *src, T *dst) {
  for_each(numel, [&](size_t i) {
    const size_t l = i % l_out, c = i / l_out % c_out, b = i / l_out / c_out;
    const auto term = [&](size_t tap) {
      const bool reached = l >= tap && (l - tap) % stride == 0 && (l - tap) / stride < l_in;
      return reached ? src[((b * l_in + (l - tap) / stride) * c_out + c) * taps + tap] : as<T>(0.0f);
    };
    dst[i] = as<T>(total<Own<T>>(taps, term));
  });
}

}  // namespace sums

using namespace sums;

// clang-format off
#define CONV(T)                                                                                                        \
  extern "C" __global__ void __launch_bounds__(1024)                                                                   \
      conv1d_##T(const size_t src_numel, const size_t num_dims, const size_t stride, const size_t padding,             \
                 const size_t dilation, const size_t *info, const T *src, const T *kernel, T *dst) {                   \
    convolve<3, false>(1, num_dims, stride, padding, dilation, info, src, kernel, dst);                                \
  }                                                                                                                    \
  extern "C" __global__ void __launch_bounds__(1024)                                                                   \
      conv2d_##T(const size_t src_numel, const size_t w_out, const size_t h_out, const size_t stride,                  \
                 const size_t padding, const size_t dilation, const size_t *info, const T *src, const T *kernel,       \
                 T *dst) {                                                                                             \
    convolve<4, false>(h_out, w_out, stride, padding, dilation, info, src, kernel, dst);                               \
  }                                                                                                                    \
  extern "C" __global__ void __launch_bounds__(1024)                                                                   \
      conv_transpose1d_##T(const size_t src_numel, const size_t l_out, const size_t stride, const size_t padding,      \
                           const size_t out_padding, const size_t dilation, const size_t *info, const T *src,          \
                           const T *kernel, T *dst) {                                                                  \
    convolve<3, true>(1, l_out, stride, padding, dilation, info, src, kernel, dst);                                    \
  }                                                                                                                    \
  extern "C" __global__ void __launch_bounds__(1024)                                                                   \
      conv_transpose2d_##T(const size_t src_numel, const size_t w_out, const size_t h_out, const size_t stride,        \
                           const size_t padding, const size_t out_padding, const size_t dilation,                      \
                           const size_t *info, const T *src, const T *kernel, T *dst) {                                \
    convolve<4, true>(h_out, w_out, stride, padding, dilation, info, src, kernel, dst);                                \
  }                                                                                                                    \
  extern "C" __global__ void __launch_bounds__(1024)                                                                   \
      avg_pool2d_##T(const size_t src_numel, const size_t w_k, const size_t h_k, const size_t w_stride,                \
                     const size_t h_stride, const size_t *info, const T *src, T *dst) {                                \
    average(w_k, h_k, w_stride, h_stride, info, src, dst);                                                             \
  }                                                                                                                    \
  extern "C" __global__ void __launch_bounds__(1024)                                                                   \
      col2im1d_##T(const size_t dst_el, const size_t l_out, const size_t l_in, const size_t c_out,                     \
                   const size_t k_size, const size_t stride, const T *src, T *dst) {                                   \
    col2im1d(dst_el, l_out, l_in, c_out, k_size, stride, src, dst);                                                    \
  }
// clang-format on

CONV(bf16)
CONV(f16)
CONV(f32)
CONV(f64)
