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
  static constexpr bool has_high_bytes = has_high;
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
  f32 sum[groups_per_thread];  // d times the sum of activations, which is exact
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
__device__ inline u32 subtract_from_bytes(u32 word, u32 n) { return (word + (128 - n) * 0x01010101) ^ 0x80808080; }

// Moves bits 0..3 to bit 0 of the four bytes.
__device__ inline u32 spread_bits(u32 bits) { return (bits & 0xf) * 0x00204081 & 0x01010101; }

}  // namespace candle
