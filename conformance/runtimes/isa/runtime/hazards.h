// Hazards: pairs of instructions between which the code has to leave wait states, for hardware does not stall.
#pragma once

#include <string_view>
#include <vector>

#include "machine.h"

namespace isa {

// Registers as operands are numbered: scalar ones, vcc, m0 and exec below 128, vector registers from `vgpr` on.
struct Registers {
  u16 first = none, count = 0;

  bool empty() const { return count == 0; }
};

// A few of them, without an allocation.
struct Several {
  Registers all[8];
  u32 count = 0;

  Several() = default;
  Several(const Registers &one) { add(one); }
  void add(const Registers &registers) {
    if (!registers.empty() && count < 8) all[count++] = registers;
  }
  const Registers *begin() const { return all; }
  const Registers *end() const { return all + count; }
};

inline bool overlap(const Registers &a, const Registers &b) {
  return a.first < b.first + b.count && b.first < a.first + a.count;
}

constexpr u16 hardware_register = 0x4000;  // of s_setreg and s_getreg, behind all others

// What kind of instruction a mnemonic is, as far as hazards go.
struct Kind {
  bool vector = false, scalar = false, memory = false, lds = false, ends = false;
  bool matrix = false, xdl = false, wmma = false, dot = false, trans = false;
  bool compare = false, writes_exec = false, carries = false, takes_mask = false, accumulates = false;
  bool lane_select = false, reads_lane = false, div_fmas = false, reads_m0 = false;
  bool sets_register = false, gets_register = false, half = false, known = false;
  bool idles = false, waits_for_vectors = false;  // s_nop; a wait for the results of all VALU instructions
  u8 passes = 0, factor = 1;                      // of a matrix instruction; registers of a factor of it
  u8 words = 1, stored = 0;                       // registers of the result; of what is stored
  u8 address = 1, data = 0;  // operands of an access to memory or LDS; other fields of it name no register
};

Kind kind_of(std::string_view name, Encoding encoding, const std::string &target);

// An instruction with its kind; what it reads and writes. Where a width is not known for sure the least is taken, so
// that nothing is called a hazard that is none.
struct Classified {
  const Inst *inst;
  const Code *code;
  Kind kind;

  Registers written() const;          // vector registers, by anything but a load
  Registers scalars_written() const;  // by VALU or SALU instructions, vcc and m0 among them
  Several read() const;               // vector registers
  Several scalars_read() const;       // by VALU instructions
};

// Marks the instructions of `code` that come too soon after another on a path without a label or a jump between them:
// who executes the second has executed the first. Raises nothing; what is executed then does.
void find_hazards(Code &code, const std::vector<Kind> &kinds, const std::vector<bool> &labels);

// How many such instructions were found since the start of the process.
u64 hazards_found();

}  // namespace isa
