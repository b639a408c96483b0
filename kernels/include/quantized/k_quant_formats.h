// The formats with 256 weights in a block (K-quants); format.h describes their members.
#pragma once

#include "format.h"

namespace candle {

struct KQuants16 {
  static constexpr int length = 256;
  static constexpr int lanes = 16, groups_per_thread = 4, words_per_thread = 1, matrix_groups = 1;
  static constexpr bool has_half_scales = true;
  static constexpr int words_per_load = 2;
  static __device__ u32 scales_of_group(const u32 *words, int group) { return words[group >> 1] >> 16 * (group & 1); }
  static __device__ int group(int t, int i) { return 4 * (t >> 3) + i; }
  static __device__ int word(int t, int) { return t & 7; }
};

struct Q2_K : KQuants16, Format<Q2_K, BlockQ2_K> {
  static constexpr bool uses_sums = true;
  static __device__ const u8 *low_bytes(const Block &b, int group, int word) {
    return b.qs + 32 * (group >> 2) + 4 * word;
  }
  static __device__ u32 unpack(u32 low, u32, int group, int) { return low >> 2 * (group & 3) & 0x03030303; }
  // a and b each hold the scale (low four bits) and the minimum (high four bits) of 16 weights.
  static __device__ Scales scales(const Block &b, int group) {
    return {load_word<4>(&b.d), load_half(b.scales + 2 * group)};
  }
  static __device__ u32 load_dm(const Block &b) { return load_word<4>(&b.d); }
  static __device__ PendingWord<4> load_scale_word(const Block &b, int k) {
    return begin_load<alignof(Block)>(b.scales + 4 * k);
  }
  static __device__ void decode_scales(u32 (&)[4]) {}
  static __device__ i32 scale_of_half(const Scales &s, int half) { return half ? s.b() : s.a(); }
  static __device__ f32 value(const Scales &s, i32 q, int half) {
    const i32 sm = scale_of_half(s, half);
    return fma(s.d() * f32(sm & 15), f32(q), -(s.m() * f32(sm >> 4)));
  }
  static __device__ f32 accumulate_vector(f32 acc, const Scales (&s)[4], const VectorSums<4> &v) {
    f32 product = 0, minimum = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      product = fma(v.d[i], f32(v.dot[i] * (s[i].a() & 15)), product);
      minimum = fma(v.sum[i], f32(s[i].a() >> 4), minimum);
    }
    return acc + fma(s[0].d(), product, -(s[0].m() * minimum));
  }
  static __device__ f32 accumulate_matrix(f32 acc, const Scales (&s)[1], const MatrixSums (&v)[1]) {
    const f32 product = scale_halves(v[0].low, v[0].high, s[0].a() & 15, s[0].b() & 15);
    const f32 minimum = scale_halves(v[0].sum_low, v[0].sum_high, s[0].a() >> 4, s[0].b() >> 4);
    return fma(v[0].d, fma(s[0].d(), product, -(s[0].m() * minimum)), acc);
  }
};

// Products of several groups with signed scales.
template <class Scales, int groups>
__device__ inline f32 accumulate_signed(f32 acc, const Scales (&s)[groups], const VectorSums<groups> &v) {
  f32 product = 0;
#pragma unroll
  for (int i = 0; i < groups; ++i) product = fma(v.d[i], f32(v.dot[i] * s[i].signed_a()), product);
  return fma(s[0].d(), product, acc);
}

struct Q3_K : KQuants16, Format<Q3_K, BlockQ3_K, true> {
  static constexpr bool uses_sums = false;
  static __device__ const u8 *low_bytes(const Block &b, int group, int word) {
    return b.qs + 32 * (group >> 2) + 4 * word;
  }
  static __device__ const u8 *high_bytes(const Block &b, int, int word) { return b.hmask + 4 * word; }
  static __device__ u32 unpack(u32 low, u32 high, int group, int) {
    return subtract_from_bytes((low >> 2 * (group & 3) & 0x03030303) | (high >> group & 0x01010101) << 2, 4);
  }
  // Two of the sixteen 6-bit scales, minus 32.
  static __device__ Scales scales(const Block &b, int group) {
    const u32 low = load_half(b.scales + (2 * group & 7)) >> (group & 4) & 0x0f0f;
    const u32 high = load_half(b.scales + 8 + (2 * group & 3)) >> 2 * (group >> 1) & 0x0303;
    return {b.d.bits, subtract_from_bytes(low | high << 4, 32) & 0xffff};
  }
  static __device__ u32 load_dm(const Block &b) { return b.d.bits; }
  static __device__ PendingWord<2> load_scale_word(const Block &b, int k) {
    return begin_load<alignof(Block)>(b.scales + 4 * (k < 3 ? k : 2));
  }
  static __device__ void decode_scales(u32 (&words)[4]) {
    const u32 low[2] = {words[0], words[1]}, high = words[2];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      words[k] = subtract_from_bytes((low[k & 1] >> 2 * (k & 2) & 0x0f0f0f0f) | (high >> 2 * k & 0x03030303) << 4, 32);
    }
  }
  static __device__ f32 value(const Scales &s, i32 q, int half) {
    return s.d() * f32(half ? s.signed_b() : s.signed_a()) * f32(q);
  }
  static __device__ f32 accumulate_vector(f32 acc, const Scales (&s)[4], const VectorSums<4> &v) {
    return accumulate_signed(acc, s, v);
  }
  static __device__ f32 accumulate_matrix(f32 acc, const Scales (&s)[1], const MatrixSums (&v)[1]) {
    return fma(s[0].d() * v[0].d, scale_halves(v[0].low, v[0].high, s[0].signed_a(), s[0].signed_b()), acc);
  }
};

// Scale a and minimum b of group j, 6 bits each. The upper two bits of the last four groups are in the first eight
// bytes.
__device__ inline u32 scale_and_minimum(const u8 *scales, int j) {
  if (j < 4) return u32(scales[j] & 63) | u32(scales[j + 4] & 63) << 8;
  const u32 a = (scales[j + 4] & 15) | scales[j - 4] >> 6 << 4;
  const u32 b = scales[j + 4] >> 4 | scales[j] >> 6 << 4;
  return a | b << 8;
}

template <class F, class B, bool has_high = false>
struct KQuants32 : Format<F, B, has_high> {
  static constexpr int length = 256;
  static constexpr int lanes = 16, groups_per_thread = 2, words_per_thread = 2, matrix_groups = 2;
  static constexpr bool uses_sums = true, has_half_scales = false;
  static constexpr int words_per_load = 2;
  static __device__ int group(int t, int i) { return 2 * (t >> 2) + i; }
  static __device__ int word(int t, int k) { return (t & 3) + 4 * k; }
  static __device__ Scales scales(const B &b, int group) {
    return {load_word<4>(&b.d), scale_and_minimum(b.scales, group)};
  }
  static __device__ u32 load_dm(const B &b) { return load_word<4>(&b.d); }
  static __device__ PendingWord<4> load_scale_word(const B &b, int k) {
    return begin_load<4>(b.scales + 4 * (k < 3 ? k : 2));
  }
  // The scales of groups 0 to 3 and 4 to 7, then the minima of both.
  static __device__ void decode_scales(u32 (&words)[4]) {
    const u32 a = words[0], b = words[1], low = words[2];
    words[0] = a & 0x3f3f3f3f;
    words[1] = (low & 0x0f0f0f0f) | (a >> 2 & 0x30303030);
    words[2] = b & 0x3f3f3f3f;
    words[3] = (low >> 4 & 0x0f0f0f0f) | (b >> 2 & 0x30303030);
  }
  static __device__ u32 scales_of_group(const u32 *words, int group) {
    const u32 a = words[group >> 2], b = words[2 + (group >> 2)];
    return (a >> 8 * (group & 3) & 0xff) | (b >> 8 * (group & 3) & 0xff) << 8;
  }
  static __device__ f32 value(const Scales &s, i32 q, int) {
    return fma(s.d() * f32(s.a()), f32(q), -(s.m() * f32(s.b())));
  }
  static __device__ f32 accumulate_vector(f32 acc, const Scales (&s)[2], const VectorSums<2> &v) {
    f32 product = 0, minimum = 0;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      product = fma(v.d[i], f32(v.dot[i] * s[i].a()), product);
      minimum = fma(v.sum[i], f32(s[i].b()), minimum);
    }
    return acc + fma(s[0].d(), product, -(s[0].m() * minimum));
  }
  static __device__ f32 accumulate_matrix(f32 acc, const Scales (&s)[2], const MatrixSums (&v)[2]) {
    f32 product = 0, minimum = 0;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      product = fma(v[i].d, f32(v[i].low) * f32(s[i].a()), product);
      minimum = fma(v[i].s, f32(s[i].b()), minimum);
    }
    return acc + fma(s[0].d(), product, -(s[0].m() * minimum));
  }
};

struct Q4_K : KQuants32<Q4_K, BlockQ4_K> {
  static __device__ const u8 *low_bytes(const Block &b, int group, int word) {
    return b.qs + 32 * (group >> 1) + 4 * word;
  }
  static __device__ u32 unpack(u32 low, u32, int group, int) { return low >> 4 * (group & 1) & 0x0f0f0f0f; }
};

struct Q5_K : KQuants32<Q5_K, BlockQ5_K, true> {
  static __device__ const u8 *low_bytes(const Block &b, int group, int word) {
    return b.qs + 32 * (group >> 1) + 4 * word;
  }
  static __device__ const u8 *high_bytes(const Block &b, int, int word) { return b.qh + 4 * word; }
  static __device__ u32 unpack(u32 low, u32 high, int group, int) {
    return (low >> 4 * (group & 1) & 0x0f0f0f0f) | (high >> group & 0x01010101) << 4;
  }
};

struct Q6_K : Format<Q6_K, BlockQ6_K, true> {
  static constexpr int length = 256;
  static constexpr int lanes = 32, groups_per_thread = 2, words_per_thread = 1, matrix_groups = 2;
  static constexpr bool uses_sums = false, has_half_scales = true;
  static constexpr int words_per_load = 2;
  static __device__ int group(int t, int i) { return 4 * (t >> 4) + (t >> 3 & 1) + 2 * i; }
  static __device__ int word(int t, int) { return t & 7; }
  static __device__ const u8 *low_bytes(const Block &b, int group, int word) {
    return b.ql + 64 * (group >> 2) + 32 * (group & 1) + 4 * word;
  }
  static __device__ const u8 *high_bytes(const Block &b, int group, int word) {
    return b.qh + 32 * (group >> 2) + 4 * word;
  }
  static __device__ u32 unpack(u32 low, u32 high, int group, int) {
    const u32 upper = high >> 2 * (group & 3) & 0x03030303;
    return subtract_from_bytes((low >> 2 * (group & 2) & 0x0f0f0f0f) | upper << 4, 32);
  }
  static __device__ Scales scales(const Block &b, int group) { return {b.d.bits, load_half(b.scales + 2 * group)}; }
  static __device__ f32 value(const Scales &s, i32 q, int half) { return Q3_K::value(s, q, half); }
  static __device__ f32 accumulate_vector(f32 acc, const Scales (&s)[2], const VectorSums<2> &v) {
    return accumulate_signed(acc, s, v);
  }
  static __device__ f32 accumulate_matrix(f32 acc, const Scales (&s)[2], const MatrixSums (&v)[2]) {
    f32 product = 0;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      product = fma(v[i].d, scale_halves(v[i].low, v[i].high, s[i].signed_a(), s[i].signed_b()), product);
    }
    return fma(s[0].d(), product, acc);
  }
};

// Only dequantized: no product uses it.
struct Q8_K {
  using Block = BlockQ8_K;
  static constexpr int length = 256;
  struct Scale {
    f32 d;
  };
  static __device__ u32 quants(const Block &b, int group, int word) {
    return load_word<4>(b.qs + 32 * group + 4 * word);
  }
  static __device__ Scale scales(const Block &b, int) { return {b.d}; }
  static __device__ f32 value(const Scale &s, i32 q, int) { return s.d * f32(q); }
};

}  // namespace candle
