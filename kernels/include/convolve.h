// Direct convolutions and their transposes. Candle launches a thread per output; here a thread computes a tile of them,
// so that each value it loads serves several products, and some threads of every block have nothing to do.
//
// info is the dims and strides of the source, then those of the kernel: (b, c, l) and (c_out, c_in, k), in two
// dimensions (b, c, h, w) and (c_out, c_in, h, w); a transpose's kernel has c_in before c_out. The output is
// contiguous. Unsigned positions: one before the source wraps to a number beyond it, so that a single comparison finds
// both.
#pragma once

#include "arithmetic.h"
#include "elementwise.h"

namespace candle {

// What a sum of T is kept in: f32 for the 16-bit floats, T itself otherwise, so that u8 wraps at 256.
template <class T>
struct sum_of {
  using type = T;
};
template <>
struct sum_of<f16> {
  using type = f32;
};
template <>
struct sum_of<bf16> {
  using type = f32;
};
template <class T>
using Sum_of = typename sum_of<T>::type;

template <class T>
__device__ inline Sum_of<T> to_sum(T x) {
  if constexpr (is_integer<T>) {
    return x;
  } else {
    return widen(x);
  }
}

template <class T>
__device__ inline T from_sum(Sum_of<T> sum) {
  if constexpr (is_integer<T>) {
    return sum;
  } else {
    return narrow<T>(sum);
  }
}

// Floats round once per step.
template <class T>
__device__ inline Sum_of<T> plus_product(Sum_of<T> sum, T x, T y) {
  if constexpr (is_integer<T>) {
    return T(u32(x) * u32(y) + u32(sum));
  } else {
    return fma(to_sum(x), to_sum(y), sum);
  }
}

// One dimension of the source, the kernel and the output. Steps are the strides of source and kernel.
template <class Index>
struct Axis {
  Index in, out, in_step, tap_step;
  u32 taps, stride, padding, dilation;
};

// A dimension of one element, for a convolution in one.
constexpr Axis<size_t> flat{1, 1, 0, 0, 1, 1, 0, 1};

template <class Index>
struct Convolution {
  Index batches, channels, c_out;
  Index batch_step, in_channel_step;            // of the source
  Index out_channel_step, kernel_channel_step;  // of the kernel
  Axis<Index> h, w;
};

__device__ inline Axis<u32> narrowed(const Axis<size_t> &a) {
  return {u32(a.in), u32(a.out), u32(a.in_step), u32(a.tap_step), a.taps, a.stride, a.padding, a.dilation};
}

__device__ inline Convolution<u32> narrowed(const Convolution<size_t> &of) {
  return {u32(of.batches),
          u32(of.channels),
          u32(of.c_out),
          u32(of.batch_step),
          u32(of.in_channel_step),
          u32(of.out_channel_step),
          u32(of.kernel_channel_step),
          narrowed(of.h),
          narrowed(of.w)};
}

// Every number that convolve computes of an axis, and the offsets in source and kernel, are less than this.
__device__ inline size_t reach(const Axis<size_t> &a) {
  return (a.out + a.stride) * a.stride + a.padding + size_t(a.taps) * a.dilation;
}

__device__ inline bool fits_32_bits(const Convolution<size_t> &of, size_t tile) {
  const size_t source =
      of.batches * of.batch_step + of.channels * of.in_channel_step + of.h.in * of.h.in_step + of.w.in * of.w.in_step;
  const size_t kernel = of.c_out * of.out_channel_step + of.channels * of.kernel_channel_step +
                        of.h.taps * of.h.tap_step + of.w.taps * of.w.tap_step;
  const size_t outputs = of.batches * (of.c_out + tile) * (of.h.out + of.h.stride) * (of.w.out + of.w.stride);
  return !((source | kernel | outputs | reach(of.h) | reach(of.w)) >> 32);
}

template <class Index>
struct Division {
  Index quotient, remainder;
};

template <class Index>
__device__ inline Division<Index> divided(Index i, Index d) {
  const Index quotient = i / d;
  return {quotient, i - quotient * d};
}

// Outputs of a transpose are counted by the remainder of their division by the stride: neighbours have the same taps.
template <bool transposed, class Index>
__device__ inline Index places(const Axis<Index> &axis) {
  return transposed ? (axis.out + axis.stride - 1) / axis.stride * axis.stride : axis.out;
}

template <bool transposed, class Index>
__device__ inline Index place(Index i, const Axis<Index> &axis) {
  if (!transposed || axis.stride == 1) return i;
  const auto [remainder, index] = divided(i, (axis.out + axis.stride - 1) / axis.stride);
  return index * axis.stride + remainder;
}

// The source position that a tap takes to an output, or one beyond every source.
template <bool transposed, class Index>
__device__ inline Index source_of(Index place, u32 tap, const Axis<Index> &axis) {
  if (!transposed) return place * axis.stride + Index(tap) * axis.dilation - axis.padding;
  const Index to = place + axis.padding, reach = Index(tap) * axis.dilation;
  if (to < reach) return ~Index(0);
  const auto [position, remainder] = divided(to - reach, Index(axis.stride));
  return remainder == 0 ? position : ~Index(0);
}

// One tap of a tile: the products over the input channels, in order. x and k are where the tile's positions and
// channels begin.
template <class T, class Index, int channels, int positions>
__device__ inline void over_channels(Sum_of<T> (&sums)[channels][positions], const Convolution<Index> &of, const T *src,
                                     const Index (&x)[positions], const T *kernel, const Index (&k)[channels]) {
#pragma clang loop vectorize(disable)  // sums of integers, in any order, would take more registers than there are
#pragma unroll 4
  for (Index c = 0; c < of.channels; ++c) {
    T value[positions], weight[channels];
#pragma unroll
    for (int j = 0; j < positions; ++j) value[j] = src[x[j] + c * of.in_channel_step];
#pragma unroll
    for (int i = 0; i < channels; ++i) weight[i] = kernel[k[i] + c * of.kernel_channel_step];
#pragma unroll
    for (int i = 0; i < channels; ++i) {
#pragma unroll
      for (int j = 0; j < positions; ++j) sums[i][j] = plus_product<T>(sums[i][j], value[j], weight[i]);
    }
  }
}

// The tiles of a thread: from `first` on, every step-th.
struct Share {
  size_t first, step;
  bool none;
};

// As much of a tile as registers hold.
constexpr int tile_channels = 4;
template <class T>
constexpr int tile_positions = sizeof(T) == 8 ? 1 : 2;

// A tile-th of the threads work: whole blocks, as long as there are enough of them for every multiprocessor of a large
// GPU, and with fewer blocks a part of more of them. The others must not wait for them.
constexpr u32 enough_blocks = 128;  // multiprocessors

template <u32 log_tile>
__device__ inline Share share_of_tiles() {
  u32 part = 0;  // a block's threads, halved so often, work
  while (part < log_tile && gridDim.x >> (log_tile - part) < enough_blocks) ++part;
  const u32 one_in = 1u << (log_tile - part), threads = (blockDim.x + (1u << part) - 1) >> part;
  const u32 blocks = (gridDim.x + one_in - 1) >> (log_tile - part);
  if (blockIdx.x % one_in != 0 || threadIdx.x >= threads) return {0, 0, true};
  return {size_t(blockIdx.x / one_in) * threads + threadIdx.x, size_t(blocks) * threads, false};
}

// A tile is neighbouring output channels of positions that lie their number's fraction of all positions apart.
template <bool transposed, int channels, int positions, class Index, class T>
__device__ inline void convolve(const Convolution<Index> &of, const Share &share, const T *__restrict__ src,
                                const T *__restrict__ kernel, T *__restrict__ dst) {
  const Index h_places = places<transposed>(of.h), w_places = places<transposed>(of.w);
  const Index all = of.batches * h_places * w_places;
  const Index apart = (all + positions - 1) / positions;
  const Index tiles = (of.c_out + channels - 1) / channels * apart;
  for (size_t i = share.first; i < tiles; i += share.step) {
    const auto [group, first] = divided(Index(i), apart);
    const Index c = group * channels;
    Index from[positions], x[positions], y[positions], to[positions];
    bool exists[positions];
#pragma unroll
    for (int j = 0; j < positions; ++j) {
      const auto [row, w] = divided(first + j * apart, w_places);
      const auto [b, h] = divided(row, h_places);
      x[j] = place<transposed>(w, of.w);
      y[j] = place<transposed>(h, of.h);
      exists[j] = b < of.batches && x[j] < of.w.out && y[j] < of.h.out;
      from[j] = b * of.batch_step;
      to[j] = ((b * of.c_out + c) * of.h.out + y[j]) * of.w.out + x[j];
    }
    Sum_of<T> sums[channels][positions] = {};
#pragma unroll 1
    for (u32 w = 0; w < of.w.taps; ++w) {
#pragma unroll 1
      for (u32 h = 0; h < of.h.taps; ++h) {
        Index at[positions], weights[channels];
        bool reached[positions], all_reached = true;
#pragma unroll
        for (int j = 0; j < positions; ++j) {
          const Index in_x = source_of<transposed>(x[j], w, of.w), in_y = source_of<transposed>(y[j], h, of.h);
          reached[j] = exists[j] && in_x < of.w.in && in_y < of.h.in;
          all_reached &= reached[j];
          at[j] = from[j] + in_y * of.h.in_step + in_x * of.w.in_step;
        }
#pragma unroll
        for (int k = 0; k < channels; ++k) {  // a channel beyond the last is computed as the last, and not stored
          const Index channel = c + k < of.c_out ? c + k : of.c_out - 1;
          weights[k] = channel * of.out_channel_step + h * of.h.tap_step + w * of.w.tap_step;
        }
        if (all_reached) {
          over_channels(sums, of, src, at, kernel, weights);
          continue;
        }
        if constexpr (positions > 1) {
#pragma unroll
          for (int j = 0; j < positions; ++j) {
            if (!reached[j]) continue;
            const Index alone[1] = {at[j]};
            Sum_of<T> own[channels][1];
#pragma unroll
            for (int k = 0; k < channels; ++k) own[k][0] = sums[k][j];
            over_channels(own, of, src, alone, kernel, weights);
#pragma unroll
            for (int k = 0; k < channels; ++k) sums[k][j] = own[k][0];
          }
        }
      }
    }
#pragma unroll
    for (int k = 0; k < channels; ++k) {
#pragma unroll
      for (int j = 0; j < positions; ++j) {
        if (exists[j] && c + k < of.c_out) dst[to[j] + k * of.h.out * of.w.out] = from_sum<T>(sums[k][j]);
      }
    }
  }
}

// What a kernel's parameters describe; h_out is 1 in one dimension.
struct Conv1d {
  static constexpr bool transposed = false;

  // Candle multiplies the whole position by the dilation, which is a convolution for a dilation of 1 only.
  static __device__ Convolution<size_t> describe(size_t w_out, size_t, size_t stride, size_t padding, size_t dilation,
                                                 const size_t *__restrict__ info) {
    const Axis<size_t> w{info[2],      w_out,        info[5], info[11], u32(info[8]), u32(stride * dilation),
                         u32(padding), u32(dilation)};
    return {info[0], info[1], info[6], info[3], info[4], info[9], info[10], flat, w};
  }
};

struct ConvTranspose1d {
  static constexpr bool transposed = true;

  static __device__ Convolution<size_t> describe(size_t w_out, size_t, size_t stride, size_t padding, size_t dilation,
                                                 const size_t *__restrict__ info) {
    const Axis<size_t> w{info[2], w_out, info[5], info[11], u32(info[8]), u32(stride), u32(padding), u32(dilation)};
    return {info[0], info[1], info[7], info[3], info[4], info[10], info[9], flat, w};
  }
};

template <bool is_transposed>
struct AnyConv2d {
  static constexpr bool transposed = is_transposed;

  static __device__ Convolution<size_t> describe(size_t w_out, size_t h_out, size_t stride, size_t padding,
                                                 size_t dilation, const size_t *__restrict__ info) {
    const Axis<size_t> h{info[2], h_out, info[6], info[14], u32(info[10]), u32(stride), u32(padding), u32(dilation)};
    const Axis<size_t> w{info[3], w_out, info[7], info[15], u32(info[11]), u32(stride), u32(padding), u32(dilation)};
    const size_t out = transposed ? 1 : 0;  // which dimension of the kernel is of output channels
    return {info[0], info[1], info[8 + out], info[4], info[5], info[12 + out], info[13 - out], h, w};
  }
};

using Conv2d = AnyConv2d<false>;
using ConvTranspose2d = AnyConv2d<true>;

template <class Kind, class T>
__device__ inline void convolve(size_t w_out, size_t h_out, size_t stride, size_t padding, size_t dilation,
                                const size_t *__restrict__ info, const T *src, const T *kernel, T *dst) {
  constexpr u32 log_tile = sizeof(T) == 8 ? 2 : 3, log_small = 1;
  static_assert(1 << log_tile == tile_channels * tile_positions<T>, "a power of two");
  const bool few = gridDim.x <= 2 * enough_blocks;
  const Share share = few ? share_of_tiles<log_small>() : share_of_tiles<log_tile>();
  if (share.none) return;
  const Convolution<size_t> of = Kind::describe(w_out, h_out, stride, padding, dilation, info);
  if (!fits_32_bits(of, tile_channels)) {
    convolve<Kind::transposed, 1, 1>(of, share, src, kernel, dst);
  } else if (few) {
    convolve<Kind::transposed, 1 << log_small, 1>(narrowed(of), share, src, kernel, dst);
  } else {
    convolve<Kind::transposed, tile_channels, tile_positions<T>>(narrowed(of), share, src, kernel, dst);
  }
}

}  // namespace candle
