// Vector operands of an instruction as arrays of lanes, and results back to registers.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "floats.h"
#include "machine.h"

namespace isa {

template <class T>
constexpr bool is_float = std::is_same_v<T, f16> || std::is_same_v<T, f32> || std::is_same_v<T, f64>;

template <std::size_t n>
using word_of = std::conditional_t<n == 8, u64, std::conditional_t<n == 4, u32, u16>>;

// An inline constant as `T` sees it.
template <class T>
T inline_constant(u16 code) {
  if (code <= 192) return std::bit_cast<T>(static_cast<word_of<sizeof(T)>>(code - 128));
  if (code <= 208) return std::bit_cast<T>(static_cast<word_of<sizeof(T)>>(192 - code));
  static constexpr double values[] = {0.5, -0.5, 1, -1, 2, -2, 4, -4};
  if constexpr (sizeof(T) == 8) {
    const u64 bits = code == two_pi ? 0x3fc45f306dc9c882 : std::bit_cast<u64>(values[code - first_float]);
    return std::bit_cast<T>(bits);
  } else if constexpr (sizeof(T) == 4) {
    const u32 bits = code == two_pi ? 0x3e22f983 : std::bit_cast<u32>(static_cast<f32>(values[code - first_float]));
    return std::bit_cast<T>(bits);
  } else if constexpr (is_float<T>) {
    const u16 bits = code == two_pi ? 0x3118 : std::bit_cast<u16>(static_cast<f16>(values[code - first_float]));
    return std::bit_cast<T>(bits);
  } else {
    return std::bit_cast<T>(static_cast<u16>(inline_constant<u32>(code)));  // the low half of an f32
  }
}

// What is above an inline constant of 16 bits in its register: integers are extended by their sign, floats of f16
// instructions by zeros, those of integer instructions are f32 (LLVM, AMDGPUBaseInfo.cpp, getInlineEncodingV216).
template <class T>
T inline_constant_above(u16 code) {
  if (is_float<T> && code >= first_float) return T{0};
  return std::bit_cast<T>(static_cast<u16>(inline_constant<u32>(code) >> 16));
}

inline bool is_inline(u16 code) { return (code >= 128 && code <= 208) || (code >= first_float && code <= two_pi); }

// The value of an operand that is the same in all lanes.
template <class T>
T uniform(const Wave &w, const Inst &i, u16 code) {
  if (is_inline(code)) return inline_constant<T>(code);
  if constexpr (sizeof(T) == 8) {
    if (code == literal) {
      if constexpr (is_float<T>) return std::bit_cast<T>(u64{i.constant} << 32);
      if constexpr (std::is_signed_v<T>) return static_cast<T>(static_cast<i32>(i.constant));
      return std::bit_cast<T>(u64{i.constant});
    }
    return std::bit_cast<T>(w.scalar64(code, i));
  } else {
    return std::bit_cast<T>(static_cast<word_of<sizeof(T)>>(w.scalar(code, i)));
  }
}

template <class T>
void modify(const Inst &i, int n, T *out) {
  if constexpr (is_float<T>) {
    using W = word_of<sizeof(T)>;
    constexpr W sign = W{1} << (8 * sizeof(T) - 1);
    W *bits = reinterpret_cast<W *>(out);
    if (i.abs >> n & 1)
      for (int l = 0; l < lanes; ++l) bits[l] &= static_cast<W>(~sign);
    if (i.neg >> n & 1)
      for (int l = 0; l < lanes; ++l) bits[l] ^= sign;
  }
}

// A source that is not as it is in a register: the operand `code`, with the modifiers of source `n`, in `buffer`.
// 16-bit operands are the low half of a register, or the high one where op_sel says so.
template <class T>
[[gnu::noinline]] const T *prepared(Wave &w, const Inst &i, int n, u16 code, T *buffer) {
  bool high = i.op_sel >> n & 1;
  if (sizeof(T) == 2 && i.flags & Halves && code >= vgpr + 128 && code < temporary) {
    code = static_cast<u16>(code - 128);
    high = true;
  }
  if (code < vgpr) {
    T value = uniform<T>(w, i, code);
    if constexpr (sizeof(T) == 2)
      if (high && !is_inline(code)) value = std::bit_cast<T>(static_cast<u16>(w.scalar(code, i) >> 16));
    for (int l = 0; l < lanes; ++l) buffer[l] = value;
  } else {
    const u32 *low = w.in(code - vgpr);
    if constexpr (sizeof(T) == 4) {
      std::memcpy(buffer, low, sizeof(u32) * lanes);
    } else if constexpr (sizeof(T) == 8) {
      const u32 *high = w.in(code - vgpr + 1);
      u64 *out = reinterpret_cast<u64 *>(buffer);
      for (int l = 0; l < lanes; ++l) out[l] = u64{high[l]} << 32 | low[l];
    } else {
      u16 *out = reinterpret_cast<u16 *>(buffer);
      const int shift = high ? 16 : 0;
      for (int l = 0; l < lanes; ++l) out[l] = static_cast<u16>(low[l] >> shift);
    }
  }
  modify(i, n, buffer);
  return buffer;
}

// The operand `code` as source `n` in every lane: in `buffer`, or in the register where nothing has to be done to it.
template <class T>
[[gnu::always_inline]] inline const T *operand(Wave &w, const Inst &i, int n, u16 code, T *buffer) {
  if constexpr (sizeof(T) == 4)
    if (code >= vgpr && !(is_float<T> && (i.neg | i.abs) >> n & 1))
      return reinterpret_cast<const T *>(w.in(code - vgpr));
  return prepared(w, i, n, code, buffer);
}
template <class T>
[[gnu::always_inline]] inline const T *source(Wave &w, const Inst &i, int n, T *buffer) {
  return operand(w, i, n, i.src[n], buffer);
}

inline u64 writable(const Wave &w, const Inst &i) { return i.flags & Dpp ? w.write_exec : w.exec_; }

// 32 bits of every lane in `bits` into a register.
[[gnu::always_inline]] inline void put_lanes(Wave &w, u64 bits, u32 *to, const u32 *value) {
  if (bits == ~u64{0}) {
    std::memcpy(to, value, sizeof(u32) * lanes);
    return;
  }
  const u32 *mask = w.masks(bits);
  for (int l = 0; l < lanes; ++l) to[l] = (value[l] & mask[l]) | (to[l] & ~mask[l]);
}
[[gnu::always_inline]] inline void put_words(Wave &w, u64 bits, u32 r, const u32 *value) {
  put_lanes(w, bits, w.out(r), value);
}

// What the clamp bit does to a float; NaN becomes 0, as descriptors ask for (DX10_CLAMP).
template <class T>
void clamp(const Inst &i, T *r) {
  if (i.flags & Clamp)
    for (int l = 0; l < lanes; ++l) r[l] = r[l] > T{1} ? T{1} : r[l] > T{0} ? r[l] : T{0};
}

// Output modifiers (omod) are ignored where subnormals are kept or the mode is IEEE (RDNA3 ISA document, 7.2.3.1), as
// in every mode that launches are made in.
template <class T>
void finish(const Inst &i, T *r) {
  if constexpr (is_float<T>) clamp(i, r);
}

// A result of every active lane into the destination. `keeps` says that 16-bit results leave the other half alone.
template <class T, bool keeps = false>
[[gnu::always_inline]] inline void put(Wave &w, const Inst &i, T *r) {
  finish(i, r);
  const u64 bits = writable(w, i);
  u32 to = i.dst - vgpr;
  if constexpr (sizeof(T) == 4) {
    put_words(w, bits, to, reinterpret_cast<const u32 *>(r));
  } else if constexpr (sizeof(T) == 8) {
    u32 low[lanes], high[lanes];
    const u64 *from = reinterpret_cast<const u64 *>(r);
    for (int l = 0; l < lanes; ++l) {
      low[l] = static_cast<u32>(from[l]);
      high[l] = static_cast<u32>(from[l] >> 32);
    }
    put_words(w, bits, to, low);
    put_words(w, bits, to + 1, high);
  } else {
    u32 wide[lanes];
    const u16 *from = reinterpret_cast<const u16 *>(r);
    const bool upper = i.flags & Halves && to >= 128 && to < vector_registers;
    if (upper) to -= 128;
    const u32 *old = w.v[to];
    if (i.op_sel & 8 || upper)
      for (int l = 0; l < lanes; ++l) wide[l] = u32{from[l]} << 16 | (old[l] & 0xffff);
    else if (keeps || i.flags & Keeps)
      for (int l = 0; l < lanes; ++l) wide[l] = from[l] | (old[l] & 0xffff0000u);
    else
      for (int l = 0; l < lanes; ++l) wide[l] = from[l];
    put_words(w, bits, to, wide);
  }
}

// A mask with a bit for each lane whose byte is not 0.
inline u64 packed(const u8 *flags) {
  u64 bits = 0;
  for (int g = 0; g < 8; ++g) {
    u64 eight;
    std::memcpy(&eight, flags + 8 * g, 8);
    bits |= (eight * 0x0102040810204080 >> 56) << (8 * g);
  }
  return bits;
}

}  // namespace isa
