// What loads and stores to every kind of memory have in common: active lanes, and words between memory and registers.
#pragma once

#include "atomics.h"
#include "operands.h"

namespace isa {

// Whether all lanes are active, and `bytes` at each of the addresses lie in one window: then they are as in the host's
// memory. Raises AddressFault as the access of the first lane does.
inline bool all_within(Wave &w, const u64 *a, u32 bytes) {
  if (w.exec_ != ~u64{0} || !w.at(a[0], bytes, 0)) return false;
  const u64 begin = w.windows[w.hot].begin, most = w.windows[w.hot].end - begin - bytes;
  u64 outside = 0;  // in its highest bit: memory has less than 2^63 bytes
  for (int l = 0; l < lanes; ++l) outside |= (a[l] - begin) | (most - (a[l] - begin));
  return !(outside >> 63);
}

template <class F>
inline void each_active(const Wave &w, F f) {
  for (u64 left = w.exec_; left; left &= left - 1) f(std::countr_zero(left));
}

// `count` values from `p` on into as many registers of a lane, whole or into one half.
template <class T, int count, Half half>
inline void load_words(Wave &w, u32 to, int lane, const u8 *p) {
  for (u32 n = 0; n < count; ++n) {
    const u32 value = static_cast<u32>(load_as<T>(p + n * sizeof(T)));
    u32 &r = w.v[to + n][lane];
    if constexpr (half == Half::Whole) {
      r = value;
    } else {
      const u32 kept = w.launch->code->has_ecc ? 0 : r;
      r = half == Half::Low ? (kept & 0xffff0000) | (value & 0xffff) : (kept & 0xffff) | value << 16;
    }
  }
}

template <class T, int count, bool high = false>
inline void store_words(const Wave &w, u32 from, int lane, u8 *p) {
  if (w.waits.memory) [[unlikely]]
    w.note(p, sizeof(T) * count);
  for (u32 n = 0; n < count; ++n)
    store_as<T>(p + n * sizeof(T), static_cast<T>(w.v[from + n][lane] >> (high ? 16 : 0)));
}

}  // namespace isa

// What loads, stores and atomic instructions of all kinds of memory are called, on CDNA and on RDNA 3 and 4, with the
// arguments of the template behind them: rows of tables.
#define BOTH(ROW, old, name, ...) ROW(old, __VA_ARGS__), ROW(name, __VA_ARGS__)
#define LOADS(ROW)                                                                                                   \
  BOTH(ROW, "ubyte", "u8", u8, 1), BOTH(ROW, "sbyte", "i8", i8, 1), BOTH(ROW, "ushort", "u16", u16, 1),              \
      BOTH(ROW, "sshort", "i16", i16, 1), BOTH(ROW, "dword", "b32", u32, 1), BOTH(ROW, "dwordx2", "b64", u32, 2),    \
      BOTH(ROW, "dwordx3", "b96", u32, 3), BOTH(ROW, "dwordx4", "b128", u32, 4),                                     \
      BOTH(ROW, "ubyte_d16", "d16_u8", u8, 1, Half::Low), BOTH(ROW, "ubyte_d16_hi", "d16_hi_u8", u8, 1, Half::High), \
      BOTH(ROW, "sbyte_d16", "d16_i8", i8, 1, Half::Low), BOTH(ROW, "sbyte_d16_hi", "d16_hi_i8", i8, 1, Half::High), \
      BOTH(ROW, "short_d16", "d16_b16", u16, 1, Half::Low),                                                          \
      BOTH(ROW, "short_d16_hi", "d16_hi_b16", u16, 1, Half::High)
#define STORES(ROW)                                                                                                \
  BOTH(ROW, "byte", "b8", u8, 1), BOTH(ROW, "byte_d16_hi", "d16_hi_b8", u8, 1, true),                              \
      BOTH(ROW, "short", "b16", u16, 1), BOTH(ROW, "short_d16_hi", "d16_hi_b16", u16, 1, true),                    \
      BOTH(ROW, "dword", "b32", u32, 1), BOTH(ROW, "dwordx2", "b64", u32, 2), BOTH(ROW, "dwordx3", "b96", u32, 3), \
      BOTH(ROW, "dwordx4", "b128", u32, 4)
#define ATOMICS_OF(ROW, x2, bits)                                                                                     \
  BOTH(ROW, "swap" x2, "swap_b" #bits, u##bits, swapped<u##bits>),                                                    \
      BOTH(ROW, "cmpswap" x2, "cmpswap_b" #bits, u##bits, swapped<u##bits>, true),                                    \
      BOTH(ROW, "add" x2, "add_u" #bits, u##bits, added<u##bits>),                                                    \
      BOTH(ROW, "sub" x2, "sub_u" #bits, u##bits, subtracted<u##bits>),                                               \
      BOTH(ROW, "smin" x2, "min_i" #bits, i##bits, lesser<i##bits>),                                                  \
      BOTH(ROW, "umin" x2, "min_u" #bits, u##bits, lesser<u##bits>),                                                  \
      BOTH(ROW, "smax" x2, "max_i" #bits, i##bits, greater<i##bits>),                                                 \
      BOTH(ROW, "umax" x2, "max_u" #bits, u##bits, greater<u##bits>),                                                 \
      BOTH(ROW, "and" x2, "and_b" #bits, u##bits, anded<u##bits>),                                                    \
      BOTH(ROW, "or" x2, "or_b" #bits, u##bits, ored<u##bits>),                                                       \
      BOTH(ROW, "xor" x2, "xor_b" #bits, u##bits, xored<u##bits>),                                                    \
      BOTH(ROW, "inc" x2, "inc_u" #bits, u##bits, incremented<u##bits>),                                              \
      BOTH(ROW, "dec" x2, "dec_u" #bits, u##bits, decremented<u##bits>), ROW("add_f" #bits, f##bits, added<f##bits>), \
      BOTH(ROW, "fmin" x2, "min_f" #bits, f##bits, lesser_float<f##bits>),                                            \
      BOTH(ROW, "fmax" x2, "max_f" #bits, f##bits, greater_float<f##bits>)
#define ATOMICS(ROW)                                                                                            \
  ATOMICS_OF(ROW, "", 32), ATOMICS_OF(ROW, "_x2", 64), ROW("min_num_f32", f32, lesser_number<f32>),             \
      ROW("max_num_f32", f32, greater_number<f32>), ROW("pk_add_f16", u32, added_halves),                       \
      ROW("pk_add_bf16", u32, added_brain_floats), BOTH(ROW, "csub", "csub_u32", u32, subtracted_to_zero<u32>), \
      ROW("sub_clamp_u32", u32, subtracted_to_zero<u32>), ROW("cond_sub_u32", u32, subtracted_if_less<u32>)
