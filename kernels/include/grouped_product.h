// Products of the tokens of each expert with the expert's weights, in tiles; f16 and bf16 factors, f32 sums.
#pragma once

#include "arithmetic.h"
#include "pack.h"

namespace candle {

constexpr int grouped_threads = 128, grouped_tokens = 32, grouped_rows = 64, grouped_depth = 32;  // tile sizes

// Where the tokens of an expert are, and what their results are multiplied with.
struct Routing {
  const i32 *sorted_token_ids, *offsets;  // of token i of the list; of the experts' first tokens in the list
  const f32 *topk_weights;                // by token, or null
  int topk, size_m, size_n, size_k;       // list length, rows of weights of an expert, their length
};

// Four neighbouring values of a row of weights, as f32: weights that are not quantized.
template <class T>
struct PlainWeights {
  const T *data;
  __device__ Pack<f32, 4> operator()(i64 row, int column, int size_k) const {
    const auto loaded = load_pack<4>(data + row * size_k + column);
    return {widen(loaded.data[0]), widen(loaded.data[1]), widen(loaded.data[2]), widen(loaded.data[3])};
  }
};

// A tile by column, so that neighbouring rows are read together; the padding spreads the columns over the banks.
template <int rows>
struct GroupedTile {
  static constexpr int pitch = rows + 4, packs_per_row = grouped_depth / 4;
  static constexpr int packs_per_thread = rows * packs_per_row / grouped_threads;
  static constexpr int row_step = grouped_threads / packs_per_row;
  alignas(16) f32 values[grouped_depth][pitch];

  __device__ void store(const Pack<f32, 4> (&packs)[packs_per_thread], int t) {
#pragma unroll
    for (int p = 0; p < packs_per_thread; ++p) {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        values[4 * (t % packs_per_row) + k][t / packs_per_row + row_step * p] = packs[p].data[k];
      }
    }
  }
};

// Thread block (expert, tile): all tokens of an expert times grouped_rows of its rows. A thread has four tokens and
// four rows. `weights` loads the weights; store(token, row, sum) is called for every result.
template <class T, class Weights, class Store>
__device__ inline void grouped_product(const T *__restrict__ input, const Weights &weights, const Routing &routing,
                                       Store store) {
  using Tokens = GroupedTile<grouped_tokens>;
  using Rows = GroupedTile<grouped_rows>;
  __shared__ Tokens tokens;
  __shared__ Rows rows;
  const int expert = blockIdx.x, row0 = blockIdx.y * grouped_rows, t = threadIdx.x;
  const int begin = routing.offsets[expert], end = routing.offsets[expert + 1];
  const int size_n = routing.size_n, size_k = routing.size_k;
  const int token_part = 4 * (t / (grouped_rows / 4)), row_part = 4 * (t % (grouped_rows / 4));
  const int column = 4 * (t % Tokens::packs_per_row), first = t / Tokens::packs_per_row;
  for (int begin_tile = begin; begin_tile < end; begin_tile += grouped_tokens) {
    const int used = end - begin_tile < grouped_tokens ? end - begin_tile : grouped_tokens;
    const T *token_rows[Tokens::packs_per_thread];
#pragma unroll
    for (int p = 0; p < Tokens::packs_per_thread; ++p) {
      const int i = first + Tokens::row_step * p;
      const int token = routing.sorted_token_ids[begin_tile + (i < used ? i : 0)];
      token_rows[p] = input + i64(routing.topk_weights ? token : token / routing.topk) * size_k;
    }
    Pack<f32, 4> token_packs[Tokens::packs_per_thread], row_packs[Rows::packs_per_thread];
    const auto load = [&](int k) {
#pragma unroll
      for (int p = 0; p < Tokens::packs_per_thread; ++p) {
        token_packs[p] = k + column < size_k && first + Tokens::row_step * p < used
                             ? PlainWeights<T>{token_rows[p]}(0, k + column, size_k)
                             : Pack<f32, 4>{};
      }
#pragma unroll
      for (int p = 0; p < Rows::packs_per_thread; ++p) {
        const int row = row0 + first + Rows::row_step * p;
        row_packs[p] = k + column < size_k && row < size_n ? weights(i64(expert) * size_n + row, k + column, size_k)
                                                           : Pack<f32, 4>{};
      }
    };
    load(0);
    f32 acc[4][4] = {};
    for (int k0 = 0; k0 < size_k; k0 += grouped_depth) {
      __syncthreads();
      tokens.store(token_packs, t);
      rows.store(row_packs, t);
      __syncthreads();
      if (k0 + grouped_depth < size_k) load(k0 + grouped_depth);
      if (token_part < used) {
#pragma unroll 8
        for (int k = 0; k < grouped_depth; ++k) {
          const auto a = load_pack<4>(&tokens.values[k][token_part]);
          const auto b = load_pack<4>(&rows.values[k][row_part]);
#pragma unroll
          for (int i = 0; i < 4; ++i) {
#pragma unroll
            for (int j = 0; j < 4; ++j) acc[i][j] = fma(a.data[i], b.data[j], acc[i][j]);
          }
        }
      }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (token_part + i >= used) continue;
      const int token = routing.sorted_token_ids[begin_tile + token_part + i];
      const f32 scale = routing.topk_weights ? routing.topk_weights[token] : 1.0f;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int row = row0 + row_part + j;
        if (row < size_n) store(token, row, acc[i][j] * scale);
      }
    }
  }
}

}  // namespace candle
