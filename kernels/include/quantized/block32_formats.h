// The formats with 32 weights in a block; format.h describes their members.
#pragma once

#include "format.h"

namespace candle {

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

}  // namespace candle
