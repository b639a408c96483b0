// Buffer instructions: memory that a resource descriptor in four scalar registers describes, scratch memory in turns of
// the lanes among it (the ISA documents, "Buffer Addressing", "Range Checking", "Buffer Resource").
#pragma once

#include "machine.h"

namespace isa {

// In `op_sel` of a decoded buffer instruction: which registers its address has.
enum AddressPart : u8 { HasOffset = 1, HasIndex = 2 };

// Where descriptors have scratch memory: behind every address of the host's.
constexpr u64 scratch_pool = u64{1} << 47;
constexpr u32 scratch_element = 4;  // bytes of a lane, before those of the next one

// Bytes of a wave's scratch memory, and how far from the beginning of the pool they are.
inline u32 wave_scratch(const Launch &l) { return (l.scratch_bytes * l.wave + 1023) / 1024 * 1024; }
inline u32 scratch_offset(const Wave &w) { return (w.number + 1) * wave_scratch(*w.launch); }

// The descriptor of the pool that a kernel finds in its first registers, as AMD's runtime writes it.
void describe_scratch(const Launch &l, u32 (&words)[4]);

// What the active lanes access: `count` components of `bytes` each.
struct Places {
  u64 at[lanes];
  u8 inside[lanes];  // a bit for each component that is in range
};

// Raises Fault for resources that are not known, and where an access reaches over an element of a swizzled one.
void find_places(const Wave &w, const Inst &i, u32 bytes, u32 count, Places &places);

// Whether an address that find_places has found is in scratch memory.
inline bool in_scratch(u64 address) { return address >= scratch_pool; }

}  // namespace isa
