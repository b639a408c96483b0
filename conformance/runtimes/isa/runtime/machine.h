// The machine that AMD code objects run on: waves with their registers, work-groups with their LDS, decoded
// instructions. A wave's lanes are arrays, so that the compiler vectorises what an instruction does to them.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "waits.h"

namespace isa {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;
using f16 = _Float16;
using f32 = float;
using f64 = double;

constexpr int lanes = 64;
constexpr int vector_registers = 512;
constexpr int scalar_line = 64;  // bytes of a line of the scalar cache
constexpr int temporaries = 4;   // registers of ours behind the machine's, for SDWA and DPP

enum class Encoding : u8 {
  SOP1,
  SOP2,
  SOPK,
  SOPC,
  SOPP,
  SMEM,
  VOP1,
  VOP2,
  VOPC,
  VOP3,
  VOP3P,
  DS,
  FLAT,
  GLOBAL,
  SCRATCH,
  MUBUF,
  VOPD
};

// Operands as the encodings number them; vector registers begin at 256.
enum Operand : u16 {
  vcc = 106,
  ttmp7 = 115,
  ttmp9 = 117,
  m0 = 124,
  exec = 126,
  zero = 128,
  shared_base = 235,
  shared_limit = 236,
  private_base = 237,
  private_limit = 238,
  first_float = 240,
  two_pi = 248,
  vccz = 251,
  execz = 252,
  scc = 253,
  null_operand = 254,
  literal = 255,
  vgpr = 256,
  temporary = vgpr + vector_registers,
  none = 0xffff,
};

struct Wave;
struct Inst;
using Run = void (*)(Wave &, const Inst &);

// Halves: 16-bit operands in v128 to v255 are the high halves of v0 to v127 (RDNA 3). Keeps: 16-bit results leave the
// other half of their register alone (RDNA). SignedLiteral: a literal of 32 bits is extended by its sign to 64.
enum Flag : u8 { Dpp = 1, SignedLiteral = 2, Clamp = 4, Halves = 8, Returns = 16, Promoted = 32, Keeps = 64 };

// A decoded instruction. `index` is its own place in the decoded code.
struct Inst {
  Run run;
  Run inner;     // of an instruction with SDWA or DPP: what it does with its operands
  u32 constant;  // a literal, an offset, a branch's target as an index, or the word of SDWA or DPP
  u32 index;
  u16 src[3];
  u16 dst, sdst;
  u8 flags;
  u8 neg, abs;  // a bit for each source
  u8 op_sel, op_sel_hi, neg_hi;
  u8 omod;
  u8 words;
  Encoding encoding;
  u16 opcode;
};

// Why a launch ends before its end.
struct Fault : std::runtime_error {
  enum Kind { Unknown, Address, Trap, Timeout, Other };
  Kind kind;
  Fault(Kind k, const std::string &what) : std::runtime_error(what), kind(k) {}
};

struct AddressFault : Fault {
  enum Space { Global, Lds, Scratch };
  Space space;
  u64 address;
  u32 bytes;
  int lane;
  AddressFault(Space s, u64 a, u32 n, int l) : Fault(Address, "an address"), space(s), address(a), bytes(n), lane(l) {}
};

struct Code;

// Where data lies that lanes may access.
struct Window {
  u64 begin = 0, end = 0;

  bool holds(u64 address, u32 bytes) const {
    return address >= begin && bytes <= end - begin && address - begin <= end - begin - bytes;
  }
};

// How what is loaded lies in a register: alone, or in one half of it.
enum class Half { Whole, Low, High };

// What the waves of a launch have in common.
struct Launch {
  const Code *code;
  Window fixed[3];  // the loaded image, the arguments, the dispatch packet
  const char *kernel;
  u32 grid[3], block[3];
  u32 wave;                      // lanes, 32 or 64
  bool packs_thread_ids;         // a thread's place in its block is in one register
  u32 lds_bytes, scratch_bytes;  // of a group, of a lane
  u32 vgprs;
  // In every byte that nothing has written of registers, LDS and scratch memory.
  struct {
    u8 registers, lds, scratch;
  } poison;
  u32 perturb;  // the seed of deviations of approximate instructions, 0 for none
  bool late;    // stores arrive as late as they may, and waves take short turns
  bool stores_by_wave;
  u64 kernarg, dispatch_packet;

  std::string address(const Inst &i) const;  // in the object, for messages
};

struct Group {
  const Launch *launch;
  u32 id[3];
  std::vector<u8> lds;
  Stores stores;  // to global memory, of all waves, where they reach one another in the order of their instructions
  u64 round;
  // By address, as the scalar cache has them: vector instructions store past it.
  std::unordered_map<u64, std::array<u8, scalar_line>> scalar_lines;
};

constexpr u64 shared_aperture = u64{0x10000} << 32;
constexpr u64 private_aperture = u64{0x20000} << 32;
constexpr u64 printf_buffer = u64{0x30000} << 32;  // where nothing is

struct Wave {
  alignas(64) u32 v[vector_registers + temporaries][lanes];
  alignas(64) u32 mask[lanes];  // `exec` as words of all ones or zeros
  u64 masked_for;               // the `exec` that `mask` is of
  u32 s[128];
  u64 exec_;
  bool scc_;
  bool ended, at_barrier;
  u32 pc;          // an index into the decoded code
  u64 write_exec;  // lanes that a DPP instruction writes
  Group *group;
  const Launch *launch;
  u32 number;  // in its group
  u64 executed, turn_end;
  u32 rests;  // turns that it leaves to others
  std::vector<u8> scratch;
  Window windows[4];
  u32 hot;  // the window of the last access
  Waits waits;
  Stores lds_stores, memory_stores;

  // Vector register `r`, read or written by what is not a load; raises Fault where a load into it is in flight.
  const u32 *in(u32 r) const {
    if (waits.late[r]) [[unlikely]]
      too_early(r, false, false);
    return v[r];
  }
  u32 *out(u32 r) {
    if (waits.late[r]) [[unlikely]]
      too_early(r, false, true);
    return v[r];
  }
  void read(u32 first, u32 count) const {
    for (u32 r = first; r < first + count; ++r) in(r);
  }
  void check_scalar(u32 r, bool written) const {
    if (waits.late_scalar[r]) [[unlikely]]
      too_early(r, true, written);
  }
  [[noreturn, gnu::cold, gnu::noinline]] void too_early(u32 r, bool scalar, bool written) const;

  u32 scalar(u16 code, const Inst &i) const;
  u64 scalar64(u16 code, const Inst &i) const;
  void set_scalar(u16 code, u32 value);
  void set_scalar64(u16 code, u64 value);
  void load_scalar(u16 code, u32 value);  // by a load, whatever is in flight
  // A bit for each lane, in one register or two.
  u64 mask_at(u16 code, const Inst &i) const { return launch->wave == 32 ? scalar(code, i) : scalar64(code, i); }
  void set_mask(u16 code, u64 bits) {
    if (code == none) return;
    if (launch->wave == 32)
      set_scalar(code, static_cast<u32>(bits));
    else
      set_scalar64(code, bits);
  }
  u64 vcc_mask() const {
    check_scalar(vcc, false);
    return launch->wave == 32 ? s[vcc] : u64{s[vcc + 1]} << 32 | s[vcc];
  }
  const u32 *masks(u64 bits) {
    if (bits != masked_for) {
      for (int l = 0; l < lanes; ++l) mask[l] = bits >> l & 1 ? ~0u : 0u;
      masked_for = bits;
    }
    return mask;
  }
  // The host's memory at an address of global memory, checked; raises AddressFault.
  u8 *at(u64 address, u32 bytes, int lane) {
    if (windows[hot].holds(address, bytes)) return reinterpret_cast<u8 *>(address);
    return look_up(address, bytes, lane);
  }
  u8 *look_up(u64 address, u32 bytes, int lane);
  // Before a store where it need not arrive at once; before an atomic instruction, which does.
  void note(u8 *at, u32 bytes) const;
  void settle(const u8 *at, u32 bytes) const {
    if (!waits.memory) [[likely]]
      return;
    waits.lds->arrive_at(at, bytes);
    waits.memory->arrive_at(at, bytes);
  }
  // After an atomic instruction others have their turns while stores before it are on their way.
  void let_others_overtake() {
    if (!waits.memory || waits.memory->empty()) [[likely]]
      return;
    turn_end = executed;
    rests = 1;
  }
  u8 *lds_at(u64 address, u32 bytes, int lane);
  u8 *scratch_at(u64 address, u32 bytes, int lane);
};

// Two operations in one instruction of RDNA 3.
struct Dual {
  Inst x, y;
};

// An instruction that follows `first` too soon, and what is said of it.
struct Hazard {
  u32 first;
  std::string gap, why;
};

// Decoded code of a code object. `index_of` is the place in `insts` of the instruction at each word, `offsets` the way
// back, in bytes.
struct Code {
  std::vector<Inst> insts;
  std::vector<Dual> duals;
  std::vector<u32> index_of, offsets;
  u64 address = 0;                // of the first word, in the loaded image
  std::set<u64> functions;        // where they begin, likewise
  std::map<u32, Hazard> hazards;  // by the index of the second instruction, which is a fault to execute
  std::string target;
  u32 generation = 0;     // of the instruction set: 9 to 12
  bool has_ecc = false;   // of vector registers: what loads 16 bits into one half leaves 0 in the other
  bool is_mi200 = false;  // which flushes subnormal operands and results of f16 and bf16 products

  u64 address_of(u32 index) const { return address + offsets[index]; }
  u32 index_at(u64 where) const;  // raises Fault
};

// Has `w` execute instructions until its turn is over, it has ended or waits; each is shown to `see` before.
template <class See>
void execute(Wave &w, See see) {
  const Inst *code = w.launch->code->insts.data();
  while (w.executed < w.turn_end && !w.ended && !w.at_barrier) {
    ++w.executed;
    const Inst &i = code[w.pc++];
    see(i);
    i.run(w, i);
  }
}

inline u32 reversed_bits(u32 a) {
  a = (a >> 1 & 0x55555555) | (a & 0x55555555) << 1;
  a = (a >> 2 & 0x33333333) | (a & 0x33333333) << 2;
  a = (a >> 4 & 0x0f0f0f0f) | (a & 0x0f0f0f0f) << 4;
  return __builtin_bswap32(a);
}

template <class T>
T load_as(const void *p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}
template <class T>
void store_as(void *p, T value) {
  std::memcpy(p, &value, sizeof value);
}

struct Semantics {
  const char *name;
  Run run;
};

template <std::size_t n>
Run find_row(const Semantics (&rows)[n], const char *name) {
  for (const Semantics &row : rows)
    if (std::strcmp(row.name, name) == 0) return row.run;
  return nullptr;
}

// What instructions do, by mnemonic without suffix; null for those that are not known.
Run find_scalar(const char *name);
Run find_scalar_float(const char *name);
Run find_control(const char *name);
Run find_compare(const char *name);
Run find_float(const char *name);
Run find_approximate(const char *name);
Run find_integer(const char *name);
Run find_packed(const char *name);
// Sums and differences of integers held at the ends of their type, as the clamp bit asks for.
Run find_saturating(const char *name);
Run find_saturating_packed(const char *name);
// A mnemonic as the functions above know it: CDNA's where RDNA has another.
std::string plain_name(const char *name);
Run find_memory(const char *name);
Run find_lds(const char *name);
Run find_buffer(const char *name);
Run find_wait(const char *name);
Run find_dot(const char *name);
Run find_byte_float(const char *name);
Run find_matrix(const char *name);
void run_dpp(Wave &, const Inst &);
void run_sdwa(Wave &, const Inst &);

[[noreturn]] void unknown(Wave &, const Inst &);
[[noreturn]] void no_instruction(Wave &, const Inst &);

// Decodes `bytes` of code for `target`; raises Fault for a target whose encodings are not known.
void decode(Code &code, const u8 *text, std::size_t bytes, const std::string &target);
// An opcode that the interpreter gives a meaning.
struct Meaning {
  Encoding encoding;
  u32 opcode;
  const char *name;
};
// All of `target`'s; raises Fault for a target whose encodings are not known.
std::vector<Meaning> meanings(const std::string &target);
// The mnemonic of an instruction, for messages.
const char *mnemonic(const std::string &target, const Inst &i);

}  // namespace isa
