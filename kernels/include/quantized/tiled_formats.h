// What the tiled products compute from the sums of integer products: the layouts of the activations' scales, and per
// weight format the scales of a group and their part in the result.
#pragma once

#include "block32_formats.h"
#include "k_quant_formats.h"

namespace candle {

// The scale of a group of activations, and of layouts with sums these too: what they are depends on the layout.
struct ColumnScale {
  f32 d;
};
struct ColumnScaleAndSums : ColumnScale {
  u32 sums;
};

__device__ inline f32 low_half(u32 pair) { return widen(f16{u16(pair)}); }
__device__ inline f32 high_half(u32 pair) { return widen(f16{u16(pair >> 16)}); }

// Two words of a block's header, as they are in memory, hold what a group needs; `scales` decodes them.
struct HeaderWords {
  u32 first, second;
};

// d of each group in f32.
struct LayoutD4 {
  using ColumnScales = ColumnScale;
  static constexpr int values_per_scale = 32, values_per_sum = 0;
  static __device__ HeaderWords load(const u32 *header, int group) { return {header[group], 0}; }
  static __device__ ColumnScales scales(const HeaderWords &words, int) { return {bit_cast<f32>(words.first)}; }
};

// d and the sum of each group in f16; `sums` is the sum in f32.
struct LayoutDS4 {
  using ColumnScales = ColumnScaleAndSums;
  static constexpr int values_per_scale = 32, values_per_sum = 32;
  static __device__ HeaderWords load(const u32 *header, int group) { return {header[group], 0}; }
  static __device__ ColumnScales scales(const HeaderWords &words, int) {
    return {{low_half(words.first)}, bit_cast<u32>(high_half(words.first))};
  }
};

// d of every two groups, and the sums of the halves of groups 0 to 2, all in f16; `sums` is those two sums, as they
// are.
struct LayoutD2S6 {
  using ColumnScales = ColumnScaleAndSums;
  static constexpr int values_per_scale = 64, values_per_sum = 16;
  static __device__ HeaderWords load(const u32 *header, int group) {
    return {header[0], header[group < 3 ? group + 1 : 3]};
  }
  static __device__ ColumnScales scales(const HeaderWords &words, int group) {
    return {{group < 2 ? low_half(words.first) : high_half(words.first)}, words.second};
  }
};

// An integer below 2^22 that is added to these bits of an f32 gives the bits of that f32 plus the integer, so that sums
// which start from there need no conversion.
constexpr f32 sum_offset = 12582912.0f;  // 1.5 * 2^23
constexpr i32 sum_offset_bits = 0x4b400000;

// Sums of products of quants with activations, integers all: of the halves of a group, or of all of it in `low`.
struct GroupSums {
  f32 low, high;
  static __device__ GroupSums from_offset(i32 low, i32 high) {
    return {bit_cast<f32>(low) - sum_offset, bit_cast<f32>(high) - sum_offset};
  }
  __device__ f32 times(f32 a) const { return low * a; }
  __device__ f32 times(f32 a, f32 b) const { return fma(low, a, high * b); }
};

// The same, where subtracting the offset is a part of the multiplication. Scales have no more than 20 bits, so that
// their products with the offset are exact; but that with an infinite one is always NaN.
struct OffsetSums {
  f32 low, high;
  static __device__ OffsetSums from_offset(i32 low, i32 high) { return {bit_cast<f32>(low), bit_cast<f32>(high)}; }
  __device__ f32 times(f32 a) const { return fma(low, a, -sum_offset * a); }
  __device__ f32 times(f32 a, f32 b) const { return times(a) + fma(high, b, -sum_offset * b); }
};

// The scales of a group of weights, as a format's product has them.
struct RowScales {
  u32 a, b;
};

// a: d.
template <class F, class Activations>
struct PlainProduct : F {
  using Layout = Activations;
  static constexpr bool halves = false;
  static __device__ RowScales row_scales(const Scales &s) { return {bit_cast<u32>(s.d()), 0}; }
  template <class Sums>
  static __device__ f32 accumulate(f32 acc, const RowScales &row, const Sums &sums, const ColumnScale &column, bool) {
    return fma(sums.times(bit_cast<f32>(row.a)), column.d, acc);
  }
};

// a: the scale, b: the minimum, which the sum of the activations is multiplied with. Of K-quants both are products that
// Candle rounds to f16.
template <class F>
struct ProductWithMinimum : F {
  using Layout = LayoutDS4;
  static constexpr bool halves = false;
  static __device__ RowScales row_scales(const Scales &s) {
    if constexpr (F::length == group_length) return {bit_cast<u32>(s.d()), bit_cast<u32>(s.m())};
    const f32 scale = widen(narrow<f16>(s.d() * f32(s.a()))), minimum = widen(narrow<f16>(s.m() * f32(s.b())));
    return {bit_cast<u32>(scale), bit_cast<u32>(-minimum)};
  }
  template <class Sums>
  static __device__ f32 accumulate(f32 acc, const RowScales &row, const Sums &sums, const ColumnScaleAndSums &column,
                                   bool) {
    acc = fma(sums.times(bit_cast<f32>(row.a)), column.d, acc);
    return fma(bit_cast<f32>(row.b), bit_cast<f32>(column.sums), acc);
  }
};

// a, b: d times the scales of both halves.
template <class F>
struct ProductOfHalves : F {
  using Layout = LayoutD4;
  static constexpr bool halves = true;
  static __device__ RowScales row_scales(const Scales &s) {
    return {bit_cast<u32>(s.d() * f32(s.signed_a())), bit_cast<u32>(s.d() * f32(s.signed_b()))};
  }
  template <class Sums>
  static __device__ f32 accumulate(f32 acc, const RowScales &row, const Sums &sums, const ColumnScale &column, bool) {
    return fma(column.d, sums.times(bit_cast<f32>(row.a), bit_cast<f32>(row.b)), acc);
  }
};

// a, b: scale and minimum of each half, which Candle rounds to f16. Where the layout has no room for the sums, which is
// in the last group of four, the sums of the quantized activations stand for them: integers that f16 holds exactly.
struct ProductQ2_K : Q2_K {
  using Layout = LayoutD2S6;
  static constexpr bool halves = true;
  static __device__ u32 scale_pair(const Scales &s, i32 scale_and_minimum) {
    const f16 scale = narrow<f16>(s.d() * f32(scale_and_minimum & 15)),
              minimum = narrow<f16>(s.m() * f32(scale_and_minimum >> 4));
    return u32(scale.bits) | u32(minimum.bits) << 16;
  }
  static __device__ RowScales row_scales(const Scales &s) { return {scale_pair(s, s.a()), scale_pair(s, s.b())}; }
  template <class Sums>
  static __device__ f32 accumulate(f32 acc, const RowScales &row, const Sums &sums, const ColumnScaleAndSums &column,
                                   bool quantized_sums) {
    const f32 minimum_a = high_half(row.a), minimum_b = high_half(row.b);
    const f32 sum_a = low_half(column.sums), sum_b = high_half(column.sums);
    if (quantized_sums) {
      const f32 product = sums.times(low_half(row.a), low_half(row.b));
      return fma(product - fma(sum_a, minimum_a, sum_b * minimum_b), column.d, acc);
    }
    acc = accumulate_scaled(acc, row, sums, column);
    return fma(-minimum_b, sum_b, fma(-minimum_a, sum_a, acc));
  }
  // accumulate but for the minima, which negative_minima returns as a pair of f16.
  template <class Sums>
  static __device__ f32 accumulate_scaled(f32 acc, const RowScales &row, const Sums &sums, const ColumnScale &column) {
    return fma(sums.times(low_half(row.a), low_half(row.b)), column.d, acc);
  }
  static __device__ u32 negative_minima(const RowScales &row) {
    return (row.a >> 16 | (row.b & 0xffff0000)) ^ 0x80008000;
  }
};

struct Q4_0Signed : Q4_0 {
  static __device__ u32 unpack(u32 low, u32 high, int group, int word) {
    return subtract_from_bytes(Q4_0::unpack(low, high, group, word), 8);
  }
};

}  // namespace candle
