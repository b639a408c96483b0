// Loads, stores and atomics to buffers.
#include "buffers.h"
#include "transfers.h"

namespace isa {
namespace buffers {

// The memory at an address that find_places has found; raises AddressFault for what no lane may access.
u8 *place(Wave &w, u64 address, u32 bytes, int lane) {
  if (!in_scratch(address)) return w.at(address, bytes, lane);
  const i64 from = static_cast<i64>(address - scratch_pool - scratch_offset(w));
  const i64 row = scratch_element * i64{w.launch->wave}, above = from >= 0 ? from / row : (from + 1) / row - 1;
  const u64 within = static_cast<u64>(from - above * row);
  const u64 offset = static_cast<u64>(above * scratch_element) + within % scratch_element;
  if (offset + bytes > w.launch->scratch_bytes || offset + bytes < offset)
    throw AddressFault(AddressFault::Scratch, offset, bytes, lane);
  return w.scratch_at(offset, bytes, static_cast<int>(within / scratch_element));
}

void arrives(Wave &w, const Inst &i, u32 count) {
  const Counter counter = count || w.launch->code->generation == 9 ? Counter::Vector : Counter::Store;
  w.waits.add(counter, i.index, count ? i.dst - vgpr : 0u, count);
}

// Components that are out of range are zeros.
template <class T, int count, Half half = Half::Whole>
void load(Wave &w, const Inst &i) {
  Places places;
  find_places(w, i, sizeof(T), count, places);
  each_active(w, [&](int l) {
    u8 found[sizeof(T) * count] = {};
    for (u32 n = 0; n < count; ++n)
      if (places.inside[l] >> n & 1)
        std::memcpy(found + n * sizeof(T), place(w, places.at[l] + n * sizeof(T), sizeof(T), l), sizeof(T));
    load_words<T, count, half>(w, i.dst - vgpr, l, found);
  });
  arrives(w, i, count);
}

// Those of stores are dropped.
template <class T, int count, bool high = false>
void store(Wave &w, const Inst &i) {
  Places places;
  find_places(w, i, sizeof(T), count, places);
  const u32 from = i.src[1] - vgpr;
  w.read(from, count);
  each_active(w, [&](int l) {
    for (u32 n = 0; n < count; ++n)
      if (places.inside[l] >> n & 1)
        store_words<T, 1, high>(w, from + n, l, place(w, places.at[l] + n * sizeof(T), sizeof(T), l));
  });
  arrives(w, i, 0);
}

template <class T, auto f, bool compares = false>
void atomic(Wave &w, const Inst &i) {
  Places places;
  find_places(w, i, sizeof(T), 1, places);
  const u32 data = i.src[1] - vgpr;
  w.read(data, (compares ? 2 : 1) * sizeof(T) / 4);
  each_active(w, [&](int l) {
    const T old = places.inside[l] ? change<T, f, compares>(place(w, places.at[l], sizeof(T), l), w, data, l) : T{};
    if (i.flags & Returns) write_lane(w, i.dst - vgpr, l, old);
  });
  w.let_others_overtake();
  arrives(w, i, i.flags & Returns ? sizeof(T) / 4 : 0);
}

constexpr Semantics rows[] = {
    {"buffer_load_ubyte", &load<u8, 1>},
    {"buffer_load_sbyte", &load<i8, 1>},
    {"buffer_load_ushort", &load<u16, 1>},
    {"buffer_load_sshort", &load<i16, 1>},
    {"buffer_load_dword", &load<u32, 1>},
    {"buffer_load_dwordx2", &load<u32, 2>},
    {"buffer_load_dwordx3", &load<u32, 3>},
    {"buffer_load_dwordx4", &load<u32, 4>},
    {"buffer_load_ubyte_d16", &load<u8, 1, Half::Low>},
    {"buffer_load_ubyte_d16_hi", &load<u8, 1, Half::High>},
    {"buffer_load_sbyte_d16", &load<i8, 1, Half::Low>},
    {"buffer_load_sbyte_d16_hi", &load<i8, 1, Half::High>},
    {"buffer_load_short_d16", &load<u16, 1, Half::Low>},
    {"buffer_load_short_d16_hi", &load<u16, 1, Half::High>},
    {"buffer_store_byte", &store<u8, 1>},
    {"buffer_store_byte_d16_hi", &store<u8, 1, true>},
    {"buffer_store_short", &store<u16, 1>},
    {"buffer_store_short_d16_hi", &store<u16, 1, true>},
    {"buffer_store_dword", &store<u32, 1>},
    {"buffer_store_dwordx2", &store<u32, 2>},
    {"buffer_store_dwordx3", &store<u32, 3>},
    {"buffer_store_dwordx4", &store<u32, 4>},
    {"buffer_atomic_swap", &atomic<u32, swapped<u32>>},
    {"buffer_atomic_cmpswap", &atomic<u32, swapped<u32>, true>},
    {"buffer_atomic_add", &atomic<u32, added<u32>>},
    {"buffer_atomic_sub", &atomic<u32, subtracted<u32>>},
    {"buffer_atomic_smin", &atomic<i32, lesser<i32>>},
    {"buffer_atomic_umin", &atomic<u32, lesser<u32>>},
    {"buffer_atomic_smax", &atomic<i32, greater<i32>>},
    {"buffer_atomic_umax", &atomic<u32, greater<u32>>},
    {"buffer_atomic_and", &atomic<u32, anded<u32>>},
    {"buffer_atomic_or", &atomic<u32, ored<u32>>},
    {"buffer_atomic_xor", &atomic<u32, xored<u32>>},
    {"buffer_atomic_inc", &atomic<u32, incremented<u32>>},
    {"buffer_atomic_dec", &atomic<u32, decremented<u32>>},
    {"buffer_atomic_add_f32", &atomic<f32, added<f32>>},
    {"buffer_atomic_add_f64", &atomic<f64, added<f64>>},
    {"buffer_atomic_min_f64", &atomic<f64, lesser_float<f64>>},
    {"buffer_atomic_max_f64", &atomic<f64, greater_float<f64>>},
    {"buffer_atomic_min_f32", &atomic<f32, lesser_float<f32>>},
    {"buffer_atomic_max_f32", &atomic<f32, greater_float<f32>>},
    {"buffer_atomic_min_num_f32", &atomic<f32, lesser_number<f32>>},
    {"buffer_atomic_max_num_f32", &atomic<f32, greater_number<f32>>},
    {"buffer_atomic_pk_add_f16", &atomic<u32, added_halves>},
    {"buffer_atomic_pk_add_bf16", &atomic<u32, added_brain_floats>},
    {"buffer_atomic_csub", &atomic<u32, subtracted_to_zero<u32>>},
    {"buffer_atomic_cond_sub", &atomic<u32, subtracted_if_less<u32>>},
    {"buffer_atomic_swap_x2", &atomic<u64, swapped<u64>>},
    {"buffer_atomic_cmpswap_x2", &atomic<u64, swapped<u64>, true>},
    {"buffer_atomic_add_x2", &atomic<u64, added<u64>>},
    {"buffer_atomic_sub_x2", &atomic<u64, subtracted<u64>>},
    {"buffer_atomic_smin_x2", &atomic<i64, lesser<i64>>},
    {"buffer_atomic_umin_x2", &atomic<u64, lesser<u64>>},
    {"buffer_atomic_smax_x2", &atomic<i64, greater<i64>>},
    {"buffer_atomic_umax_x2", &atomic<u64, greater<u64>>},
    {"buffer_atomic_inc_x2", &atomic<u64, incremented<u64>>},
    {"buffer_atomic_dec_x2", &atomic<u64, decremented<u64>>},
    {"buffer_atomic_and_x2", &atomic<u64, anded<u64>>},
    {"buffer_atomic_or_x2", &atomic<u64, ored<u64>>},
    {"buffer_atomic_xor_x2", &atomic<u64, xored<u64>>},
};

}  // namespace buffers

Run find_buffer(const char *name) { return find_row(buffers::rows, name); }

}  // namespace isa
