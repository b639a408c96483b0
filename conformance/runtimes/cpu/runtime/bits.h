// What <bit> has, which is C++20's.
#pragma once

#include <cstdint>

namespace simt {

// The number of zero bits below the lowest bit that is set; 64 where none is.
constexpr unsigned zeros_below(std::uint64_t bits) {
  return bits == 0 ? 64 : static_cast<unsigned>(__builtin_ctzll(bits));
}

// The largest power of two that is not above `number`, which is not 0.
constexpr std::uint64_t power_below(std::uint64_t number) { return std::uint64_t{1} << (63 - __builtin_clzll(number)); }

}  // namespace simt
