// What atomic instructions do to a word of memory.
#pragma once

#include <algorithm>
#include <atomic>

#include "floats.h"
#include "machine.h"

namespace isa {

template <class T>
constexpr auto swapped = [](T, T b) { return b; };
template <class T>
constexpr auto added = [](T a, T b) { return static_cast<T>(a + b); };
template <class T>
constexpr auto subtracted = [](T a, T b) { return static_cast<T>(a - b); };
template <class T>
constexpr auto subtracted_from = [](T a, T b) { return static_cast<T>(b - a); };
template <class T>
constexpr auto subtracted_if_less = [](T a, T b) { return a >= b ? static_cast<T>(a - b) : a; };
template <class T>
constexpr auto subtracted_to_zero = [](T a, T b) { return a >= b ? static_cast<T>(a - b) : T{0}; };
template <class T>
constexpr auto lesser = [](T a, T b) { return std::min(a, b); };
template <class T>
constexpr auto greater = [](T a, T b) { return std::max(a, b); };
template <class T>
constexpr auto lesser_float = [](T a, T b) { return minimum(a, b); };
template <class T>
constexpr auto greater_float = [](T a, T b) { return maximum(a, b); };
template <class T>
constexpr auto lesser_number = [](T a, T b) { return minimum_number(a, b); };
template <class T>
constexpr auto greater_number = [](T a, T b) { return maximum_number(a, b); };
template <class T>
constexpr auto anded = [](T a, T b) { return static_cast<T>(a & b); };
template <class T>
constexpr auto ored = [](T a, T b) { return static_cast<T>(a | b); };
template <class T>
constexpr auto xored = [](T a, T b) { return static_cast<T>(a ^ b); };
template <class T>
constexpr auto incremented = [](T a, T b) { return a >= b ? T{0} : static_cast<T>(a + 1); };
template <class T>
constexpr auto decremented = [](T a, T b) { return a == 0 || a > b ? b : static_cast<T>(a - 1); };
constexpr auto added_halves = [](u32 a, u32 b) {
  const auto sum = [](u32 x, u32 y) -> u32 {
    return bits_of(static_cast<f16>(std::bit_cast<f16>(static_cast<u16>(x)) + std::bit_cast<f16>(static_cast<u16>(y))));
  };
  return sum(a, b) | sum(a >> 16, b >> 16) << 16;
};
constexpr auto added_brain_floats = [](u32 a, u32 b) {
  const auto sum = [](u32 x, u32 y) { return brain_float(std::bit_cast<f32>(x << 16) + std::bit_cast<f32>(y << 16)); };
  return sum(a, b) | sum(a >> 16, b >> 16) << 16;
};

template <class T>
T read_lane(const Wave &w, u32 r, int l) {
  if constexpr (sizeof(T) == 8)
    return std::bit_cast<T>(u64{w.v[r + 1][l]} << 32 | w.v[r][l]);
  else
    return std::bit_cast<T>(w.v[r][l]);
}

template <class T>
void write_lane(Wave &w, u32 r, int l, T value) {
  if constexpr (sizeof(T) == 8) {
    const u64 bits = std::bit_cast<u64>(value);
    w.v[r][l] = static_cast<u32>(bits);
    w.v[r + 1][l] = static_cast<u32>(bits >> 32);
  } else {
    w.v[r][l] = std::bit_cast<u32>(value);
  }
}

// Changes the word at `p` by the operand in register `from`, at once for all threads; the word as it was. A comparing
// swap has what is expected behind the new value.
template <class T, auto f, bool compares>
T change(u8 *p, const Wave &w, u32 from, int lane) {
  using W = std::conditional_t<sizeof(T) == 8, u64, u32>;
  w.settle(p, sizeof(T));
  if (reinterpret_cast<u64>(p) % sizeof(T)) throw Fault(Fault::Other, "an atomic access that is not aligned");
  W *word = reinterpret_cast<W *>(p);
  const T operand = read_lane<T>(w, from, lane);
  W old = __atomic_load_n(word, __ATOMIC_SEQ_CST);
  for (;;) {
    W next;
    if constexpr (compares) {
      if (old != std::bit_cast<W>(read_lane<T>(w, from + sizeof(T) / 4, lane))) return std::bit_cast<T>(old);
      next = std::bit_cast<W>(operand);
    } else {
      next = std::bit_cast<W>(static_cast<T>(f(std::bit_cast<T>(old), operand)));
    }
    if (__atomic_compare_exchange_n(word, &old, next, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
      return std::bit_cast<T>(old);
  }
}

}  // namespace isa
