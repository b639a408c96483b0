// Weights, decoded, times an f32 vector: 32 lanes a row. Which lane takes which weights, and every order of operations,
// is Candle's, fused as on CUDA, so that sums have its bits.
#pragma once

#include "../lanes.h"
#include "formats.h"

namespace candle {

// Every lane of a group of 32 gets the sum over them.
__device__ inline f32 sum_lanes(f32 x) {
  x += swap<16>(x);
  x += swap<8>(x);
  x += swap<4>(x);
  x += swap<2>(x);
  x += swap<1>(x);
  return x;
}

__device__ inline i32 byte_of(u32 word, int k) { return i32(word >> 8 * k & 0xff); }

// A lane takes two values of every 64 columns, `apart` from each other: 16 where a byte holds both. Loads of several
// steps come before the sums that wait for them.
template <class F, int apart>
__device__ inline void multiply_simple(const void *__restrict__ vx, const f32 *__restrict__ y, f32 *__restrict__ dst,
                                       int ncols, int nrows) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= nrows) return;
  const int blocks = ncols / 32;
  const u32 lane = threadIdx.x;
  const u32 e = apart == 1 ? 2 * (lane & 15) : lane & 15;
  const auto *x = static_cast<const typename F::Block *>(vx) + i64(row) * blocks + lane / 16;
  y += 32 * (lane / 16) + e;
  f32 sum = 0;
  const auto add = [&](const Scales &scales, u32 two, f32 first, f32 second) {
    sum = fused(F::value(scales, i32(two << 24) >> 24, 0), first, sum);
    sum = fused(F::value(scales, i32(two << 16) >> 24, 0), second, sum);
  };
  constexpr int batch = 8;
  int left = (blocks + 1 - int(lane / 16)) / 2;
  for (; left >= batch; left -= batch, x += 2 * batch, y += 64 * batch) {
    Scales scales[batch];
    u32 two[batch];
    f32 first[batch], second[batch];
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      scales[i] = F::scales(x[2 * i], 0);
      two[i] = F::two(x[2 * i], e);
      first[i] = y[64 * i];
      second[i] = y[64 * i + apart];
    }
#pragma unroll
    for (int i = 0; i < batch; ++i) add(scales[i], two[i], first[i], second[i]);
  }
  for (; left > 0; --left, x += 2, y += 64) add(F::scales(*x, 0), F::two(*x, e), y[0], y[apart]);
  sum = sum_lanes(sum);
  if (lane == 0) dst[row] = sum;
}

// K blocks: Part::add adds what lanes 2 * part and 2 * part + 1 take of the even and of the odd blocks.
template <class Part>
__device__ inline void multiply_super(const void *__restrict__ vx, const f32 *__restrict__ y, f32 *__restrict__ dst,
                                      int ncols, int row) {
  const int blocks = ncols / super_length;
  const auto *x = static_cast<const typename Part::Block *>(vx) + i64(row) * blocks;
  const int part = threadIdx.x / 2;
  f32 sum = 0;
  for (int i = threadIdx.x % 2; i < blocks; i += 2) sum = Part::add(sum, x[i], y + i64(i) * super_length, part);
  sum = sum_lanes(sum);
  if (threadIdx.x == 0) dst[row] = sum;
}

struct PartQ2_K {
  using Block = BlockQ2_K;
  static __device__ f32 add(f32 acc, const Block &b, const f32 *y, int part) {
    const int half = part / 8, first = 2 * (part % 8);
    y += 128 * half + first;
    const u8 *q = b.qs + 32 * half + first;
    const u8 *scales = b.scales + 8 * half;
    f32 products = 0, minima = 0;
#pragma unroll
    for (int l = 0; l < 2; ++l) {
      // Columns 0, 32, 64, 96, then 16, 48, 80, 112.
      f32 at[8], weight[8], scale[8], least[8];
#pragma unroll
      for (int n = 0; n < 8; ++n) {
        const int k = n & 3, side = n >> 2;
        at[n] = y[l + 32 * k + 16 * side];
        weight[n] = f32(q[l + 16 * side] >> 2 * k & 3);
        scale[n] = f32(scales[2 * k + side] & 15);
        least[n] = f32(scales[2 * k + side] >> 4);
      }
      // The second product is rounded, the others are fused.
      f32 product = fused(at[0] * scale[0], weight[0], at[1] * scale[1] * weight[1]);
      f32 minimum = fused(at[0], least[0], at[1] * least[1]);
#pragma unroll
      for (int n = 2; n < 8; ++n) {
        product = fused(at[n] * scale[n], weight[n], product);
        minimum = fused(at[n], least[n], minimum);
      }
      products += product;
      minima += minimum;
    }
    return acc + fused(widen(b.d), products, -(widen(b.m) * minima));
  }
};

struct PartQ3_K {
  using Block = BlockQ3_K;
  static __device__ f32 add(f32 acc, const Block &b, const f32 *y, int part) {
    const int half = part / 8, first = 2 * (part % 8);
    f32 total = 0;
#pragma unroll
    for (int l = 0; l < 2; ++l) {
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        const int at = first + l + 16 * side;  // of the 32 bytes that four groups share
        f32 scaled[4], weight[4];
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          const int group = 4 * half + k;
          const Scales s = Q3_K::scales(b, group);
          const i32 high = b.hmask[at] >> group & 1 ? 0 : 4;
          weight[k] = f32((b.qs[32 * half + at] >> 2 * k & 3) - high);
          scaled[k] = y[128 * half + 32 * k + at] * f32(side ? s.signed_b() : s.signed_a());
        }
        f32 sum = fused(scaled[0], weight[0], scaled[1] * weight[1]);
        sum = fused(scaled[2], weight[2], sum);
        total += fused(scaled[3], weight[3], sum);
      }
    }
    return fused(widen(b.d), total, acc);
  }
};

// Parts 0-7 take groups 0, 1, 4, 5, parts 8-15 groups 2, 3, 6, 7.
struct PartQ4_K {
  using Block = BlockQ4_K;
  static __device__ f32 add(f32 acc, const Block &b, const f32 *y, int part) {
    const int pair = part / 8, first = 4 * (2 * (part % 4) + part / 4 % 2);
    y += 64 * pair + first;
    const u32 words[2] = {load_word<4>(b.qs + 32 * pair + first), load_word<4>(b.qs + 32 * pair + first + 64)};
    f32 scale[4], least[4], product[4] = {};
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const Scales s = Q4_K::scales(b, 2 * pair + (k & 1) + 2 * (k & 2));
      scale[k] = f32(s.a());
      least[k] = f32(s.b());
    }
    f32 minima = 0;
#pragma unroll
    for (int l = 0; l < 4; ++l) {
      const f32 at[4] = {y[l], y[l + 32], y[l + 128], y[l + 160]};
      // The upper nibbles stay where they are: 16 times too large.
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        product[k] = fused(at[k], f32(byte_of(words[k >> 1], l) & (k & 1 ? 0xf0 : 0x0f)), product[k]);
      }
      const f32 minimum = fused(at[2], least[2], fused(at[0], least[0], at[1] * least[1]));
      minima += fused(at[3], least[3], minimum);
    }
    f32 total = fused(product[0], scale[0], product[1] * scale[1] * 0.0625f);
    total = fused(product[2], scale[2], total);
    total = fused(product[3] * scale[3], 0.0625f, total);
    return acc + fused(widen(b.d), total, -(widen(b.m) * minima));
  }
};

struct PartQ5_K {
  using Block = BlockQ5_K;
  static __device__ f32 add(f32 acc, const Block &b, const f32 *y, int part) {
    const int pair = part / 8, first = 2 * (2 * (part % 4) + part / 4 % 2);
    y += 64 * pair;
    f32 scale[4], least[4], product[4] = {};
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const Scales s = Q5_K::scales(b, 2 * pair + (k & 1) + 2 * (k & 2));
      scale[k] = f32(s.a());
      least[k] = f32(s.b());
    }
    f32 minima = 0;
#pragma unroll
    for (int l = 0; l < 2; ++l) {
      f32 both[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int group = 2 * pair + (k & 1) + 2 * (k & 2);
        f32 at[2], weight[2];
#pragma unroll
        for (int side = 0; side < 2; ++side) {
          const int e = first + l + 16 * side;
          at[side] = y[e + 32 * (k & 1) + 64 * (k & 2)];
          const i32 low = b.qs[32 * (group >> 1) + e] >> 4 * (k & 1) & 15;
          weight[side] = f32(low + 16 * (b.qh[e] >> group & 1));
        }
        product[k] += fused(at[0], weight[0], at[1] * weight[1]);
        both[k] = at[0] + at[1];
      }
      const f32 minimum = fused(both[2], least[2], fused(both[0], least[0], both[1] * least[1]));
      minima += fused(both[3], least[3], minimum);
    }
    f32 total = fused(product[1], scale[1], product[0] * scale[0]);
    total = fused(product[2], scale[2], total);
    total = fused(product[3], scale[3], total);
    return acc + fused(widen(b.d), total, -(widen(b.m) * minima));
  }
};

struct PartQ6_K {
  using Block = BlockQ6_K;
  static __device__ f32 add(f32 acc, const Block &b, const f32 *y, int part) {
    const int half = part / 8, word = part % 8;
    y += 128 * half + 4 * word;
    const f32 d = widen(b.d);
    u32 quants[4];
    f32 scale[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      quants[k] = Q6_K::quants(b, 4 * half + k, word);
      const Scales s = Q6_K::of_word(Q6_K::scales(b, 4 * half + k), word);
      scale[k] = f32(s.signed_a());
    }
    f32 total = 0;
#pragma unroll
    for (int l = 0; l < 4; ++l) {
      f32 scaled[4], weight[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        scaled[k] = y[l + 32 * k] * scale[k] * d;
        weight[k] = f32(i32(quants[k] << (24 - 8 * l)) >> 24);
      }
      f32 sum = fused(scaled[0], weight[0], scaled[1] * weight[1]);
      sum = fused(scaled[2], weight[2], sum);
      total += fused(scaled[3], weight[3], sum);
    }
    return acc + total;
  }
};

}  // namespace candle
