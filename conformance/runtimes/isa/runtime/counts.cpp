// Counting: classes of instructions, active lanes, lines of memory and banks of LDS.
#include "counts.h"

#include <algorithm>
#include <string_view>

#include "buffers.h"
#include "decoder.h"

namespace isa {
namespace {

Class class_of(Encoding encoding, std::string_view name) {
  switch (encoding) {
    case Encoding::SOPP:
      return Class::Control;
    case Encoding::SOP1:
    case Encoding::SOP2:
    case Encoding::SOPK:
    case Encoding::SOPC:
      for (const char *jump : {"s_setpc_", "s_swappc_", "s_call_", "s_rfe_"})
        if (name.starts_with(jump)) return Class::Control;
      return Class::Scalar;
    case Encoding::SMEM:
      return Class::ScalarMemory;
    case Encoding::DS:
      return Class::Lds;
    case Encoding::FLAT:
    case Encoding::GLOBAL:
    case Encoding::SCRATCH:
    case Encoding::MUBUF:
      return Class::Memory;
    default:
      for (const char *matrix : {"v_mfma_", "v_smfmac_", "v_wmma_", "v_swmmac_"})
        if (name.starts_with(matrix)) return Class::Matrix;
      return Class::Vector;
  }
}

struct Size {
  std::string_view part;
  u8 bytes;
};
// Parts of the names that `plain_name` gives; the first that is found counts.
constexpr Size sizes[] = {{"b128", 16}, {"dwordx4", 16}, {"b96", 12},   {"dwordx3", 12}, {"dwordx2", 8},
                          {"_x2", 8},   {"64", 8},       {"byte", 1},   {"_u8", 1},      {"_i8", 1},
                          {"_b8", 1},   {"short", 2},    {"_u16", 2},   {"_i16", 2},     {"_b16", 2},
                          {"dword", 4}, {"32", 4},       {"pk_add", 4}, {"_atomic_", 4}};

u8 bytes_of(std::string_view name) {
  for (const Size &size : sizes)
    if (name.find(size.part) != std::string_view::npos) return size.bytes;
  return 0;
}

Access access_of(Encoding encoding, const std::string &name) {
  Access found;
  found.category = class_of(encoding, name);
  const auto has = [&](const char *part) { return name.find(part) != std::string::npos; };
  if ((encoding == Encoding::GLOBAL || encoding == Encoding::FLAT || encoding == Encoding::MUBUF) &&
      (has("_load_") || has("_store_") || has("_atomic_"))) {
    found.kind = Access::Global;
    found.bytes = bytes_of(name);
    found.store = has("_store_");
    found.atomic = has("_atomic_");
  } else if (encoding == Encoding::DS) {
    for (const char *without : {"swizzle", "permute", "nop"})
      if (has(without)) return found;
    const bool strided = has("st64"), two = has("read2") || has("write2");
    // "st64" is a distance, not a size.
    found.bytes = two ? (name.ends_with("b64") ? 8 : 4) : bytes_of(name);
    found.kind = two ? Access::LdsTwo : Access::Lds;
    found.unit = found.bytes * (strided ? 64u : 1u);
    found.store = has("write");
    found.atomic = !has("read") && !found.store;
  }
  if (!found.bytes) found.kind = Access::None;
  return found;
}

// The addresses in global memory that the active lanes access.
int global_addresses(const Wave &w, const Inst &i, const Access &access, u64 *at) {
  int count = 0;
  if (i.encoding == Encoding::MUBUF) {
    Places places;
    find_places(w, i, access.bytes, 1, places);
    for (u64 left = w.exec_; left; left &= left - 1) {
      const int l = std::countr_zero(left);
      if (places.inside[l] && !in_scratch(places.at[l])) at[count++] = places.at[l];
    }
    return count;
  }
  const u64 offset = static_cast<u64>(static_cast<i64>(static_cast<i32>(i.constant)));
  const u32 *low = w.v[i.src[0] - vgpr], *high = w.v[i.src[0] - vgpr + 1];
  const u64 base = i.src[2] == none ? 0 : w.scalar64(i.src[2], i);
  for (u64 left = w.exec_; left; left &= left - 1) {
    const int l = std::countr_zero(left);
    const u64 address = offset + (i.src[2] == none ? u64{high[l]} << 32 | low[l] : base + low[l]);
    const u64 aperture = address >> 32;
    if (i.encoding == Encoding::FLAT && (aperture == shared_aperture >> 32 || aperture == private_aperture >> 32))
      continue;
    at[count++] = address;
  }
  return count;
}

// The bytes that the active lanes ask for, each once, and the lines that these lie in.
void count_lines(const Wave &w, const Inst &i, const Access &access, u32 line, Counts &counts) {
  u64 at[lanes];
  const int count = global_addresses(w, i, access, at);
  if (!count) return;
  std::sort(at, at + count);
  u64 asked = 0, lines = 0, covered = at[0], next_line = at[0] / line;
  for (int n = 0; n < count; ++n) {
    const u64 end = at[n] + access.bytes;
    asked += end > covered ? end - std::max(covered, at[n]) : 0;
    covered = std::max(covered, end);
    const u64 first = std::max(at[n] / line, next_line), last = (end - 1) / line;
    if (last < first) continue;
    lines += last - first + 1;
    next_line = last + 1;
  }
  ++counts.accesses;
  counts.asked += asked;
  counts.moved += lines * line;
}

void count_banks(const Wave &w, const Inst &i, const Access &access, Counts &counts) {
  if (!w.exec_) return;
  u32 at[lanes];
  const u32 *address = w.v[i.src[0] - vgpr];
  const auto answer = [&](u32 offset) {
    for (int l = 0; l < lanes; ++l) at[l] = address[l] + offset;
    counts.lds_conflicts += bank_conflicts(w.exec_, at, access.bytes, access.store, access.atomic);
    ++counts.lds_accesses;
  };
  if (access.kind == Access::Lds) {
    answer(i.constant & 0xffff);
  } else {
    answer((i.constant & 0xff) * access.unit);
    answer((i.constant >> 8 & 0xff) * access.unit);
  }
}

void count(const Wave &w, const Inst &i, const Watch &watch, Counts &counts) {
  const Access &access = watch.accesses->of(i);
  ++counts.executed[static_cast<int>(access.category)];
  if (access.category == Class::Vector || access.category == Class::Matrix) {
    counts.lanes_active += static_cast<u64>(std::popcount(w.exec_));
    counts.lanes_there += w.launch->wave;
  }
  if (access.kind == Access::Global)
    count_lines(w, i, access, watch.line_bytes, counts);
  else if (access.kind != Access::None)
    count_banks(w, i, access, counts);
}

}  // namespace

Counts &Counts::operator+=(const Counts &other) {
  launches += other.launches;
  waves += other.waves;
  for (int n = 0; n < classes; ++n) executed[n] += other.executed[n];
  lanes_active += other.lanes_active;
  lanes_there += other.lanes_there;
  accesses += other.accesses;
  asked += other.asked;
  moved += other.moved;
  lds_accesses += other.lds_accesses;
  lds_conflicts += other.lds_conflicts;
  return *this;
}

Accesses::Accesses(const std::string &target) : rows_(encodings * opcodes) {
  for (int e = 0; e < encodings; ++e)
    for (u32 opcode = 0; opcode < opcodes; ++opcode) {
      Inst i{};
      i.encoding = static_cast<Encoding>(e);
      i.opcode = static_cast<u16>(opcode);
      const char *name = mnemonic(target, i);
      const bool memory = i.encoding == Encoding::GLOBAL || i.encoding == Encoding::FLAT || i.encoding == Encoding::DS;
      rows_[static_cast<u32>(e) * opcodes + opcode] = access_of(i.encoding, memory ? plain_name(name) : name);
    }
}

const Access &Accesses::of(const Inst &i) const { return rows_[static_cast<u32>(i.encoding) * opcodes + i.opcode]; }

void run_watched(Wave &w, const Watch &watch, Seen &seen) {
  execute(w, [&](const Inst &i) {
    if (watch.reached) seen.reached[i.index] = 1;
    if (watch.accesses) count(w, i, watch, seen.counts);
  });
}

// Vega and CDNA 1 and 2: 64 bytes (ROCm's documentation of the performance model, "Vector L1 cache"); CDNA 3 and 4: 128
// (AMD CDNA 3 white paper, "Memory hierarchy"); RDNA: 128 (RDNA white paper, "Cache hierarchy").
u32 line_bytes(const std::string &target) {
  for (const char *old : {"gfx900", "gfx906", "gfx908", "gfx90a"})
    if (target.starts_with(old)) return 64;
  return 128;
}

// 32 banks of 4 bytes. Lanes are answered in groups: 32 of up to 4 bytes, 16 of 8, 8 of 16, which of a 16-byte read are
// not neighbours (ROCm's blog, "Avoiding LDS Bank Conflicts on AMD GPUs Using CK-Tile Framework"). One word that
// several lanes read counts once; atomic operations on it do not.
u32 bank_conflicts(u64 active, const u32 *addresses, u32 bytes, bool store, bool atomic) {
  constexpr u32 banks = 32;
  static constexpr u8 fours[8][2] = {{0, 5}, {1, 4}, {2, 7}, {3, 6}, {8, 13}, {9, 12}, {10, 15}, {11, 14}};
  const u32 words = (bytes + 3) / 4;
  const u32 size = words <= 1 ? 32 : words == 2 ? 16 : 8;
  const bool apart = size == 8 && !store;
  u32 conflicts = 0;
  for (u32 group = 0; group < lanes / size; ++group) {
    u32 word[lanes * 5], count = 0;
    for (u32 n = 0; n < size; ++n) {
      const u32 l = apart ? u32{fours[group][n / 4]} * 4 + n % 4 : group * size + n;
      if (!(active >> l & 1)) continue;
      for (u32 at = addresses[l] / 4; at <= (addresses[l] + bytes - 1) / 4; ++at) word[count++] = at;
    }
    if (!atomic) {
      std::sort(word, word + count);
      count = static_cast<u32>(std::unique(word, word + count) - word);
    }
    u32 load[banks] = {};
    for (u32 n = 0; n < count; ++n) ++load[word[n] % banks];
    conflicts += std::max(*std::max_element(load, load + banks), 1u) - 1;
  }
  return conflicts;
}

}  // namespace isa
