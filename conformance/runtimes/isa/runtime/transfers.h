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
