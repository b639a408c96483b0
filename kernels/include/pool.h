// Pooling over windows of a source (b, c, w, h), as Candle names its last two dimensions. The output is contiguous and
// covers the windows that fit entirely. info is the dims and strides of the source.
#pragma once

#include "convert.h"
#include "convolve.h"
#include "reduction.h"

namespace candle {

// Sums of u8 and u32 wrap. The factor, 1 / the size of the window, is an f32 for every type, f64 included.
template <class T>
struct Average {
  SumType<T> sum{};

  __device__ void accumulate(T x) {
    if constexpr (is_integer<T>) {
      sum = T(u32(sum) + u32(x));
    } else {
      sum += to_sum(x);
    }
  }

  __device__ T result(f32 factor) const {
    if constexpr (is_same<T, f64>) {
      return sum * f64(factor);
    } else {
      return convert<T>(f32(sum) * factor);
    }
  }
};

template <class T>
struct Maximum {
  T largest{};
  bool first = true;

  __device__ void accumulate(T x) {
    largest = first ? x : extremum<true>(largest, x);
    first = false;
  }

  __device__ T result(f32) const { return largest; }
};

// The windows of a source; offsets and sizes fit in Index.
template <class Index>
struct Windows {
  Index w_k, h_k, w_stride, h_stride, channels, w_out, h_out, s[4];
  size_t numel;

  __device__ Windows(size_t w_k, size_t h_k, size_t w_stride, size_t h_stride, const size_t *__restrict__ info)
      : w_k(w_k),
        h_k(h_k),
        w_stride(w_stride),
        h_stride(h_stride),
        channels(info[1]),
        w_out(Index(info[2] - w_k) / Index(w_stride) + 1),
        h_out(Index(info[3] - h_k) / Index(h_stride) + 1),
        s{Index(info[4]), Index(info[5]), Index(info[6]), Index(info[7])},
        numel(info[0] * channels * w_out * h_out) {}

  // Where the window of output i begins.
  __device__ Index corner(Index i) const {
    const auto [row, h] = div_mod(i, h_out);
    const auto [plane, w] = div_mod(row, w_out);
    const auto [b, c] = div_mod(plane, channels);
    return b * s[0] + c * s[1] + w * w_stride * s[2] + h * h_stride * s[3];
  }
};

template <template <class> class Op, class Index, class T>
__device__ inline void pool2d(const ActiveGrid &grid, const Windows<Index> &windows, const T *__restrict__ src,
                              T *__restrict__ dst) {
  const f32 factor = 1.0f / f32(size_t(windows.w_k) * windows.h_k);
  const size_t step = grid.step();
  for (size_t i = grid.first(); i < windows.numel; i += step) {
    const T *corner = src + windows.corner(Index(i));
    Op<T> state;
    for (Index x = 0; x < windows.w_k; ++x) {
      for (Index y = 0; y < windows.h_k; ++y) state.accumulate(corner[x * windows.s[2] + y * windows.s[3]]);
    }
    dst[i] = state.result(factor);
  }
}

// Outputs that a thread computes at a time where windows of 2 x 2 elements lie side by side along a contiguous last
// dimension, and the elements of each of their two rows that one instruction loads.
template <class T>
constexpr int pool_width = sizeof(T) == 8 ? 2 : 4;
template <class T>
constexpr int pool_load_width = 2 * pool_width<T> * sizeof(T) > 16 ? 16 / sizeof(T) : 2 * pool_width<T>;

// `threads` of each active block work.
template <template <class> class Op, class T>
__device__ inline void pool2d_packs(const ActiveGrid &grid, u32 threads, const Windows<u32> &windows,
                                    const T *__restrict__ src, T *__restrict__ dst) {
  constexpr int width = pool_width<T>, load_width = pool_load_width<T>;
  if (threadIdx.x >= threads) return;
  const size_t step = size_t(grid.blocks) * threads * width;
  for (size_t i = (size_t(grid.block) * threads + threadIdx.x) * width; i < windows.numel; i += step) {
    const T *corner = src + windows.corner(u32(i));
    T rows[2][2 * width];
#pragma unroll
    for (int x = 0; x < 2; ++x) {
#pragma unroll
      for (int y = 0; y < 2 * width; y += load_width) {
        const auto pack = load_pack<load_width>(corner + x * windows.s[2] + y);
#pragma unroll
        for (int k = 0; k < load_width; ++k) rows[x][y + k] = pack.data[k];
      }
    }
    Pack<T, width> out;
#pragma unroll
    for (int k = 0; k < width; ++k) {
      Op<T> state;
      state.accumulate(rows[0][2 * k]);
      state.accumulate(rows[0][2 * k + 1]);
      state.accumulate(rows[1][2 * k]);
      state.accumulate(rows[1][2 * k + 1]);
      out.data[k] = state.result(0.25f);
    }
    *reinterpret_cast<Pack<T, width> *>(dst + i) = out;
  }
}

template <template <class> class Op, class T>
__device__ inline void pool2d(size_t w_k, size_t h_k, size_t w_stride, size_t h_stride, const size_t *__restrict__ info,
                              const T *__restrict__ src, T *__restrict__ dst) {
  constexpr int width = pool_width<T>;
  constexpr u32 log_width = log2_of(width);
  const bool in_pairs =
      w_k == 2 && h_k == 2 && h_stride == 2 && is_aligned<pool_load_width<T>>(src) && is_aligned<width>(dst);
  const u32 shift = in_pairs && gridDim.x >> log_width >= 2 * blocks_to_fill_gpu ? log_width : 0;
  if (is_idle_block(shift)) return;
  const ActiveGrid grid = active_grid(shift);
  size_t numel = 1, last = 0;
#pragma unroll
  for (int d = 0; d < 4; ++d) {
    numel *= info[d];
    last += (info[d] - 1) * info[d + 4];
  }
  if ((numel | last | w_stride | h_stride) >> 32) {
    pool2d<Op>(grid, Windows<size_t>(w_k, h_k, w_stride, h_stride, info), src, dst);
    return;
  }
  const Windows<u32> windows(w_k, h_k, w_stride, h_stride, info);
  const u32 *s = windows.s;
  if (in_pairs && s[3] == 1 && windows.h_out % width == 0 && (s[0] | s[1] | s[2]) % pool_load_width<T> == 0) {
    const u32 threads = shift ? blockDim.x : (blockDim.x + width - 1) / width;  // of a small grid, all blocks work
    pool2d_packs<Op>(grid, threads, windows, src, dst);
  } else {
    pool2d<Op>(grid, windows, src, dst);
  }
}

}  // namespace candle
