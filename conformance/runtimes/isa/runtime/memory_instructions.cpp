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

#define SPACES(row, ...) row("flat_", Space::Generic, __VA_ARGS__), row("global_", Space::Global, __VA_ARGS__)
#define ALL(row, ...) SPACES(row, __VA_ARGS__), row("scratch_", Space::Scratch, __VA_ARGS__)
#define LOAD(prefix, space, name, ...) {prefix "load_" name, &load<space, __VA_ARGS__>}
#define STORE(prefix, space, name, ...) {prefix "store_" name, &store<space, __VA_ARGS__>}
#define ATOMIC(prefix, space, name, ...) {prefix "atomic_" name, &atomic<space, __VA_ARGS__>}

constexpr Semantics memory_rows[] = {
    {"s_load_dword", &scalar_load<1>},
    {"s_load_dwordx2", &scalar_load<2>},
    {"s_load_dwordx3", &scalar_load<3>},
    {"s_load_ushort", &scalar_load_part<u16>},
    {"s_load_sshort", &scalar_load_part<i16>},
    {"s_load_ubyte", &scalar_load_part<u8>},
    {"s_load_sbyte", &scalar_load_part<i8>},
    {"s_load_dwordx4", &scalar_load<4>},
    {"s_load_dwordx8", &scalar_load<8>},
    {"s_load_dwordx16", &scalar_load<16>},
    ALL(LOAD, "ubyte", u8, 1),
    ALL(LOAD, "sbyte", i8, 1),
    ALL(LOAD, "ushort", u16, 1),
    ALL(LOAD, "sshort", i16, 1),
    ALL(LOAD, "dword", u32, 1),
    ALL(LOAD, "dwordx2", u32, 2),
    ALL(LOAD, "dwordx3", u32, 3),
    ALL(LOAD, "dwordx4", u32, 4),
    ALL(LOAD, "ubyte_d16", u8, 1, Half::Low),
    ALL(LOAD, "ubyte_d16_hi", u8, 1, Half::High),
    ALL(LOAD, "sbyte_d16", i8, 1, Half::Low),
    ALL(LOAD, "sbyte_d16_hi", i8, 1, Half::High),
    ALL(LOAD, "short_d16", u16, 1, Half::Low),
    ALL(LOAD, "short_d16_hi", u16, 1, Half::High),
    ALL(STORE, "byte", u8, 1),
    ALL(STORE, "byte_d16_hi", u8, 1, true),
    ALL(STORE, "short", u16, 1),
    ALL(STORE, "short_d16_hi", u16, 1, true),
    ALL(STORE, "dword", u32, 1),
    ALL(STORE, "dwordx2", u32, 2),
    ALL(STORE, "dwordx3", u32, 3),
    ALL(STORE, "dwordx4", u32, 4),
    SPACES(ATOMIC, "swap", u32, swapped<u32>),
    SPACES(ATOMIC, "cmpswap", u32, swapped<u32>, true),
    SPACES(ATOMIC, "add", u32, added<u32>),
    SPACES(ATOMIC, "sub", u32, subtracted<u32>),
    SPACES(ATOMIC, "smin", i32, lesser<i32>),
    SPACES(ATOMIC, "umin", u32, lesser<u32>),
    SPACES(ATOMIC, "smax", i32, greater<i32>),
    SPACES(ATOMIC, "umax", u32, greater<u32>),
    SPACES(ATOMIC, "and", u32, anded<u32>),
    SPACES(ATOMIC, "or", u32, ored<u32>),
    SPACES(ATOMIC, "xor", u32, xored<u32>),
    SPACES(ATOMIC, "inc", u32, incremented<u32>),
    SPACES(ATOMIC, "dec", u32, decremented<u32>),
    SPACES(ATOMIC, "add_f32", f32, added<f32>),
    SPACES(ATOMIC, "add_f64", f64, added<f64>),
    SPACES(ATOMIC, "min_f64", f64, lesser_float<f64>),
    SPACES(ATOMIC, "max_f64", f64, greater_float<f64>),
    SPACES(ATOMIC, "min_f32", f32, lesser_float<f32>),
    SPACES(ATOMIC, "max_f32", f32, greater_float<f32>),
    SPACES(ATOMIC, "min_num_f32", f32, lesser_number<f32>),
    SPACES(ATOMIC, "max_num_f32", f32, greater_number<f32>),
    SPACES(ATOMIC, "pk_add_f16", u32, added_halves),
    SPACES(ATOMIC, "pk_add_bf16", u32, added_brain_floats),
    SPACES(ATOMIC, "csub", u32, subtracted_to_zero<u32>),
    SPACES(ATOMIC, "cond_sub", u32, subtracted_if_less<u32>),
    SPACES(ATOMIC, "swap_x2", u64, swapped<u64>),
    SPACES(ATOMIC, "cmpswap_x2", u64, swapped<u64>, true),
    SPACES(ATOMIC, "add_x2", u64, added<u64>),
    SPACES(ATOMIC, "sub_x2", u64, subtracted<u64>),
    SPACES(ATOMIC, "smin_x2", i64, lesser<i64>),
    SPACES(ATOMIC, "umin_x2", u64, lesser<u64>),
    SPACES(ATOMIC, "smax_x2", i64, greater<i64>),
    SPACES(ATOMIC, "umax_x2", u64, greater<u64>),
    SPACES(ATOMIC, "inc_x2", u64, incremented<u64>),
    SPACES(ATOMIC, "dec_x2", u64, decremented<u64>),
    SPACES(ATOMIC, "and_x2", u64, anded<u64>),
    SPACES(ATOMIC, "or_x2", u64, ored<u64>),
    SPACES(ATOMIC, "xor_x2", u64, xored<u64>),
};

}  // namespace

Run find_memory(const char *name) { return find_row(memory_rows, name); }

}  // namespace isa

#undef SPACES
#undef ALL
#undef LOAD
#undef STORE
#undef ATOMIC
