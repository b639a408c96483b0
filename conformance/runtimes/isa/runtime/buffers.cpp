#include "buffers.h"

namespace isa {
namespace buffers {

// Fields of a descriptor, as far as they decide on addresses.
struct Resource {
  u64 base;
  u32 stride, records;
  u32 indices;  // that have an element each before the next element of the first
  u32 select;   // what is out of range, on RDNA
  bool swizzled, adds_lane;
};

[[noreturn]] void not_known(const char *what) { throw Fault(Fault::Unknown, what); }

Resource resource_of(const Wave &w, const Inst &i) {
  u32 words[4];
  for (u16 n = 0; n < 4; ++n) words[n] = w.scalar(static_cast<u16>(i.src[2] + n), i);
  const u32 generation = w.launch->code->generation;
  Resource r{};
  r.base = u64{words[1] & 0xffff} << 32 | words[0];
  r.stride = words[1] >> 16 & 0x3fff;
  r.records = words[2];
  r.indices = 8u << (words[3] >> 21 & 3);
  r.select = words[3] >> 28 & 3;
  r.adds_lane = words[3] >> 23 & 1;
  const u32 swizzle = generation >= 11 ? words[1] >> 30 : words[1] >> 31;
  const u32 format = generation == 9    ? words[3] >> 15 & 15
                     : generation == 10 ? words[3] >> 12 & 127
                                        : words[3] >> 12 & 63;
  r.swizzled = swizzle != 0;
  if (generation == 9 && r.adds_lane) r.stride |= format << 14;
  if (words[3] >> 30) not_known("a resource that is not a buffer");
  if (!format && !(generation == 9 && r.adds_lane)) not_known("a buffer without a format");
  // RDNA 4 has scratch memory elsewhere, and the scalar offset among what is swizzled.
  if (r.swizzled && (!r.adds_lane || swizzle > 1 || generation == 12))
    not_known("a swizzled buffer that is not scratch memory");
  if (r.adds_lane && generation > 9 && r.select != 2) not_known("a buffer that adds lanes and checks its range");
  return r;
}

// One component of an access: its record, its offset there, and what a scalar register adds.
struct Component {
  u64 record, offset;
  u32 scalar, bytes;
};

// On Vega and CDNA what a resource is used for decides.
bool outside_gfx9(const Resource &r, const Component &c, bool indexed) {
  if (r.adds_lane && !indexed) return false;
  if (!r.adds_lane && indexed && r.stride) return c.record >= r.records;
  if (r.adds_lane) not_known("a buffer that adds lanes to an index");
  const bool out = c.offset >= r.records;
  // The documents differ on whether the scalar offset counts.
  if (out != (c.offset + c.scalar >= r.records)) not_known("a buffer that a scalar offset leaves");
  return out;
}

bool outside_rdna(const Resource &r, const Component &c, bool exact) {
  const u32 payload = exact ? c.bytes : 1;
  switch (r.select) {
    case 0:
      return c.record >= r.records || c.offset + payload > r.stride;
    case 1:
      return c.record >= r.records;
    case 2:
      return r.records == 0;
    default:
      return c.offset + c.scalar + payload > r.records;
  }
}

u64 swizzled(const Resource &r, u64 record, u32 offset) {
  const u64 row = record / r.indices * r.stride + offset / scratch_element * scratch_element;
  return row * r.indices + record % r.indices * scratch_element + offset % scratch_element;
}

}  // namespace buffers

void describe_scratch(const Launch &l, u32 (&words)[4]) {
  constexpr u32 components = 4 | 5 << 3 | 6 << 6 | 7 << 9, adds_lane = 1 << 23;
  const u32 indices = l.wave == 64 ? 3 << 21 : 2 << 21;
  words[0] = static_cast<u32>(scratch_pool);
  words[1] = static_cast<u32>(scratch_pool >> 32) | 1u << 31;  // swizzled
  words[2] = ~0u;
  words[3] = l.code->generation == 9 ? components | 4 << 12 | 4 << 15 | 1 << 19 | indices | adds_lane
                                     : components | 20 << 12 | indices | adds_lane | 1 << 24 | 2 << 28;
}

void find_places(const Wave &w, const Inst &i, u32 bytes, u32 count, Places &places) {
  using namespace buffers;
  const Resource r = resource_of(w, i);
  const u32 generation = w.launch->code->generation;
  const bool indexed = i.op_sel & HasIndex;
  const u32 *index = indexed ? w.in(i.src[0] - vgpr) : nullptr;
  const u32 *offsets = i.op_sel & HasOffset ? w.in(i.src[0] - vgpr + indexed) : nullptr;
  const u32 scalar = w.scalar(i.sdst, i);
  for (u64 left = w.exec_; left; left &= left - 1) {
    const int l = std::countr_zero(left);
    const u64 record = u64{index ? index[l] : 0} + (r.adds_lane ? static_cast<u64>(l) : 0);
    const u64 offset = u64{i.constant} + (offsets ? offsets[l] : 0);
    const u32 whole = static_cast<u32>(offset);
    if (r.swizzled && whole % scratch_element + bytes * count > scratch_element)
      throw Fault(Fault::Other, "an access over the elements of 4 bytes of a swizzled buffer");
    places.at[l] = r.base + scalar + (r.swizzled ? swizzled(r, record, whole) : r.stride * record + whole);
    places.inside[l] = 0;
    for (u32 n = 0; n < count; ++n) {
      const Component c{record, offset + n * bytes, scalar, bytes};
      const bool outside = generation == 9 ? outside_gfx9(r, c, indexed) : outside_rdna(r, c, generation > 10);
      places.inside[l] |= static_cast<u8>(!outside << n);
    }
  }
}

}  // namespace isa
