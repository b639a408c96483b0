// Bytes around memory that no kernel may write. They are NaN in every float format, and differ from the poison (0xff)
// in every second byte, so that a kernel that writes all ones is seen.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace simt {

constexpr std::size_t lead_canary = 64;  // bytes before an allocation or a shared variable

namespace canary {

constexpr std::size_t chunk_bytes = 64;
struct Pattern {
  char bytes[chunk_bytes + 1];
  constexpr Pattern() : bytes() {
    for (std::size_t i = 0; i <= chunk_bytes; ++i) bytes[i] = i & 1 ? '\x7f' : '\xff';
  }
};
inline constexpr Pattern pattern;

inline const char *at(const char *address) { return pattern.bytes + (reinterpret_cast<std::uintptr_t>(address) & 1); }

inline void fill(char *from, const char *to) {
  for (std::size_t n; from < to; from += n)
    std::memcpy(from, at(from), n = std::min(chunk_bytes, static_cast<std::size_t>(to - from)));
}

inline bool intact(const char *from, const char *to) {
  for (std::size_t n; from < to; from += n)
    if (std::memcmp(from, at(from), n = std::min(chunk_bytes, static_cast<std::size_t>(to - from))) != 0) return false;
  return true;
}

// The first damaged byte, or `to`; and one past the last damaged byte, or `from`.
inline const char *first_damage(const char *from, const char *to) {
  while (from < to && *from == *at(from)) ++from;
  return from;
}
inline const char *last_damage(const char *from, const char *to) {
  while (to > from && to[-1] == *at(to - 1)) --to;
  return to;
}

}  // namespace canary
}  // namespace simt
