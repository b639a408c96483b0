// What the tiles of grouped products have in common.
//
// A tile has the products of tile_tokens tokens with grouped_rows rows, distributed over the threads: sum(n, m) is that
// of token(n) and row(m) of it, for n < tokens and m < rows. `add` adds the products of `depth` values, which
// Operand::store has put into LDS, for the first `used` tokens at least.
#pragma once

#include "pack.h"

namespace candle {

constexpr int grouped_threads = 128, grouped_rows = 64;

}  // namespace candle
