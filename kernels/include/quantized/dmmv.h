// Dequantized weights times an f32 vector: 32 lanes per row. The assignment of weights to lanes and the order of all
// operations are those of Candle, with the fused multiply-adds of nvcc, so that sums have its bits.
#pragma once

#include "../shuffle.h"
#include "block32_formats.h"
#include "k_quant_formats.h"

namespace candle {

// Every lane of a logical wave gets the sum over its 32 lanes.
__device__ inline f32 wave_reduce_sum(f32 x) {
  x += shuffle_xor<16>(x);
  x += shuffle_xor<8>(x);
  x += shuffle_xor<4>(x);
  x += shuffle_xor<2>(x);
  x += shuffle_xor<1>(x);
  return x;
}

__device__ inline i32 byte_of(u32 word, int k) { return i32(word >> 8 * k & 0xff); }

// A lane processes two values of every 64 columns, which are `value_distance` apart: 16 where a byte holds both. The
// loads of several steps are issued before the sums that wait for them.
template <class F, int value_distance>
__device__ inline void dmmv_blocks_of_32(const void *__restrict__ vx, const f32 *__restrict__ y, f32 *__restrict__ dst,
                                         int ncols, int nrows) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= nrows) return;
  const int blocks = ncols / 32;
  const u32 lane = threadIdx.x;
  const u32 e = value_distance == 1 ? 2 * (lane & 15) : lane & 15;
  const auto *x = static_cast<const typename F::Block *>(vx) + i64(row) * blocks + lane / 16;
  y += 32 * (lane / 16) + e;
  f32 sum = 0;
  const auto add = [&](const Scales &scales, u32 quant_pair, f32 first, f32 second) {
    sum = fma(F::value(scales, i32(quant_pair << 24) >> 24, 0), first, sum);
    sum = fma(F::value(scales, i32(quant_pair << 16) >> 24, 0), second, sum);
  };
  constexpr int batch = 8;
  int remaining = (blocks + 1 - int(lane / 16)) / 2;
  for (; remaining >= batch; remaining -= batch, x += 2 * batch, y += 64 * batch) {
    Scales scales[batch];
    u32 quant_pair[batch];
    f32 first[batch], second[batch];
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      scales[i] = F::scales(x[2 * i], 0);
      quant_pair[i] = F::quant_pair(x[2 * i], e);
      first[i] = y[64 * i];
      second[i] = y[64 * i + value_distance];
    }
#pragma unroll
    for (int i = 0; i < batch; ++i) add(scales[i], quant_pair[i], first[i], second[i]);
  }
  for (; remaining > 0; --remaining, x += 2, y += 64)
    add(F::scales(*x, 0), F::quant_pair(*x, e), y[0], y[value_distance]);
  sum = wave_reduce_sum(sum);
  if (lane == 0) dst[row] = sum;
}

// n values at an address that is a multiple of `alignment`: one load if the target supports it.
template <int n, int alignment>
struct __attribute__((packed, aligned(alignment))) ValueVector {
  f32 data[n];
};

template <int n, int alignment>
__device__ inline ValueVector<n, alignment> load_values(const f32 *p) {
  return *reinterpret_cast<const ValueVector<n, alignment> *>(p);
}

// The product with index 1 is rounded, the others are fused.
__device__ inline f32 sum_of_4(const f32 (&a)[4], const f32 (&b)[4]) {
  return fma(a[3], b[3], fma(a[2], b[2], fma(a[0], b[0], a[1] * b[1])));
}

// K-quants: Dot::add adds the part of a super-block that belongs to lanes 2 * part and 2 * part + 1, the first of which
// processes the even and the second the odd super-blocks.
template <class Dot, int alignment>
__device__ inline f32 sum_super_blocks(const typename Dot::Block *x, const f32 *y, int blocks) {
  const int part = threadIdx.x / 2;
  f32 sum = 0;
  for (int i = threadIdx.x % 2; i < blocks; i += 2) {
    sum = Dot::template add<alignment>(sum, x[i], y + i64(i) * super_block_length, part);
  }
  return sum;
}

template <class Dot>
__device__ inline void dmmv_super_blocks(const void *__restrict__ vx, const f32 *__restrict__ y, f32 *__restrict__ dst,
                                         int ncols, int row) {
  const int blocks = ncols / super_block_length;
  const auto *x = static_cast<const typename Dot::Block *>(vx) + i64(row) * blocks;
  const bool aligned = reinterpret_cast<size_t>(y) % (Dot::vector_width * sizeof(f32)) == 0;
  constexpr int vector_alignment = Dot::vector_width * sizeof(f32);
  const f32 sum = wave_reduce_sum(aligned ? sum_super_blocks<Dot, vector_alignment>(x, y, blocks)
                                          : sum_super_blocks<Dot, sizeof(f32)>(x, y, blocks));
  if (threadIdx.x == 0) dst[row] = sum;
}

struct DotQ2_K {
  using Block = BlockQ2_K;
  static constexpr int vector_width = 2;
  template <int alignment>
  static __device__ f32 add(f32 acc, const Block &b, const f32 *y, int part) {
    const int half = part / 8, first = 2 * (part % 8);
    y += 128 * half + first;
    const u8 *q = b.qs + 32 * half + first;
    const u32 quants[2] = {load_half(q), load_half(q + 16)};
    const u32 scales[2] = {load_word<4>(b.scales + 8 * half), load_word<4>(b.scales + 8 * half + 4)};
    // Columns 0, 32, 64, 96, then 16, 48, 80, 112.
    ValueVector<2, alignment> values[8];
    f32 scale[8], min[8];
#pragma unroll
    for (int n = 0; n < 8; ++n) {
      const int k = n & 3, side = n >> 2;
      values[n] = load_values<2, alignment>(y + 32 * k + 16 * side);
      const u32 both = scales[k >> 1] >> (16 * (k & 1) + 8 * side);
      scale[n] = f32(i32(both & 15));
      min[n] = f32(i32(both >> 4 & 15));
    }
    f32 products = 0, minima = 0;
#pragma unroll
    for (int l = 0; l < 2; ++l) {
      f32 weight[8];
#pragma unroll
      for (int n = 0; n < 8; ++n) weight[n] = f32(i32(quants[n >> 2] >> (8 * l + 2 * (n & 3)) & 3));
      // The second product is rounded, the others are fused.
      f32 product = fma(values[0].data[l] * scale[0], weight[0], values[1].data[l] * scale[1] * weight[1]);
      f32 minimum = fma(values[0].data[l], min[0], values[1].data[l] * min[1]);
#pragma unroll
      for (int n = 2; n < 8; ++n) {
        product = fma(values[n].data[l] * scale[n], weight[n], product);
        minimum = fma(values[n].data[l], min[n], minimum);
      }
      products += product;
      minima += minimum;
    }
    return acc + fma(widen(b.d), products, -(widen(b.m) * minima));
  }
};

struct DotQ3_K {
  using Block = BlockQ3_K;
  static constexpr int vector_width = 2;
  template <int alignment>
  static __device__ f32 add(f32 acc, const Block &b, const f32 *y, int part) {
    const int half = part / 8, first = 2 * (part % 8);
    y += 128 * half + first;
    // Quants and high bits of the 32 bytes that four groups share.
    const u32 low[2] = {load_half(b.qs + 32 * half + first), load_half(b.qs + 32 * half + first + 16)};
    const u32 high[2] = {~load_half(b.hmask + first) >> 4 * half, ~load_half(b.hmask + first + 16) >> 4 * half};
    const u32 top = load_word<2>(b.scales + 8) >> 4 * half;
    const u32 scales[2] = {
        (load_word<2>(b.scales) >> 4 * half & 0x0f0f0f0f) | (top & 0x03030303) << 4,
        (load_word<2>(b.scales + 4) >> 4 * half & 0x0f0f0f0f) | (top >> 2 & 0x03030303) << 4,
    };
    ValueVector<2, alignment> values[2][4];
#pragma unroll
    for (int n = 0; n < 8; ++n) values[n >> 2][n & 3] = load_values<2, alignment>(y + 32 * (n & 3) + 16 * (n >> 2));
    f32 total = 0;
#pragma unroll
    for (int l = 0; l < 2; ++l) {
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        f32 scaled[4], weight[4];
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          const i32 scale = byte_of(scales[k >> 1], 2 * (k & 1) + side) - 32;
          weight[k] = f32(i32(low[side] >> (8 * l + 2 * k) & 3) - i32(high[side] >> (8 * l + k) & 1) * 4);
          scaled[k] = values[side][k].data[l] * f32(scale);
        }
        total += sum_of_4(scaled, weight);
      }
    }
    return fma(widen(b.d), total, acc);
  }
};

// The scales and minima of pairs of groups 0 and 2, or 1 and 3.
struct PairScales {
  f32 scale[4], min[4];
  __device__ PairScales(const u8 *scales, int pair) {
    const u32 a = load_half(scales + 2 * pair), b = load_half(scales + 2 * pair + 4),
              c = load_half(scales + 2 * pair + 8);
    const u32 s[2] = {a & 0x3f3f, (c & 0x0f0f) | (a & 0xc0c0) >> 2};
    const u32 m[2] = {b & 0x3f3f, (c >> 4 & 0x0f0f) | (b & 0xc0c0) >> 2};
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      scale[k] = f32(byte_of(s[k >> 1], k & 1));
      min[k] = f32(byte_of(m[k >> 1], k & 1));
    }
  }
};

// Parts 0-7 process groups 0, 1, 4, 5, parts 8-15 groups 2, 3, 6, 7.
struct DotQ4_K {
  using Block = BlockQ4_K;
  static constexpr int vector_width = 4;
  template <int alignment>
  static __device__ f32 add(f32 acc, const Block &b, const f32 *y, int part) {
    const int pair = part / 8, first = 4 * (2 * (part % 4) + part / 4 % 2);
    y += 64 * pair + first;
    const u32 words[2] = {load_word<4>(b.qs + 32 * pair + first), load_word<4>(b.qs + 32 * pair + first + 64)};
    const PairScales s(b.scales, pair);
    ValueVector<4, alignment> values[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) values[k] = load_values<4, alignment>(y + 32 * (k & 1) + 64 * (k & 2));
    f32 minima = 0, product[4] = {};
#pragma unroll
    for (int l = 0; l < 4; ++l) {
      // The upper nibbles are not shifted down: 16 times too large, which the scale below corrects.
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        product[k] = fma(values[k].data[l], f32(byte_of(words[k >> 1], l) & (k & 1 ? 0xf0 : 0x0f)), product[k]);
      }
      f32 minimum = fma(values[0].data[l], s.min[0], values[1].data[l] * s.min[1]);
      minimum = fma(values[2].data[l], s.min[2], minimum);
      minima += fma(values[3].data[l], s.min[3], minimum);
    }
    f32 total = fma(product[0], s.scale[0], product[1] * s.scale[1] * 0.0625f);
    total = fma(product[2], s.scale[2], total);
    total = fma(product[3] * s.scale[3], 0.0625f, total);
    return acc + fma(widen(b.d), total, -(widen(b.m) * minima));
  }
};

struct DotQ5_K {
  using Block = BlockQ5_K;
  static constexpr int vector_width = 2;
  template <int alignment>
  static __device__ f32 add(f32 acc, const Block &b, const f32 *y, int part) {
    const int pair = part / 8, first = 2 * (2 * (part % 4) + part / 4 % 2);
    y += 64 * pair + first;
    const PairScales s(b.scales, pair);
    u32 low[2][2], high[2];
    ValueVector<2, alignment> values[4][2];
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      const int e = first + 16 * side;
      high[side] = load_half(b.qh + e) >> 2 * pair;
      low[0][side] = load_half(b.qs + 32 * pair + e);
      low[1][side] = load_half(b.qs + 32 * pair + e + 64);
#pragma unroll
      for (int k = 0; k < 4; ++k)
        values[k][side] = load_values<2, alignment>(y + 32 * (k & 1) + 64 * (k & 2) + 16 * side);
    }
    f32 minima = 0, product[4] = {};
#pragma unroll
    for (int l = 0; l < 2; ++l) {
      f32 both[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        f32 weight[2];
#pragma unroll
        for (int side = 0; side < 2; ++side) {
          const u32 fifth = high[side] >> (8 * l + (k & 1) + 2 * (k & 2)) & 1;
          weight[side] = f32(i32((low[k >> 1][side] >> (8 * l + 4 * (k & 1)) & 15) | fifth << 4));
        }
        const f32 first_at = values[k][0].data[l], second_at = values[k][1].data[l];
        product[k] += fma(first_at, weight[0], second_at * weight[1]);
        both[k] = first_at + second_at;
      }
      minima += sum_of_4(both, s.min);
    }
    f32 total = fma(product[1], s.scale[1], product[0] * s.scale[0]);
    total = fma(product[2], s.scale[2], total);
    total = fma(product[3], s.scale[3], total);
    return acc + fma(widen(b.d), total, -(widen(b.m) * minima));
  }
};

struct DotQ6_K {
  using Block = BlockQ6_K;
  static constexpr int vector_width = 4;
  template <int alignment>
  static __device__ f32 add(f32 acc, const Block &b, const f32 *y, int part) {
    const int half = part / 8, word = part % 8;
    y += 128 * half + 4 * word;
    const f32 d = widen(b.d);
    const u8 *ql = b.ql + 64 * half + 4 * word;
    const u32 low[2] = {load_word<2>(ql), load_word<2>(ql + 32)};
    const u32 high = load_word<2>(b.qh + 32 * half + 4 * word);
    const u8 *scales = b.scales + 8 * half + word / 4;
    u32 quants[4];
    f32 scale[4];
    ValueVector<4, alignment> values[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      values[k] = load_values<4, alignment>(y + 32 * k);
      scale[k] = f32(i32(u32(scales[2 * k]) << 24) >> 24);
      quants[k] = (low[k & 1] >> 2 * (k & 2) & 0x0f0f0f0f) | (high >> 2 * k & 0x03030303) << 4;
    }
    f32 total = 0;
#pragma unroll
    for (int l = 0; l < 4; ++l) {
      f32 scaled[4], weight[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        scaled[k] = values[k].data[l] * scale[k] * d;
        weight[k] = f32(byte_of(quants[k], l) - 32);
      }
      total += sum_of_4(scaled, weight);
    }
    return acc + total;
  }
};

}  // namespace candle
