// Numbers of 16 bits as the libraries compute with them: stored narrow, wide in arithmetic.
#pragma once

#include <bit>
#include <cstdint>

namespace emulated {

using Half = _Float16;

struct BrainFloat {
  std::uint16_t bits;
};

inline float wide(Half x) { return static_cast<float>(x); }
inline float wide(BrainFloat x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16); }
inline float wide(float x) { return x; }
inline double wide(double x) { return x; }

// `x` rounded to nearest even.
template <class T, class W>
T narrow(W x) {
  return static_cast<T>(x);
}
template <>
inline BrainFloat narrow(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t rounded = x != x ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return {static_cast<std::uint16_t>(rounded)};
}

}  // namespace emulated
