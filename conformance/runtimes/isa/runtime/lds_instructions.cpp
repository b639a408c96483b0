// LDS: loads, stores, atomics, and the crossbar that moves words between lanes.
#include "transfers.h"

namespace isa {
namespace {

u32 first_offset(const Inst &i) { return i.constant & 0xff; }
u32 second_offset(const Inst &i) { return i.constant >> 8 & 0xff; }

// The address of each lane, kept apart from the registers, which a load may overwrite; only active lanes have one.
struct Addresses {
  explicit Addresses(const Wave &w, const Inst &i) { std::memcpy(bytes, w.in(i.src[0] - vgpr), sizeof bytes); }
  u32 operator[](int lane) const { return bytes[lane]; }
  // Calls `f` with each active lane and a function from an offset to the place of that lane in LDS, where it may access
  // `size` bytes; `last` is the highest offset. An address is the sum of 32 bits: LLVM gives a negative base an offset.
  template <class F>
  void each(Wave &w, u32 last, u32 size, F f) const {
    u32 highest = 0;
    for (int l = 0; l < lanes; ++l) highest = std::max(highest, bytes[l]);
    if (w.exec_ == ~u64{0} && u64{highest} + last + size <= w.group->lds.size()) {
      u8 *lds = w.group->lds.data();
      for (int l = 0; l < lanes; ++l) f(l, [=, this](u32 offset) { return lds + bytes[l] + offset; });
    } else {
      each_active(w, [&](int l) { f(l, [&](u32 offset) { return w.lds_at(bytes[l] + offset, size, l); }); });
    }
  }
  alignas(64) u32 bytes[lanes];
};

// The instruction fills `count` registers, some time later.
void arrives(Wave &w, const Inst &i, u32 count) {
  w.waits.add(Counter::Lds, i.index, count ? i.dst - vgpr : 0u, count);
}

template <class T, int count, Half half = Half::Whole>
void read(Wave &w, const Inst &i) {
  const Addresses a(w, i);
  const u32 to = i.dst - vgpr, offset = i.constant & 0xffff;
  a.each(w, offset, sizeof(T) * count, [&](int l, auto at) { load_words<T, count, half>(w, to, l, at(offset)); });
  arrives(w, i, count);
}

template <class T, int count, bool high = false>
void write(Wave &w, const Inst &i) {
  const Addresses a(w, i);
  const u32 from = i.src[1] - vgpr, offset = i.constant & 0xffff;
  w.read(from, count);
  a.each(w, offset, sizeof(T) * count, [&](int l, auto at) { store_words<T, count, high>(w, from, l, at(offset)); });
  arrives(w, i, 0);
}

// Two places, whose offsets count in `unit` bytes; both are checked before either is used.
template <int words, u32 unit>
void read_two(Wave &w, const Inst &i) {
  const Addresses a(w, i);
  const u32 to = i.dst - vgpr, offset = first_offset(i) * unit, other = second_offset(i) * unit;
  a.each(w, std::max(offset, other), 4 * words, [&](int l, auto at) {
    const u8 *first = at(offset), *second = at(other);
    load_words<u32, words, Half::Whole>(w, to, l, first);
    load_words<u32, words, Half::Whole>(w, to + words, l, second);
  });
  arrives(w, i, 2 * words);
}
template <int words, u32 unit>
void write_two(Wave &w, const Inst &i) {
  const Addresses a(w, i);
  const u32 offset = first_offset(i) * unit, other = second_offset(i) * unit;
  w.read(i.src[1] - vgpr, words);
  w.read(i.src[2] - vgpr, words);
  a.each(w, std::max(offset, other), 4 * words, [&](int l, auto at) {
    u8 *first = at(offset), *second = at(other);
    store_words<u32, words>(w, i.src[1] - vgpr, l, first);
    store_words<u32, words>(w, i.src[2] - vgpr, l, second);
  });
  arrives(w, i, 0);
}

// `f` gives the value before from the place of a lane, and changes it.
template <class T, bool returns, class F>
void exchange(Wave &w, const Inst &i, F f) {
  const Addresses a(w, i);
  w.read(i.src[1] - vgpr, sizeof(T) / 4);
  each_active(w, [&](int l) {
    const T old = f(w.lds_at(a[l] + (i.constant & 0xffff), sizeof(T), l), l);
    if (returns) write_lane(w, i.dst - vgpr, l, old);
  });
  arrives(w, i, returns ? sizeof(T) / 4 : 0);
}
template <class T, auto f, bool returns>
void atomic(Wave &w, const Inst &i) {
  exchange<T, returns>(w, i, [&](u8 *p, int l) { return change<T, f, false>(p, w, i.src[1] - vgpr, l); });
}

// ds_cmpst: what is expected comes first, the new value second.
template <class T, bool returns>
void compare_store(Wave &w, const Inst &i) {
  w.read(i.src[2] - vgpr, sizeof(T) / 4);
  exchange<T, returns>(w, i, [&](u8 *p, int l) {
    w.settle(p, sizeof(T));
    const T old = load_as<T>(p);
    if (old == read_lane<T>(w, i.src[1] - vgpr, l)) store_as<T>(p, read_lane<T>(w, i.src[2] - vgpr, l));
    return old;
  });
}
// ds_cmpstore of RDNA 3: the other way round.
template <class T, bool returns>
void store_compared(Wave &w, const Inst &i) {
  Inst exchanged = i;
  std::swap(exchanged.src[1], exchanged.src[2]);
  compare_store<T, returns>(w, exchanged);
}

// ds_mskor: the bits of the first operand become those of the second.
template <class T, bool returns>
void masked_or(Wave &w, const Inst &i) {
  w.read(i.src[2] - vgpr, sizeof(T) / 4);
  exchange<T, returns>(w, i, [&](u8 *p, int l) {
    const T old = load_as<T>(p), mask = read_lane<T>(w, i.src[1] - vgpr, l);
    store_as<T>(p, (old & ~mask) | read_lane<T>(w, i.src[2] - vgpr, l));
    return old;
  });
}

// ds_wrxchg2: two places, which one lane changes one after the other.
template <class T, u32 unit>
void exchange_two(Wave &w, const Inst &i) {
  constexpr u32 words = sizeof(T) / 4;
  const Addresses a(w, i);
  const u32 offset = first_offset(i) * unit, other = second_offset(i) * unit, to = i.dst - vgpr;
  const u32 data[] = {i.src[1] - 0u - vgpr, i.src[2] - 0u - vgpr};
  for (const u32 from : data) w.read(from, words);
  each_active(w, [&](int l) {
    u8 *first = w.lds_at(a[l] + offset, sizeof(T), l), *second = w.lds_at(a[l] + other, sizeof(T), l);
    const T news[] = {read_lane<T>(w, data[0], l), read_lane<T>(w, data[1], l)};
    write_lane(w, to, l, load_as<T>(first));
    store_as<T>(first, news[0]);
    write_lane(w, to + words, l, load_as<T>(second));
    store_as<T>(second, news[1]);
  });
  arrives(w, i, 2 * words);
}

// What a lane that is not active would give is 0.
void swizzle(Wave &w, const Inst &i) {
  u32 from[lanes], r[lanes];
  std::memcpy(from, w.in(i.src[0] - vgpr), sizeof from);
  const u32 control = i.constant & 0xffff;
  if (control >= 0xe000) throw Fault(Fault::Unknown, "ds_swizzle in FFT mode");
  for (int l = 0; l < lanes; ++l) {
    int s;
    if (control & 0x8000) {
      s = (control & 0x4000) ? l : (l & ~3) + static_cast<int>(control >> 2 * (l & 3) & 3);
      if (control & 0x4000) {  // rotate in groups of 32
        const int by = static_cast<int>(control >> 5 & 31), keep = static_cast<int>(control & 31);
        const int moved = (control >> 10 & 1 ? l + 32 - by : l + by) & 31;
        s = (l & 32) | (l & keep) | (moved & ~keep & 31);
      }
    } else {
      const int keep = static_cast<int>(control & 31), set = static_cast<int>(control >> 5 & 31);
      s = (l & 32) | ((((l & 31) & keep) | set) ^ static_cast<int>(control >> 10 & 31));
    }
    r[l] = w.exec_ >> s & 1 ? from[s] : 0;
  }
  put_lanes(w, w.exec_, w.v[i.dst - vgpr], r);
  arrives(w, i, 1);
}

void bpermute(Wave &w, const Inst &i) {
  const u32 *a = w.in(i.src[0] - vgpr), *from = w.in(i.src[1] - vgpr);
  u32 r[lanes];
  for (int l = 0; l < lanes; ++l) {
    const u32 s = (a[l] + (i.constant & 0xffff)) / 4 % w.launch->wave;
    r[l] = w.exec_ >> s & 1 ? from[s] : 0;
  }
  put_lanes(w, w.exec_, w.v[i.dst - vgpr], r);
  arrives(w, i, 1);
}
void permute(Wave &w, const Inst &i) {
  const u32 *a = w.in(i.src[0] - vgpr), *from = w.in(i.src[1] - vgpr);
  u32 r[lanes] = {};
  for (int l = 0; l < lanes; ++l)
    if (w.exec_ >> l & 1) r[(a[l] + (i.constant & 0xffff)) / 4 % w.launch->wave] = from[l];
  put_lanes(w, w.exec_, w.v[i.dst - vgpr], r);
  arrives(w, i, 1);
}

#define ATOMIC(name, suffix, T, f) \
  {"ds_" name "_" suffix, &atomic<T, f<T>, false>}, { "ds_" name "_rtn_" suffix, &atomic<T, f<T>, true> }
#define PAIR(name, suffix, function, ...) \
  {"ds_" name "_" suffix, &function<__VA_ARGS__, false>}, { "ds_" name "_rtn_" suffix, &function<__VA_ARGS__, true> }
#define WORDS(bits)                                                                                           \
  ATOMIC("add", "u" #bits, u##bits, added), ATOMIC("sub", "u" #bits, u##bits, subtracted),                    \
      ATOMIC("rsub", "u" #bits, u##bits, subtracted_from), ATOMIC("inc", "u" #bits, u##bits, incremented),    \
      ATOMIC("dec", "u" #bits, u##bits, decremented), ATOMIC("min", "u" #bits, u##bits, lesser),              \
      ATOMIC("max", "u" #bits, u##bits, greater), ATOMIC("min", "i" #bits, i##bits, lesser),                  \
      ATOMIC("max", "i" #bits, i##bits, greater), ATOMIC("and", "b" #bits, u##bits, anded),                   \
      ATOMIC("or", "b" #bits, u##bits, ored), ATOMIC("xor", "b" #bits, u##bits, xored),                       \
      PAIR("cmpst", "b" #bits, compare_store, u##bits), PAIR("cmpstore", "b" #bits, store_compared, u##bits), \
      PAIR("cmpst", "f" #bits, compare_store, f##bits), PAIR("cmpstore", "f" #bits, store_compared, f##bits), \
      PAIR("mskor", "b" #bits, masked_or, u##bits), ATOMIC("add", "f" #bits, f##bits, added),                 \
      ATOMIC("min", "f" #bits, f##bits, lesser_float), ATOMIC("max", "f" #bits, f##bits, greater_float),      \
      ATOMIC("min_num", "f" #bits, f##bits, lesser_number), ATOMIC("max_num", "f" #bits, f##bits, greater_number)

constexpr Semantics lds_rows[] = {
    {"ds_read_u8", &read<u8, 1>},
    {"ds_read_i8", &read<i8, 1>},
    {"ds_read_u16", &read<u16, 1>},
    {"ds_read_i16", &read<i16, 1>},
    {"ds_read_u8_d16", &read<u8, 1, Half::Low>},
    {"ds_read_u8_d16_hi", &read<u8, 1, Half::High>},
    {"ds_read_i8_d16", &read<i8, 1, Half::Low>},
    {"ds_read_i8_d16_hi", &read<i8, 1, Half::High>},
    {"ds_read_u16_d16", &read<u16, 1, Half::Low>},
    {"ds_read_u16_d16_hi", &read<u16, 1, Half::High>},
    {"ds_read_b32", &read<u32, 1>},
    {"ds_read_b64", &read<u32, 2>},
    {"ds_read_b96", &read<u32, 3>},
    {"ds_read_b128", &read<u32, 4>},
    {"ds_write_b8", &write<u8, 1>},
    {"ds_write_b16", &write<u16, 1>},
    {"ds_write_b8_d16_hi", &write<u8, 1, true>},
    {"ds_write_b16_d16_hi", &write<u16, 1, true>},
    {"ds_write_b32", &write<u32, 1>},
    {"ds_write_b64", &write<u32, 2>},
    {"ds_write_b96", &write<u32, 3>},
    {"ds_write_b128", &write<u32, 4>},
    {"ds_read2_b32", &read_two<1, 4>},
    {"ds_read2_b64", &read_two<2, 8>},
    {"ds_read2st64_b32", &read_two<1, 256>},
    {"ds_read2st64_b64", &read_two<2, 512>},
    {"ds_write2_b32", &write_two<1, 4>},
    {"ds_write2_b64", &write_two<2, 8>},
    {"ds_write2st64_b32", &write_two<1, 256>},
    {"ds_write2st64_b64", &write_two<2, 512>},
    WORDS(32),
    WORDS(64),
    PAIR("pk_add", "f16", atomic, u32, added_halves),
    PAIR("pk_add", "bf16", atomic, u32, added_brain_floats),
    ATOMIC("cond_sub", "u32", u32, subtracted_if_less),
    ATOMIC("sub_clamp", "u32", u32, subtracted_to_zero),
    {"ds_wrxchg_rtn_b32", &atomic<u32, swapped<u32>, true>},
    {"ds_wrxchg_rtn_b64", &atomic<u64, swapped<u64>, true>},
    {"ds_wrxchg2_rtn_b32", &exchange_two<u32, 4>},
    {"ds_wrxchg2_rtn_b64", &exchange_two<u64, 8>},
    {"ds_wrxchg2st64_rtn_b32", &exchange_two<u32, 256>},
    {"ds_wrxchg2st64_rtn_b64", &exchange_two<u64, 512>},
    {"ds_swizzle_b32", &swizzle},
    {"ds_bpermute_b32", &bpermute},
    {"ds_permute_b32", &permute},
    {"ds_nop", [](Wave &, const Inst &) {}},
};

}  // namespace

Run find_lds(const char *name) { return find_row(lds_rows, name); }

}  // namespace isa

#undef ATOMIC
#undef PAIR
#undef WORDS
