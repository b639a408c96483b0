// The bit layout and the arithmetic of each format. A group is 32 consecutive weights of a block, a word four of them,
// one byte each.
//
//   quants            word `word` of group `group`: signed bytes if the format subtracts a constant in integers
//   low_bytes         the address of the low bits of a word; high_bytes that of the high bits; unpack combines both
//   words_per_load    how many words share their low_bytes: words 4 apart in a block of 32, else of neighbouring groups
//   quant_pair        of a block of 32, quants e and e + 16 (q8_0: e and e + 1), in the low two bytes
//   scales            d, m and the small integers of a group
//   value             the number that quant q stands for; `half` says in which 16 weights of the group it is
//   load_dm           d and m of a K-quant block
//   load_scale_word   four bytes of the scales of a K-quant block, as they are in memory
//   decode_scales     turns these words into the bytes a and b of all groups, of which scales_of_group returns one
//
// In matrix-vector products a block is shared by `lanes` threads. Thread t processes words word(t, 0..words_per_thread)
// of groups group(t, 0..groups_per_thread). `accumulate_vector` adds a thread's part of a block to acc;
// `accumulate_matrix` adds matrix_groups whole groups. Both keep the order of operations of Candle, with the fused
// multiply-adds of nvcc.
#pragma once

#include "../arithmetic.h"
#include "blocks.h"

namespace candle {

// d and m (scale and minimum) of a block, and up to two small integers of a group.
struct Scales {
  u32 dm, ab;
  __device__ f32 d() const { return widen(f16{u16(dm)}); }
  __device__ f32 m() const { return widen(f16{u16(dm >> 16)}); }
  __device__ i32 a() const { return i32(ab & 0xff); }
  __device__ i32 b() const { return i32(ab >> 8 & 0xff); }
  __device__ i32 signed_a() const { return i32(ab << 24) >> 24; }
  __device__ i32 signed_b() const { return i32(ab << 16) >> 24; }
};

template <int alignment>
struct Packed {
  PendingWord<alignment> low, high;
};

template <class F, class B, bool has_high = false>
struct Format {
  using Block = B;
  using PackedWord = Packed<alignof(B)>;
  static __device__ const u8 *high_bytes(const B &, int, int) { return nullptr; }
  static __device__ PackedWord load_packed(const B &b, int group, int word) {
    PackedWord p{begin_load<alignof(B)>(F::low_bytes(b, group, word)), {}};
    if constexpr (has_high) p.high = begin_load<alignof(B)>(F::high_bytes(b, group, word));
    return p;
  }
  static __device__ u32 quants(const B &b, int group, int word) {
    u32 high = 0;
    if constexpr (has_high) high = load_word<alignof(B)>(F::high_bytes(b, group, word));
    return F::unpack(load_word<alignof(B)>(F::low_bytes(b, group, word)), high, group, word);
  }
};

// A thread's part of a block times one column: sums over its words of each of its groups.
template <int groups_per_thread>
struct VectorSums {
  i32 dot[groups_per_thread];  // sum of quants times activations
  i32 sum[groups_per_thread];  // sum of activations
  f32 d[groups_per_thread];
  f32 s;  // of the first group
};

// One group times one column. Sums of halves have 16 products each; `low` is the sum of both halves where a format has
// one scale for both.
struct MatrixSums {
  i32 low, high;          // sum of quants times activations
  i32 sum_low, sum_high;  // sum of activations
  f32 d, s;
};

// low * a + high * b, of sums below 2^24, where f32 is exact: integer multiplication is slow.
__device__ inline f32 scale_halves(i32 low, i32 high, i32 a, i32 b) {
  return fma(f32(low), f32(a), f32(high) * f32(b));
}

// Subtracts n from every byte; bytes are 0..127.
__device__ inline u32 subtract_from_bytes(u32 word, u32 n) {
  return ((word | 0x80808080) - n * 0x01010101) ^ 0x80808080;
}

// Moves bits 0..3 to bit 0 of the four bytes.
__device__ inline u32 spread_bits(u32 bits) { return (bits & 0xf) * 0x00204081 & 0x01010101; }

// ---- formats with 32 weights in a block

struct Block32 {
  static constexpr int length = 32;
  static constexpr int lanes = 2, groups_per_thread = 1, words_per_thread = 4, matrix_groups = 1;
  static constexpr bool uses_sums = false, has_half_scales = false;
  static constexpr int words_per_load = 2;
  static __device__ int group(int, int) { return 0; }
  static __device__ int word(int t, int k) { return 2 * t + (k & 1) + 2 * (k & 2); }
  static __device__ u32 split_nibbles(u32 both) { return (both & 15) | (both & 0xf0) << 4; }
  // Moves bits 0 and 16 to bits 4 and 12.
  static __device__ u32 fifth_bits(u32 bits) { return (bits & 1) << 4 | (bits & 0x10000) >> 4; }
};

struct Q4_0 : Block32, Format<Q4_0, BlockQ4_0> {
  static __device__ u32 quant_pair(const Block &b, u32 e) { return split_nibbles(b.qs[e]); }
  static __device__ const u8 *low_bytes(const Block &b, int, int word) { return b.qs + 4 * (word & 3); }
  static __device__ u32 unpack(u32 low, u32, int, int word) { return low >> (word & 4) & 0x0f0f0f0f; }
  static __device__ Scales scales(const Block &b, int) { return {b.d.bits, 0}; }
  static __device__ f32 value(const Scales &s, i32 q, int) { return f32(q - 8) * s.d(); }
  static __device__ f32 accumulate_vector(f32 acc, const Scales (&s)[1], const VectorSums<1> &v) {
    return fma(s[0].d(), fma(v.d[0], f32(v.dot[0]), -4.0f * v.s), acc);
  }
  static __device__ f32 accumulate_matrix(f32 acc, const Scales (&s)[1], const MatrixSums (&v)[1]) {
    return fma(s[0].d(), fma(v[0].d, f32(v[0].low), -8.0f * v[0].s), acc);
  }
};

// dequantize_block of Candle adds -8 d, get_rows and dmmv subtract 8 from q: the results differ in the sign of zero and
// for infinite d.
struct Q4_0Sum : Q4_0 {
  static __device__ f32 value(const Scales &s, i32 q, int) { return fma(s.d(), f32(q), -8.0f * s.d()); }
};

struct Q4_1 : Block32, Format<Q4_1, BlockQ4_1> {
  static __device__ u32 quant_pair(const Block &b, u32 e) { return split_nibbles(b.qs[e]); }
  static __device__ const u8 *low_bytes(const Block &b, int, int word) { return b.qs + 4 * (word & 3); }
  static __device__ u32 unpack(u32 low, u32, int, int word) { return low >> (word & 4) & 0x0f0f0f0f; }
  static __device__ Scales scales(const Block &b, int) { return {load_word<4>(&b.d), 0}; }
  static __device__ f32 value(const Scales &s, i32 q, int) { return fma(s.d(), f32(q), s.m()); }
  static __device__ f32 accumulate_vector(f32 acc, const Scales (&s)[1], const VectorSums<1> &v) {
    return acc + fma(s[0].d() * v.d[0], f32(v.dot[0]), s[0].m() * v.s * 0.5f);
  }
  static __device__ f32 accumulate_matrix(f32 acc, const Scales (&s)[1], const MatrixSums (&v)[1]) {
    return acc + fma(s[0].d() * v[0].d, f32(v[0].low), s[0].m() * v[0].s);
  }
};

struct Q5_0 : Block32, Format<Q5_0, BlockQ5_0, true> {
  static __device__ u32 quant_pair(const Block &b, u32 e) {
    return split_nibbles(b.qs[e]) | fifth_bits(load_word<2>(b.qh) >> e);
  }
  static __device__ const u8 *low_bytes(const Block &b, int, int word) { return b.qs + 4 * (word & 3); }
  static __device__ const u8 *high_bytes(const Block &b, int, int) { return b.qh; }
  static __device__ u32 unpack(u32 low, u32 high, int, int word) {
    return (low >> (word & 4) & 0x0f0f0f0f) | spread_bits(high >> 4 * word) << 4;
  }
  static __device__ Scales scales(const Block &b, int) { return {b.d.bits, 0}; }
  static __device__ f32 value(const Scales &s, i32 q, int) { return f32(q - 16) * s.d(); }
  static __device__ f32 accumulate_vector(f32 acc, const Scales (&s)[1], const VectorSums<1> &v) {
    return fma(s[0].d(), fma(v.d[0], f32(v.dot[0]), -8.0f * v.s), acc);
  }
  static __device__ f32 accumulate_matrix(f32 acc, const Scales (&s)[1], const MatrixSums (&v)[1]) {
    return fma(s[0].d() * v[0].d, f32(v[0].low), acc);
  }
};

// For the matrix product, which unpacks once per tile: 16 is subtracted in integers.
struct Q5_0Signed : Q5_0 {
  static __device__ u32 unpack(u32 low, u32 high, int group, int word) {
    return subtract_from_bytes(Q5_0::unpack(low, high, group, word), 16);
  }
};

struct Q5_1 : Block32, Format<Q5_1, BlockQ5_1, true> {
  static __device__ u32 quant_pair(const Block &b, u32 e) {
    return split_nibbles(b.qs[e]) | fifth_bits(load_word<4>(b.qh) >> e);
  }
  static __device__ const u8 *low_bytes(const Block &b, int, int word) { return b.qs + 4 * (word & 3); }
  static __device__ const u8 *high_bytes(const Block &b, int, int) { return b.qh; }
  static __device__ u32 unpack(u32 low, u32 high, int, int word) {
    return (low >> (word & 4) & 0x0f0f0f0f) | spread_bits(high >> 4 * word) << 4;
  }
  static __device__ Scales scales(const Block &b, int) { return {load_word<4>(&b.d), 0}; }
  static __device__ f32 value(const Scales &s, i32 q, int half) { return Q4_1::value(s, q, half); }
  static __device__ f32 accumulate_vector(f32 acc, const Scales (&s)[1], const VectorSums<1> &v) {
    return Q4_1::accumulate_vector(acc, s, v);
  }
  static __device__ f32 accumulate_matrix(f32 acc, const Scales (&s)[1], const MatrixSums (&v)[1]) {
    return Q4_1::accumulate_matrix(acc, s, v);
  }
};

struct Q8_0 : Format<Q8_0, BlockQ8_0> {
  static constexpr int length = 32;
  static constexpr int lanes = 4, groups_per_thread = 1, words_per_thread = 2, matrix_groups = 1;
  static constexpr bool uses_sums = false, has_half_scales = false;
  static constexpr int words_per_load = 1;
  static __device__ int group(int, int) { return 0; }
  static __device__ int word(int t, int k) { return 2 * t + k; }
  static __device__ u32 quant_pair(const Block &b, u32 e) { return load_half(b.qs + e); }
  static __device__ const u8 *low_bytes(const Block &b, int, int word) { return b.qs + 4 * word; }
  static __device__ u32 unpack(u32 low, u32, int, int) { return low; }
  static __device__ Scales scales(const Block &b, int) { return {b.d.bits, 0}; }
  static __device__ f32 value(const Scales &s, i32 q, int) { return s.d() * f32(q); }
  static __device__ f32 accumulate_vector(f32 acc, const Scales (&s)[1], const VectorSums<1> &v) {
    return fma(s[0].d() * v.d[0], f32(v.dot[0]), acc);
  }
  static __device__ f32 accumulate_matrix(f32 acc, const Scales (&s)[1], const MatrixSums (&v)[1]) {
    return fma(s[0].d() * v[0].d, f32(v[0].low), acc);
  }
};

// ---- formats with 256 weights in a block (K-quants)

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
      minimum = fma(v.d[i], f32(v.sum[i] * (s[i].a() >> 4)), minimum);
    }
    return acc + fma(s[0].d(), product, -(s[0].m() * minimum));
  }
  static __device__ f32 accumulate_matrix(f32 acc, const Scales (&s)[1], const MatrixSums (&v)[1]) {
    const f32 product = scale_halves(v[0].low, v[0].high, s[0].a() & 15, s[0].b() & 15);
    const f32 minimum = scale_halves(v[0].sum_low, v[0].sum_high, s[0].a() >> 4, s[0].b() >> 4);
    return fma(v[0].d, fma(s[0].d(), product, -(s[0].m() * minimum)), acc);
  }
};

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
    f32 product = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) product = fma(v.d[i], f32(v.dot[i] * s[i].signed_a()), product);
    return fma(s[0].d(), product, acc);
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
      minimum = fma(v.d[i], f32(v.sum[i] * s[i].b()), minimum);
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
    f32 product = 0;
#pragma unroll
    for (int i = 0; i < 2; ++i) product = fma(v.d[i], f32(v.dot[i] * s[i].signed_a()), product);
    return fma(s[0].d(), product, acc);
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
