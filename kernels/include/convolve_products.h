// The products of a tile of a convolution, distributed over tiled_threads threads: tiled_channels output channels times
// tile_positions positions. `add` adds those of a slice, `depth` input channels of one tap, which
// Operands::store_weights and store_values have put into shared memory; each(f) calls f(channel, position, sum) for
// what a thread has.
#pragma once

#include "convolution.h"
#include "matrix_part.h"

namespace candle {

constexpr u32 tiled_threads = 1024, tiled_channels = 64;

// By fused multiply-adds. A thread has a few neighbouring channels and positions.
template <class T>
struct FmaProducts {
  using Sum = SumType<T>;
  static constexpr u32 channels = 4, positions = sizeof(Sum) == 8 ? 2 : 4;
  static constexpr u32 tile_positions = tiled_threads * channels / tiled_channels * positions;
  static constexpr u32 depth = sizeof(Sum) == 8 ? 8 : 16;

  struct Operands {
    Pack<Sum, channels> weights[depth][tiled_channels / channels + 1];  // padding: a wave stores several depths
    Pack<Sum, positions> values[depth][tile_positions / positions];

    template <int count>
    __device__ void store_weights(u32 channel, u32 k, const Pack<T, count> &from) {
#pragma unroll
      for (int i = 0; i < count; ++i)
        weights[k + i][channel / channels].data[channel % channels] = to_sum(from.data[i]);
    }
    template <int count>
    __device__ void store_values(u32 position, u32 k, const Pack<T, count> &from) {
#pragma unroll
      for (int i = 0; i < count; ++i)
        values[k + i][position / positions].data[position % positions] = to_sum(from.data[i]);
    }
  };

  // 8 threads that read at a time have the same channels.
  const u32 channel0, position0;
  Sum sums[channels][positions] = {};

  __device__ explicit FmaProducts(u32 t)
      : channel0((t / 32 % 4 * 4 + t % 32 / 8) * channels), position0((t / 128 * 8 + t % 8) * positions) {}

  __device__ void add(const Operands &from) {
#pragma unroll 8
    for (u32 k = 0; k < depth; ++k) {
      const auto weight = from.weights[k][channel0 / channels];
      const auto value = from.values[k][position0 / positions];
#pragma unroll
      for (u32 i = 0; i < channels; ++i) {
#pragma unroll
        for (u32 j = 0; j < positions; ++j) sums[i][j] = multiply_add<Sum>(sums[i][j], weight.data[i], value.data[j]);
      }
    }
  }

  template <class Call>
  __device__ void each(Call f) const {
#pragma unroll
    for (u32 i = 0; i < channels; ++i) {
#pragma unroll
      for (u32 j = 0; j < positions; ++j) f(channel0 + i, position0 + j, sums[i][j]);
    }
  }
};

// By matrix instructions; the rows of their results are positions.
template <class Matrices, class T>
struct MatrixProducts {
  using Sum = f32;
  using Part = MatrixPart<Matrices>;
  static constexpr u32 tile_positions = 256, depth = 32;
  static constexpr u32 channel_blocks = Matrices::wave_size / 32, position_blocks = 2;  // of a wave

  // Eight neighbouring rows that are read or written together, or two rows of four quads, are in different banks.
  template <u32 count>
  struct Rows {
    Pack<u32, 4> quads[count][depth / 8];

    __device__ Pack<u32, 4> &quad(u32 row, u32 i) { return quads[row][i ^ (row / 2 % 4)]; }
    __device__ const Pack<u32, 4> &quad(u32 row, u32 i) const { return quads[row][i ^ (row / 2 % 4)]; }
  };

  struct Operands {
    Rows<tiled_channels> weights;
    Rows<tile_positions> values;

    __device__ void store_weights(u32 channel, u32 k, const Pack<T, 2> &from) {
      weights.quad(channel, k / 8).data[k / 2 % 4] = bit_cast<u32>(from);
    }
    __device__ void store_values(u32 position, u32 k, const Pack<T, 8> &from) {
      values.quad(position, k / 8) = bit_cast<Pack<u32, 4>>(from);
    }
  };

  const u32 lane, channel0, position0;
  f32 sums[channel_blocks][position_blocks][Matrices::rows * Matrices::columns] = {};

  __device__ explicit MatrixProducts(u32 t)
      : lane(t % Matrices::wave_size),
        channel0(t / Matrices::wave_size / 8 * channel_blocks * 16),
        position0(t / Matrices::wave_size % 8 * position_blocks * 16) {}

  __device__ void add(const Operands &from) {
#pragma unroll
    for (u32 step = 0; step < depth / 16; step += Part::steps) {
      Part weights[channel_blocks];
#pragma unroll
      for (u32 i = 0; i < channel_blocks; ++i) weights[i].load(from.weights, channel0 + 16 * i, lane, step);
#pragma unroll
      for (u32 j = 0; j < position_blocks; ++j) {
        Part values;
        values.load(from.values, position0 + 16 * j, lane, step);
#pragma unroll
        for (u32 s = 0; s < Part::steps; ++s) {
#pragma unroll
          for (u32 i = 0; i < channel_blocks; ++i) {
            Matrices::template multiply_halves<T>(sums[i][j], weights[i].of_step(s), values.of_step(s));
          }
        }
      }
    }
  }

  template <class Call>
  __device__ void each(Call f) const {
#pragma unroll
    for (u32 i = 0; i < channel_blocks; ++i) {
#pragma unroll
      for (u32 j = 0; j < position_blocks; ++j) {
#pragma unroll
        for (u32 m = 0; m < Matrices::rows; ++m) {
#pragma unroll
          for (u32 n = 0; n < Matrices::columns; ++n) {
            f(channel0 + 16 * i + Matrices::column(lane, n), position0 + 16 * j + Matrices::row(lane, m),
              sums[i][j][Matrices::columns * m + n]);
          }
        }
      }
    }
  }
};

template <class Matrices, class T>
constexpr bool has_products = is_half<T> && Matrices::halves && Matrices::subnormals;  // which count here

template <bool by_matrices, class T>
struct select_products {
  using type = FmaProducts<T>;
};
template <class T>
struct select_products<true, T> {
  using type = MatrixProducts<target::Matrices, T>;
};
template <class T>
using Products = typename select_products<has_products<target::Matrices, T>, T>::type;

}  // namespace candle
