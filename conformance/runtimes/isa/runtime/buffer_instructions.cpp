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

#define LOAD(name, ...) {"buffer_load_" name, &load<__VA_ARGS__>}
#define STORE(name, ...) {"buffer_store_" name, &store<__VA_ARGS__>}
#define ATOMIC(name, ...) {"buffer_atomic_" name, &atomic<__VA_ARGS__>}

constexpr Semantics rows[] = {LOADS(LOAD), STORES(STORE), ATOMICS(ATOMIC)};

}  // namespace buffers

Run find_buffer(const char *name) { return find_row(buffers::rows, name); }

}  // namespace isa

#undef LOAD
#undef STORE
#undef ATOMIC
