// Convolutions, im2col and col2im, pooling and upsampling: one header of include/ for each.
#include "include/convolve.h"
#include "include/im2col.h"
#include "include/pool.h"
#include "include/upsample.h"

using namespace candle;

// The parameters are those of Candle; some are not used.
#pragma clang diagnostic ignored "-Wunused-parameter"

// num_dims is Candle's name for the length of the output.
#define CONV1D(T)                                                                                          \
  extern "C" __global__ void __launch_bounds__(1024, 1)                                                    \
      conv1d_##T(const size_t src_numel, const size_t num_dims, const size_t stride, const size_t padding, \
                 const size_t dilation, const size_t *info, const T *src, const T *kernel, T *dst) {       \
    convolve<Conv1d>(num_dims, 1, stride, padding, dilation, info, src, kernel, dst);                      \
  }

#define CONV2D(T)                                                                                                \
  extern "C" __global__ void __launch_bounds__(1024, 1) conv2d_##T(                                              \
      const size_t src_numel, const size_t w_out, const size_t h_out, const size_t stride, const size_t padding, \
      const size_t dilation, const size_t *info, const T *src, const T *kernel, T *dst) {                        \
    convolve<Conv2d>(w_out, h_out, stride, padding, dilation, info, src, kernel, dst);                           \
  }

#define CONV_TRANSPOSE1D(T)                                                                                            \
  extern "C" __global__ void __launch_bounds__(1024, 1) conv_transpose1d_##T(                                          \
      const size_t src_numel, const size_t l_out, const size_t stride, const size_t padding, const size_t out_padding, \
      const size_t dilation, const size_t *info, const T *src, const T *kernel, T *dst) {                              \
    convolve<ConvTranspose1d>(l_out, 1, stride, padding, dilation, info, src, kernel, dst);                            \
  }

#define CONV_TRANSPOSE2D(T)                                                                                         \
  extern "C" __global__ void __launch_bounds__(1024, 1) conv_transpose2d_##T(                                       \
      const size_t src_numel, const size_t w_out, const size_t h_out, const size_t stride, const size_t padding,    \
      const size_t out_padding, const size_t dilation, const size_t *info, const T *src, const T *kernel, T *dst) { \
    convolve<ConvTranspose2d>(w_out, h_out, stride, padding, dilation, info, src, kernel, dst);                     \
  }

#define AVG_POOL2D(T)                                                                                   \
  extern "C" __global__ void __launch_bounds__(1024, 2)                                                 \
      avg_pool2d_##T(const size_t src_numel, const size_t w_k, const size_t h_k, const size_t w_stride, \
                     const size_t h_stride, const size_t *info, const T *src, T *dst) {                 \
    pool2d<Average>(w_k, h_k, w_stride, h_stride, info, src, dst);                                      \
  }

#define MAX_POOL2D(T)                                                                                   \
  extern "C" __global__ void __launch_bounds__(1024, 2)                                                 \
      max_pool2d_##T(const size_t src_numel, const size_t w_k, const size_t h_k, const size_t w_stride, \
                     const size_t h_stride, const size_t *info, const T *src, T *dst) {                 \
    pool2d<Maximum>(w_k, h_k, w_stride, h_stride, info, src, dst);                                      \
  }

#define UPSAMPLE_NEAREST2D(T)                                                                              \
  extern "C" __global__ void __launch_bounds__(1024, 2)                                                    \
      upsample_nearest2d_##T(const size_t w_out, const size_t h_out, const f64 w_scale, const f64 h_scale, \
                             const size_t *info, const T *src, T *dst) {                                   \
    upsample_nearest2d(w_out, h_out, w_scale, h_scale, info, src, dst);                                    \
  }

#define UPSAMPLE_BILINEAR2D(T)                                                                                       \
  extern "C" __global__ void __launch_bounds__(1024, 2)                                                              \
      upsample_bilinear2d_##T(const size_t w_out, const size_t h_out, const bool align_corners,                      \
                              const bool has_scale_h, const f64 scale_h_factor, const bool has_scale_w,              \
                              const f64 scale_w_factor, const size_t *info, const T *src, T *dst) {                  \
    upsample_bilinear2d(w_out, h_out, align_corners, has_scale_h, scale_h_factor, has_scale_w, scale_w_factor, info, \
                        src, dst);                                                                                   \
  }

#define IM2COL(T)                                                                                                   \
  extern "C" __global__ void __launch_bounds__(1024, 2) im2col_##T(                                                 \
      const size_t dst_numel, const size_t h_out, const size_t w_out, const size_t h_k, const size_t w_k,           \
      const size_t stride, const size_t padding, const size_t dilation, const size_t *info, const T *src, T *dst) { \
    im2col2d(h_out, w_out, h_k, w_k, stride, padding, dilation, info, src, dst);                                    \
  }

#define IM2COL1D(T)                                                                                         \
  extern "C" __global__ void __launch_bounds__(1024, 2)                                                     \
      im2col1d_##T(const size_t dst_numel, const size_t l_out, const size_t l_k, const size_t stride,       \
                   const size_t padding, const size_t dilation, const size_t *info, const T *src, T *dst) { \
    im2col1d(l_out, l_k, stride, padding, dilation, info, src, dst);                                        \
  }

#define COL2IM1D(T)                                                                                \
  extern "C" __global__ void __launch_bounds__(1024)                                               \
      col2im1d_##T(const size_t dst_el, const size_t l_out, const size_t l_in, const size_t c_out, \
                   const size_t k_size, const size_t stride, const T *src, T *dst) {               \
    col2im1d(dst_el, l_out, l_in, c_out, k_size, stride, src, dst);                                \
  }

// clang-format off
CONV1D(bf16) CONV1D(f16) CONV1D(f32) CONV1D(f64) CONV1D(u8) CONV1D(u32)
CONV2D(bf16) CONV2D(f16) CONV2D(f32) CONV2D(f64) CONV2D(u8) CONV2D(u32)
CONV_TRANSPOSE1D(bf16) CONV_TRANSPOSE1D(f16) CONV_TRANSPOSE1D(f32) CONV_TRANSPOSE1D(f64)
CONV_TRANSPOSE1D(u8) CONV_TRANSPOSE1D(u32)
CONV_TRANSPOSE2D(bf16) CONV_TRANSPOSE2D(f16) CONV_TRANSPOSE2D(f32) CONV_TRANSPOSE2D(f64)
CONV_TRANSPOSE2D(u8) CONV_TRANSPOSE2D(u32)
AVG_POOL2D(bf16) AVG_POOL2D(f16) AVG_POOL2D(f32) AVG_POOL2D(f64) AVG_POOL2D(u8) AVG_POOL2D(u32)
MAX_POOL2D(bf16) MAX_POOL2D(f16) MAX_POOL2D(f32) MAX_POOL2D(f64) MAX_POOL2D(u8) MAX_POOL2D(u32)
UPSAMPLE_NEAREST2D(bf16) UPSAMPLE_NEAREST2D(f16) UPSAMPLE_NEAREST2D(f32) UPSAMPLE_NEAREST2D(f64)
UPSAMPLE_NEAREST2D(u8) UPSAMPLE_NEAREST2D(u32)
UPSAMPLE_BILINEAR2D(bf16) UPSAMPLE_BILINEAR2D(f16) UPSAMPLE_BILINEAR2D(f32) UPSAMPLE_BILINEAR2D(f64)
UPSAMPLE_BILINEAR2D(u8) UPSAMPLE_BILINEAR2D(u32)
IM2COL(bf16) IM2COL(f16) IM2COL(f32) IM2COL(f64) IM2COL(u8) IM2COL(u32)
IM2COL1D(bf16) IM2COL1D(f16) IM2COL1D(f32) IM2COL1D(f64) IM2COL1D(u8) IM2COL1D(u32)
COL2IM1D(bf16) COL2IM1D(f16) COL2IM1D(f32) COL2IM1D(f64) COL2IM1D(u8) COL2IM1D(u32)
    // clang-format on
