// Conversions to and from 16-bit floats which compilers call by name where the processor has no instruction. Modules
// are linked without a compiler support library and find them here. Round to nearest even, subnormals and NaN kept.
#include <bit>
#include <cstdint>

namespace {

// Narrows an IEEE number with `sig` fraction bits and `exp` exponent bits to a 16-bit one.
template <class Bits, int exp, int sig, int to_exp, int to_sig>
std::uint16_t narrow(Bits bits) {
  constexpr Bits one = 1;
  constexpr int bias = (1 << (exp - 1)) - 1, to_bias = (1 << (to_exp - 1)) - 1;
  constexpr int drop = sig - to_sig;
  const auto sign = static_cast<std::uint16_t>((bits >> (exp + sig) & 1) << 15);
  const int e = static_cast<int>(bits >> sig & ((one << exp) - 1));
  Bits fraction = bits & ((one << sig) - 1);
  constexpr std::uint16_t infinity = ((1 << to_exp) - 1) << to_sig;
  if (e == (1 << exp) - 1) {
    if (!fraction) return sign | infinity;
    constexpr std::uint16_t quiet = 1 << (to_sig - 1);
    return static_cast<std::uint16_t>(sign | infinity | quiet | static_cast<std::uint16_t>(fraction >> drop));
  }
  int to_e = e - bias + to_bias;
  int shift = drop;
  if (to_e <= 0) {  // subnormal or zero in the result
    if (e)
      fraction |= one << sig;
    else
      ++to_e;  // subnormals have exponent 1 - bias
    shift += 1 - to_e;
    if (shift > sig + 1) return sign;
    to_e = 0;
  }
  Bits kept = fraction >> shift;
  const Bits rest = fraction & ((one << shift) - 1), half = one << (shift - 1);
  if (rest > half || (rest == half && (kept & 1))) ++kept;
  // A carry out of the fraction goes into the exponent, as it should.
  const Bits result = (static_cast<Bits>(to_e) << to_sig) + kept;
  return sign | static_cast<std::uint16_t>(result >= infinity ? infinity : result);
}

}  // namespace

#define SIMT_ROUTINE extern "C" __attribute__((visibility("default")))

// The ABI passes _Float16 and __bf16 in SSE registers, and a vector register cannot be named here as an integer: the
// 16 bits travel in the low half of a float, whose upper bits callers ignore.
namespace {
float in_register(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); }
}  // namespace

SIMT_ROUTINE float __truncsfhf2(float x) {
  return in_register(narrow<std::uint32_t, 8, 23, 5, 10>(std::bit_cast<std::uint32_t>(x)));
}
SIMT_ROUTINE float __truncdfhf2(double x) {
  return in_register(narrow<std::uint64_t, 11, 52, 5, 10>(std::bit_cast<std::uint64_t>(x)));
}
SIMT_ROUTINE float __truncsfbf2(float x) {
  return in_register(narrow<std::uint32_t, 8, 23, 8, 7>(std::bit_cast<std::uint32_t>(x)));
}
SIMT_ROUTINE float __truncdfbf2(double x) {
  return in_register(narrow<std::uint64_t, 11, 52, 8, 7>(std::bit_cast<std::uint64_t>(x)));
}
SIMT_ROUTINE float __extendhfsf2(float in) {
  const std::uint32_t h = std::bit_cast<std::uint32_t>(in) & 0xffff;
  const std::uint32_t sign = (h & 0x8000) << 16, e = h >> 10 & 31, fraction = h & 0x3ff;
  if (e == 31) {
    const std::uint32_t quiet = fraction ? 1u << 22 : 0;
    return std::bit_cast<float>(sign | 0x7f800000 | quiet | fraction << 13);
  }
  if (e) return std::bit_cast<float>(sign | (e + 112) << 23 | fraction << 13);
  const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
}
