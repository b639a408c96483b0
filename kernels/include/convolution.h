// A convolution or its transpose, as kernels are given it, and what all ways of computing it share.
//
// info is the dims and strides of the source, then those of the kernel: (b, c, l) and (c_out, c_in, k), in two
// dimensions (b, c, h, w) and (c_out, c_in, h, w); the kernel of a transpose has c_in before c_out. The output is
// contiguous. Positions are unsigned: one before the source wraps around to a number beyond it, so that a single
// comparison checks both bounds.
#pragma once

#include "arithmetic.h"
#include "elementwise.h"

namespace candle {

// The accumulator type: f32 for the 16-bit floats, T itself otherwise, so that u8 wraps at 256.
template <class T>
struct sum_type {
  using type = T;
};
template <>
struct sum_type<f16> {
  using type = f32;
};
template <>
struct sum_type<bf16> {
  using type = f32;
};
template <class T>
using SumType = typename sum_type<T>::type;

template <class T>
__device__ inline SumType<T> to_sum(T x) {
  if constexpr (is_integer<T>) {
    return x;
  } else {
    return widen(x);
  }
}

template <class T>
__device__ inline T from_sum(SumType<T> sum) {
  if constexpr (is_integer<T>) {
    return sum;
  } else {
    return narrow<T>(sum);
  }
}

// Floats round once per call.
template <class T>
__device__ inline SumType<T> multiply_add(SumType<T> sum, T x, T y) {
  if constexpr (is_integer<T>) {
    return T(u32(x) * u32(y) + u32(sum));
  } else {
    return fma(to_sum(x), to_sum(y), sum);
  }
}

// One dimension of the source, the kernel and the output: sizes, memory strides of source and kernel, and the
// parameters of the convolution.
template <class Index>
struct Axis {
  Index in, out, in_stride, tap_stride;
  u32 taps, stride, padding, dilation;
};

// The second dimension of a one-dimensional convolution.
constexpr Axis<size_t> unit_axis{1, 1, 0, 0, 1, 1, 0, 1};

template <class Index>
struct Convolution {
  Index batches, channels, c_out;
  Index batch_stride, in_channel_stride;            // strides of the source
  Index out_channel_stride, kernel_channel_stride;  // strides of the kernel
  Axis<Index> h, w;
};

__device__ inline Axis<u32> narrowed(const Axis<size_t> &a) {
  return {u32(a.in), u32(a.out), u32(a.in_stride), u32(a.tap_stride), a.taps, a.stride, a.padding, a.dilation};
}

__device__ inline Convolution<u32> narrowed(const Convolution<size_t> &conv) {
  return {u32(conv.batches),
          u32(conv.channels),
          u32(conv.c_out),
          u32(conv.batch_stride),
          u32(conv.in_channel_stride),
          u32(conv.out_channel_stride),
          u32(conv.kernel_channel_stride),
          narrowed(conv.h),
          narrowed(conv.w)};
}

// An upper bound of every index that convolve computes along an axis; offsets in source and kernel are bounded by
// fits_32_bits.
__device__ inline size_t max_index(const Axis<size_t> &a) {
  return (a.out + a.stride) * a.stride + a.padding + size_t(a.taps) * a.dilation;
}

__device__ inline bool fits_32_bits(const Convolution<size_t> &conv, size_t tile) {
  const size_t source = conv.batches * conv.batch_stride + conv.channels * conv.in_channel_stride +
                        conv.h.in * conv.h.in_stride + conv.w.in * conv.w.in_stride;
  const size_t kernel = conv.c_out * conv.out_channel_stride + conv.channels * conv.kernel_channel_stride +
                        conv.h.taps * conv.h.tap_stride + conv.w.taps * conv.w.tap_stride;
  const size_t outputs =
      conv.batches * (conv.c_out + tile) * (conv.h.out + conv.h.stride) * (conv.w.out + conv.w.stride);
  return !((source | kernel | outputs | max_index(conv.h) | max_index(conv.w)) >> 32);
}

template <class Index>
struct DivMod {
  Index quotient, remainder;
};

template <class Index>
__device__ inline DivMod<Index> div_mod(Index i, Index d) {
  const Index quotient = i / d;
  return {quotient, i - quotient * d};
}

// The output positions of a transpose are ordered by their remainder modulo the stride: neighbours then use the same
// taps.
template <bool transposed, class Index>
__device__ inline Index position_count(const Axis<Index> &axis) {
  return transposed ? (axis.out + axis.stride - 1) / axis.stride * axis.stride : axis.out;
}

template <bool transposed, class Index>
__device__ inline Index position_of(Index i, const Axis<Index> &axis) {
  if (!transposed || axis.stride == 1) return i;
  const auto [remainder, index] = div_mod(i, (axis.out + axis.stride - 1) / axis.stride);
  return index * axis.stride + remainder;
}

// The source position that a tap of an output position reads, or one beyond every source.
template <bool transposed, class Index>
__device__ inline Index source_position(Index position, u32 tap, const Axis<Index> &axis) {
  if (!transposed) return position * axis.stride + Index(tap) * axis.dilation - axis.padding;
  const Index padded = position + axis.padding, tap_offset = Index(tap) * axis.dilation;
  if (padded < tap_offset) return ~Index(0);
  const auto [quotient, remainder] = div_mod(padded - tap_offset, Index(axis.stride));
  return remainder == 0 ? quotient : ~Index(0);
}

// Unroll count of the loop over the input channels. LLVM for AMD GPUs sums integers in any order, which takes more
// registers; outputs that need 64-bit offsets are rare, and their strides already fill the scalar registers there.
template <class T, class Index>
constexpr int channel_unroll = target::on_amd && sizeof(Index) == 8 ? 1 : 4;
template <>
constexpr int channel_unroll<u32, u32> = target::on_amd ? 2 : 4;

// One tap of a tile: the products over the input channels, in order. x and k are the offsets of the positions and
// channels of the tile.
template <class T, class Index, int channels, int positions>
__device__ inline void accumulate_channels(SumType<T> (&sums)[channels][positions], const Convolution<Index> &conv,
                                           const T *src, const Index (&x)[positions], const T *kernel,
                                           const Index (&k)[channels]) {
  constexpr int unroll_count = channel_unroll<T, Index>;
#pragma clang loop vectorize(disable)  // vectorized sums of integers need more registers than there are
#pragma unroll unroll_count
  for (Index c = 0; c < conv.channels; ++c) {
    T value[positions], weight[channels];
#pragma unroll
    for (int j = 0; j < positions; ++j) value[j] = src[x[j] + c * conv.in_channel_stride];
#pragma unroll
    for (int i = 0; i < channels; ++i) weight[i] = kernel[k[i] + c * conv.kernel_channel_stride];
#pragma unroll
    for (int i = 0; i < channels; ++i) {
#pragma unroll
      for (int j = 0; j < positions; ++j) sums[i][j] = multiply_add<T>(sums[i][j], value[j], weight[i]);
    }
  }
}

}  // namespace candle
