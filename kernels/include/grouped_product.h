// Products of the tokens of each expert with the expert's weights, in tiles; f16 and bf16 factors, f32 sums.
#pragma once

#include "grouped_fma_tile.h"
#include "grouped_matrix_tile.h"

namespace candle {

// Where the tokens of an expert are, and what their results are multiplied with.
struct Routing {
  const i32 *sorted_token_ids, *offsets;  // of token i of the list; of the experts' first tokens in the list
  const f32 *topk_weights;                // by token, or null
  int topk, size_m, size_n, size_k;       // list length, rows of weights of an expert, their length
};

// Eight neighbouring values of a row of weights: weights that are not quantized. Rows are multiples of eight long.
template <class T>
struct PlainWeights {
  const T *data;
  __device__ Pack<T, 8> operator()(i64 row, int column, int size_k) const {
    return load_pack<8>(data + row * size_k + column);
  }
};

template <bool by_matrices, class T>
struct select_grouped_tile {
  using type = FmaTile<T>;
};
template <class T>
struct select_grouped_tile<true, T> {
  using type = MatrixTile<target::Matrices, T>;
};

// Thread block (expert, tile): all tokens of an expert times grouped_rows of its rows. `weights` loads the weights;
// store(token, row, sum) is called for every result.
template <class T, class Weights, class Store>
__device__ inline void grouped_product(const T *__restrict__ input, const Weights &weights, const Routing &routing,
                                       Store store) {
  using Tile = typename select_grouped_tile<target::Matrices::halves, T>::type;
  constexpr int packs_per_row = Tile::depth / 8, row_step = grouped_threads / packs_per_row;
  constexpr int token_packs = Tile::tile_tokens / row_step, row_packs = grouped_rows / row_step;  // of a thread
  __shared__ typename Tile::template Operand<Tile::tile_tokens> tokens;
  __shared__ typename Tile::template Operand<grouped_rows> rows;
  const int expert = blockIdx.x, row0 = blockIdx.y * grouped_rows, t = threadIdx.x;
  const int begin = routing.offsets[expert], end = routing.offsets[expert + 1];
  const int size_n = routing.size_n, size_k = routing.size_k;
  const int column = 8 * (t % packs_per_row), first = t / packs_per_row;
  for (int begin_tile = begin; begin_tile < end; begin_tile += Tile::tile_tokens) {
    const int used = end - begin_tile < Tile::tile_tokens ? end - begin_tile : Tile::tile_tokens;
    // Tokens and rows beyond the last are loaded as another one, and not used.
    const T *token_rows[token_packs];
#pragma unroll
    for (int p = 0; p < token_packs; ++p) {
      const int i = first + row_step * p;
      const int token = routing.sorted_token_ids[begin_tile + (i < used ? i : 0)];
      token_rows[p] = input + i64(routing.topk_weights ? token : token / routing.topk) * size_k;
    }
    Pack<T, 8> of_tokens[token_packs], of_rows[row_packs];
    const auto load = [&](int k) {
      const bool inside = k + column < size_k;
#pragma unroll
      for (int p = 0; p < token_packs; ++p) {
        of_tokens[p] = inside ? load_pack<8>(token_rows[p] + k + column) : Pack<T, 8>{};
      }
#pragma unroll
      for (int p = 0; p < row_packs; ++p) {
        const int row = row0 + first + row_step * p;
        of_rows[p] =
            inside ? weights(i64(expert) * size_n + (row < size_n ? row : row0), k + column, size_k) : Pack<T, 8>{};
      }
    };
    load(0);
    Tile tile(t);
    for (int k0 = 0; k0 < size_k; k0 += Tile::depth) {
      __syncthreads();
#pragma unroll
      for (int p = 0; p < token_packs; ++p) tokens.store(first + row_step * p, column, of_tokens[p]);
#pragma unroll
      for (int p = 0; p < row_packs; ++p) rows.store(first + row_step * p, column, of_rows[p]);
      __syncthreads();
      if (k0 + Tile::depth < size_k) load(k0 + Tile::depth);
      tile.add(tokens, rows, used);
    }
#pragma unroll
    for (int n = 0; n < Tile::tokens; ++n) {
      if (tile.token(n) >= used) continue;
      const int token = routing.sorted_token_ids[begin_tile + tile.token(n)];
      const f32 scale = routing.topk_weights ? routing.topk_weights[token] : 1.0f;
#pragma unroll
      for (int m = 0; m < Tile::rows; ++m) {
        const int row = row0 + tile.row(m);
        if (row < size_n) store(token, row, tile.sum(n, m) * scale);
      }
    }
  }
}

}  // namespace candle
