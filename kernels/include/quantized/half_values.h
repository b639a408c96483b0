// Weights as Candle's mixture of experts dequantizes them: in f16 arithmetic, whatever the type of the activations.
#pragma once

#include "../grouped_product.h"
#include "block32_formats.h"
#include "k_quant_formats.h"

namespace candle {

__device__ inline f16 half_of(i32 x) { return narrow<f16>(f32(x)); }

// The value of quant q in f16, with the fused multiply-adds of nvcc; `half` says in which 16 weights of the group it
// is.
template <class F>
__device__ inline f16 half_value(const Scales &s, i32 q, int half) {
  const f16 d{u16(s.dm)}, m{u16(s.dm >> 16)};
  if constexpr (is_same<F, Q2_K>) {
    const i32 sm = Q2_K::scale_of_half(s, half);
    return fma(d, half_of((sm & 15) * q), -(m * half_of(sm >> 4)));
  } else if constexpr (is_same<F, Q3_K>) {
    return d * half_of(half ? s.signed_b() : s.signed_a()) * half_of(q);
  } else if constexpr (is_same<F, Q6_K>) {
    return d * half_of((half ? s.signed_b() : s.signed_a()) * q);
  } else {
    return fma(d * half_of(s.a()), half_of(q), -(m * half_of(s.b())));
  }
}

// Eight neighbouring values of a row of quantized weights, rounded to T. They are in the same half of a group.
template <class F, class T>
struct QuantizedWeights {
  const typename F::Block *data;
  __device__ Pack<T, 8> operator()(i64 row, int column, int size_k) const {
    const typename F::Block &block = data[row * (size_k / F::length) + column / F::length];
    const int group = column % F::length / group_length, first_word = column % group_length / 4;
    const Scales scales = F::scales(block, group);
    Pack<T, 8> values;
#pragma unroll
    for (int word = 0; word < 2; ++word) {
      const u32 quants = F::quants(block, group, first_word + word);
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const i32 q = i32(quants << (24 - 8 * k)) >> 24;
        if constexpr (is_same<F, Q8_0>) {
          values.data[4 * word + k] = narrow<T>(f32(q) * scales.d());
        } else {
          values.data[4 * word + k] = narrow<T>(widen(half_value<F>(scales, q, first_word / 4)));
        }
      }
    }
    return values;
  }
};

}  // namespace candle
