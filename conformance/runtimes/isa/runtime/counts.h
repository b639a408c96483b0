// What a launch's waves do, counted on the way where the options `counts` or `coverage` ask for it. Nothing of this is
// executed otherwise.
#pragma once

#include <string>
#include <vector>

#include "machine.h"

namespace isa {

// As AMD's profilers tell instructions apart.
enum class Class : u8 { Scalar, Vector, Matrix, ScalarMemory, Memory, Lds, Control };
constexpr int classes = 7;

// Sums over launches; `hipisaCounts` gives them in this order.
struct Counts {
  u64 launches = 0, waves = 0;
  u64 executed[classes] = {};
  u64 lanes_active = 0, lanes_there = 0;  // over vector and matrix instructions
  u64 accesses = 0;                       // instructions that reach global memory with at least a lane
  u64 asked = 0, moved = 0;               // bytes: of the lanes of an instruction, each once; of the lines they lie in
  u64 lds_accesses = 0, lds_conflicts = 0;

  Counts &operator+=(const Counts &other);
};

// What an instruction has to do with memory, by its name.
struct Access {
  enum Kind : u8 { None, Global, Lds, LdsTwo };
  Kind kind = None;
  Class category = Class::Control;
  u8 bytes = 0;  // of a lane and place
  u32 unit = 1;  // of the offsets of two places
  bool store = false, atomic = false;
};

// By encoding and opcode.
class Accesses {
 public:
  explicit Accesses(const std::string &target);
  const Access &of(const Inst &i) const;

 private:
  std::vector<Access> rows_;
};

// What one OS thread has seen of a launch.
struct Seen {
  Counts counts;
  std::vector<u8> reached;  // by index in the decoded code
};

// What is to be seen of a launch.
struct Watch {
  const Accesses *accesses = nullptr;  // null: no counts
  u32 line_bytes = 0;                  // of the vector cache next to the compute unit
  bool reached = false;

  explicit operator bool() const { return accesses || reached; }
};

// `execute`, with what is to be seen of it.
void run_watched(Wave &w, const Watch &watch, Seen &seen);

// Bytes of a line of the cache that answers a compute unit's vector memory instructions.
u32 line_bytes(const std::string &target);

// How often lanes have to be answered again because a bank of LDS has more than one word for them, where those in
// `active` access `bytes` at their addresses.
u32 bank_conflicts(u64 active, const u32 *addresses, u32 bytes, bool store, bool atomic);

}  // namespace isa
