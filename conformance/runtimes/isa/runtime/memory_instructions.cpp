// Scalar loads, and vector loads, stores and atomics to global, generic and scratch memory.
#include <algorithm>
#include <atomic>

#include "transfers.h"

namespace isa {

void Wave::note(u8 *at, u32 bytes) const {
  const u64 instruction = executed << 5 | number;
  const u8 *const shared = group->lds.data();
  if (at >= shared && at < shared + group->lds.size())
    waits.lds->note(at, bytes, instruction, group->round);
  else if (scratch.empty() || at < scratch.data() || at >= scratch.data() + scratch.size())
    waits.memory->note(at, bytes, instruction, group->round);
}

u8 *Wave::lds_at(u64 address, u32 bytes, int lane) {
  if (address + bytes > group->lds.size() || address + bytes < address)
    throw AddressFault(AddressFault::Lds, address, bytes, lane);
  return group->lds.data() + address;
}

u8 *Wave::scratch_at(u64 address, u32 bytes, int lane) {
  if (address + bytes > launch->scratch_bytes || address + bytes < address)
    throw AddressFault(AddressFault::Scratch, address, bytes, lane);
  return scratch.data() + u64{launch->scratch_bytes} * static_cast<u32>(lane) + address;
}

namespace {

enum class Space { Generic, Global, Scratch };

template <Space space>
u8 *place(Wave &w, u64 address, u32 bytes, int lane) {
  if constexpr (space == Space::Scratch) return w.scratch_at(address, bytes, lane);
  if constexpr (space == Space::Generic) {
    if (address >> 32 == shared_aperture >> 32) return w.lds_at(address & 0xffffffff, bytes, lane);
    if (address >> 32 == private_aperture >> 32) return w.scratch_at(address & 0xffffffff, bytes, lane);
  }
  return w.at(address, bytes, lane);
}

// The address of each active lane; those of others are not to be looked at.
template <Space space>
void addresses(const Wave &w, const Inst &i, u64 *out) {
  const u64 offset = static_cast<u64>(static_cast<i64>(static_cast<i32>(i.constant)));
  const u32 *low = i.src[0] == none ? nullptr : w.in(i.src[0] - vgpr);
  if constexpr (space == Space::Scratch) {
    const u64 base = i.src[2] == none ? 0 : w.scalar(i.src[2], i);
    for (int l = 0; l < lanes; ++l) out[l] = static_cast<u32>(base + offset + (low ? low[l] : 0));
  } else if (i.src[2] == none) {
    const u32 *high = w.in(i.src[0] - vgpr + 1);
    for (int l = 0; l < lanes; ++l) out[l] = (u64{high[l]} << 32 | low[l]) + offset;
  } else {
    const u64 base = w.scalar64(i.src[2], i) + offset;
    for (int l = 0; l < lanes; ++l) out[l] = base + low[l];
  }
}

// The instruction fills `count` registers, some time later. A generic address counts both ways, and the data comes from
// where it points to.
template <Space space>
void arrives(Wave &w, const Inst &i, const u64 *a, u32 count) {
  const u32 first = count ? i.dst - vgpr : 0u;
  bool lds = false, memory = space != Space::Generic;
  if constexpr (space == Space::Generic) {
    each_active(w, [&](int l) { (a[l] >> 32 == shared_aperture >> 32 ? lds : memory) = true; });
    w.waits.add(Counter::Lds, i.index, first, lds ? count : 0);
  }
  const Counter counter = count || w.launch->code->generation == 9 ? Counter::Vector : Counter::Store;
  w.waits.add(counter, i.index, first, memory ? count : 0);
}

template <Space space, class T, int count, Half half = Half::Whole>
void load(Wave &w, const Inst &i) {
  u64 a[lanes];
  addresses<space>(w, i, a);
  const u32 to = i.dst - vgpr;
  if (space == Space::Global && all_within(w, a, sizeof(T) * count))
    for (int l = 0; l < lanes; ++l) load_words<T, count, half>(w, to, l, reinterpret_cast<const u8 *>(a[l]));
  else
    each_active(w, [&](int l) { load_words<T, count, half>(w, to, l, place<space>(w, a[l], sizeof(T) * count, l)); });
  arrives<space>(w, i, a, count);
}

template <Space space, class T, int count, bool high = false>
void store(Wave &w, const Inst &i) {
  u64 a[lanes];
  addresses<space>(w, i, a);
  const u32 from = i.src[1] - vgpr;
  w.read(from, count);
  if (space == Space::Global && all_within(w, a, sizeof(T) * count))
    for (int l = 0; l < lanes; ++l) store_words<T, count, high>(w, from, l, reinterpret_cast<u8 *>(a[l]));
  else
    each_active(w,
                [&](int l) { store_words<T, count, high>(w, from, l, place<space>(w, a[l], sizeof(T) * count, l)); });
  arrives<space>(w, i, a, 0);
}

template <Space space, class T, auto f, bool compares = false>
void atomic(Wave &w, const Inst &i) {
  u64 a[lanes];
  addresses<space>(w, i, a);
  w.read(i.src[1] - vgpr, (compares ? 2 : 1) * sizeof(T) / 4);
  each_active(w, [&](int l) {
    const T old = change<T, f, compares>(place<space>(w, a[l], sizeof(T), l), w, i.src[1] - vgpr, l);
    if (i.flags & Returns) write_lane(w, i.dst - vgpr, l, old);
  });
  w.let_others_overtake();
  arrives<space>(w, i, a, i.flags & Returns ? sizeof(T) / 4 : 0);
}

u64 scalar_address(Wave &w, const Inst &i) {
  const u64 address = w.scalar64(i.src[0], i) + static_cast<u64>(static_cast<i64>(static_cast<i32>(i.constant)));
  return i.src[1] == none ? address : address + w.scalar(i.src[1], i);
}

void scalars_arrive(Wave &w, const Inst &i, u32 count) {
  const bool filled = i.dst + count <= exec;
  w.waits.add(Counter::Scalar, i.index, filled ? i.dst : 0u, filled ? count : 0);
}

// What a scalar load finds at `p`: where stores are late, the line that the block's first load from it brought.
const u8 *cached(Wave &w, const u8 *p) {
  const u64 address = reinterpret_cast<u64>(p), offset = address % scalar_line;
  if (!w.launch->late || w.launch->fixed[1].holds(address, 1)) return p;
  const auto [line, is_new] = w.group->scalar_lines.try_emplace(address - offset);
  if (is_new) std::memcpy(line->second.data(), p - offset, scalar_line);
  return line->second.data() + offset;
}

template <int count>
void scalar_load(Wave &w, const Inst &i) {
  const u8 *p = w.at(scalar_address(w, i) & ~u64{3}, 4 * count, -1);
  for (u32 n = 0; n < count; ++n) w.load_scalar(static_cast<u16>(i.dst + n), load_as<u32>(cached(w, p + 4 * n)));
  scalars_arrive(w, i, count);
}

template <class T>
void scalar_load_part(Wave &w, const Inst &i) {
  w.load_scalar(i.dst, static_cast<u32>(load_as<T>(cached(w, w.at(scalar_address(w, i), sizeof(T), -1)))));
  scalars_arrive(w, i, 1);
}

#define LOAD(name, ...)                                                                                                \
  {"flat_load_" name, &load<Space::Generic, __VA_ARGS__>}, {"global_load_" name, &load<Space::Global, __VA_ARGS__>}, { \
    "scratch_load_" name, &load<Space::Scratch, __VA_ARGS__>                                                           \
  }
#define STORE(name, ...)                                            \
  {"flat_store_" name, &store<Space::Generic, __VA_ARGS__>},        \
      {"global_store_" name, &store<Space::Global, __VA_ARGS__>}, { \
    "scratch_store_" name, &store<Space::Scratch, __VA_ARGS__>      \
  }
#define ATOMIC(name, ...)                                        \
  {"flat_atomic_" name, &atomic<Space::Generic, __VA_ARGS__>}, { \
    "global_atomic_" name, &atomic<Space::Global, __VA_ARGS__>   \
  }
#define SCALAR(name, ...) {"s_load_" name, __VA_ARGS__}

constexpr Semantics memory_rows[] = {
    BOTH(SCALAR, "dword", "b32", &scalar_load<1>),
    BOTH(SCALAR, "dwordx2", "b64", &scalar_load<2>),
    BOTH(SCALAR, "dwordx3", "b96", &scalar_load<3>),
    BOTH(SCALAR, "dwordx4", "b128", &scalar_load<4>),
    BOTH(SCALAR, "dwordx8", "b256", &scalar_load<8>),
    BOTH(SCALAR, "dwordx16", "b512", &scalar_load<16>),
    SCALAR("u16", &scalar_load_part<u16>),
    SCALAR("i16", &scalar_load_part<i16>),
    SCALAR("u8", &scalar_load_part<u8>),
    SCALAR("i8", &scalar_load_part<i8>),
    LOADS(LOAD),
    STORES(STORE),
    ATOMICS(ATOMIC),
};

}  // namespace

Run find_memory(const char *name) { return find_row(memory_rows, name); }

}  // namespace isa

#undef LOAD
#undef STORE
#undef ATOMIC
#undef SCALAR
