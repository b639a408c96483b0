// Quantizes activations to the blocks of 128 values that the tiled products read, in one of their layouts.
#pragma once

#include "../convert.h"
#include "../pack.h"
#include "../shuffle.h"
#include "tiled_formats.h"

namespace candle {

constexpr int quantize_tiled_threads = 128;

// Where the values come from: row i1 of channel (i2, i3), or row ids[i1]; strides in values.
struct TiledSource {
  const f32 *x;
  const i32 *ids;
  i64 length, row_stride, channel_stride, sample_stride;
};

// The largest, over the lanes of a scale; each has four values.
template <int lanes>
__device__ inline f32 largest_of_lanes(f32 x) {
  if constexpr (lanes > 1) {
    x = __builtin_fmaxf(x, shuffle_xor<lanes / 2>(x));
    return largest_of_lanes<lanes / 2>(x);
  } else {
    return x;
  }
}

template <int lanes>
__device__ inline f32 sum_of_lanes(f32 x) {
  if constexpr (lanes > 1) {
    x += shuffle_xor<lanes / 2>(x);
    return sum_of_lanes<lanes / 2>(x);
  } else {
    return x;
  }
}

// Thread block (row, part, channel) quantizes 512 values of a row, padded with zeros to `padded`. Block b of row r is
// y[b * rows + r] of its channel.
template <class Layout>
__device__ inline void quantize_tiled(const TiledSource &source, void *__restrict__ vy, i64 padded, int rows,
                                      int channels) {
  const i64 column = (i64(blockIdx.y) * quantize_tiled_threads + threadIdx.x) * 4;
  if (column >= padded) return;
  const i64 row = source.ids ? i64(source.ids[blockIdx.x]) : i64(blockIdx.x);
  const int channel = int(blockIdx.z) % channels, sample = int(blockIdx.z) / channels;
  const f32 *x =
      source.x + (sample * source.sample_stride + channel * source.channel_stride + row * source.row_stride + column);
  Pack<f32, 4> values{};
  if (column < source.length) values = load_pack<4>(x);
  f32 largest = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) largest = __builtin_fmaxf(largest, __builtin_fabsf(values.data[k]));
  largest = largest_of_lanes<Layout::values_per_scale / 4>(largest);
  // Zeros are multiplied by infinity: the NaN becomes 0.
  const f32 inverse = 127.0f / largest;
  u32 quants = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    quants |= (u32(to_i32(__builtin_roundf(values.data[k] * inverse))) & 0xff) << 8 * k;
  }
  constexpr int values_per_block = sizeof(BlockQ8_1Tiled::qs);
  const i64 blocks_of_channel = i64(gridDim.x) * gridDim.y * (4 * quantize_tiled_threads / values_per_block);
  BlockQ8_1Tiled &block =
      static_cast<BlockQ8_1Tiled *>(vy)[blockIdx.z * blocks_of_channel + column / values_per_block * rows + blockIdx.x];
  const int in_block = int(column % values_per_block);
  reinterpret_cast<u32 *>(block.qs)[in_block / 4] = quants;
  f32 sum = 0;
  if constexpr (Layout::values_per_sum != 0) {
    sum = values.data[0] + values.data[1] + values.data[2] + values.data[3];
    sum = sum_of_lanes<Layout::values_per_sum / 4>(sum);
  }
  const f32 d = 1.0f / inverse;
  auto *halves = reinterpret_cast<u16 *>(block.header);
  if constexpr (Layout::values_per_sum == 16) {
    if (in_block % 16 == 0 && in_block < 96) halves[2 + in_block / 16] = narrow<f16>(sum).bits;
    if (in_block % 64 == 0) halves[in_block / 64] = narrow<f16>(d).bits;
  } else if (in_block % group_length == 0) {
    block.header[in_block / group_length] =
        Layout::values_per_sum == 0 ? bit_cast<u32>(d) : u32(narrow<f16>(d).bits) | u32(narrow<f16>(sum).bits) << 16;
  }
}

}  // namespace candle
