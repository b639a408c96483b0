// Bytes around memory that no kernel may write: NaN in every float format, and other than the poison (0xff) in every
// second byte, so that a kernel that writes all ones is seen. What is added to a NaN leaves it as it was: in all thread
// orders but the first they are small numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace simt {

constexpr std::size_t lead_canary = 1024;  // bytes before an allocation

namespace canary {

constexpr std::size_t chunk_bytes = 1024;
struct Pattern {
  char bytes[chunk_bytes + 1];
  constexpr Pattern(char even, char odd) : bytes() {
    for (std::size_t i = 0; i <= chunk_bytes; ++i) bytes[i] = i & 1 ? odd : even;
  }
  const char *at(const char *address) const { return bytes + (reinterpret_cast<std::uintptr_t>(address) & 1); }
};
inline constexpr Pattern nan{'\xff', '\x7f'}, number{'\x3c', '\x3c'};

inline void fill(const Pattern &pattern, char *from, const char *to) {
  for (std::size_t n; from < to; from += n)
    std::memcpy(from, pattern.at(from), n = std::min(chunk_bytes, static_cast<std::size_t>(to - from)));
}

inline bool intact(const Pattern &pattern, const char *from, const char *to) {
  for (std::size_t n; from < to; from += n)
    if (std::memcmp(from, pattern.at(from), n = std::min(chunk_bytes, static_cast<std::size_t>(to - from))) != 0)
      return false;
  return true;
}

// The first damaged byte, or `to`; and one past the last damaged byte, or `from`.
inline const char *first_damage(const Pattern &pattern, const char *from, const char *to) {
  while (from < to && *from == *pattern.at(from)) ++from;
  return from;
}
inline const char *last_damage(const Pattern &pattern, const char *from, const char *to) {
  while (to > from && to[-1] == *pattern.at(to - 1)) --to;
  return to;
}

}  // namespace canary
}  // namespace simt
