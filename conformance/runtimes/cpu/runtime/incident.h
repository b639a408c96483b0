// What went wrong in a kernel: plain data, written where it happened (possibly in a signal handler), formatted later
// on the launching thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "error.h"
#include "memory.h"
#include "shared.h"
#include "simt/abi.h"

namespace simt {

struct SourceLocation {
  const char *file = nullptr;
  int code = 0;  // SIMT_LOCATION

  int line() const { return code >> SIMT_COLUMN_BITS; }
};

inline bool same_text(const char *a, const char *b) { return a == b || (a && b && std::strcmp(a, b) == 0); }

struct Incident {
  enum Kind : int {
    None,
    Fault,              // a signal: signal, address, pc, write
    Timeout,            // pc
    Trap,               // what, here
    BarrierDivergence,  // thread waits at here, other_thread at there
    BarrierCounts,      // thread waits at here again, other_thread has returned since
    MissingLanes,       // lanes wait at here with mask, other_thread is at there (or at none yet)
    AbsentLanes,        // lanes are all that the wave has, fewer than the mask at here names
    NotInMask,          // the thread is not in its own mask, here
    NoMemory,           // no stack for a fiber
    ForbiddenCall,      // what: a system call that the sandbox refused
    OutOfBounds,        // bounds, index
    Misaligned,         // address, align, index: bytes, write
    SharedDamage,       // found at the end of the block: area
  };
  Kind kind = None;
  simt_index block{}, thread{};
  unsigned linear_thread = 0;
  SourceLocation here, there;
  unsigned other_thread = 0;
  unsigned wave = 0;
  std::uint64_t lanes = 0, mask = 0;
  const char *what = nullptr;
  const simt_bounds_check *bounds = nullptr;
  unsigned long index = 0, align = 0;
  int signal = 0;
  bool write = false;
  const void *address = nullptr;
  const void *pc = nullptr;
  Area area;  // the block's own memory that the address is in or next to
};

// The demangled form of a name.
std::string demangled(const char *name);

// "reads 16 bytes at an address that is no multiple of 16".
std::string misaligned_access(unsigned long align, unsigned long bytes, bool store);

// What messages need to know about a launch.
struct Launched {
  const simt_kernel &kernel;
  const Memory::Argument *pointers;  // its arguments that are pointers
  unsigned pointer_count;
  unsigned timeout_ms;
};

// The error code of an incident and its message: kernel, block, thread, cause. It has no address, so that the
// same launch fails with the same message in every process.
Error describe(const Incident &incident, const Launched &launched, std::string &message);

}  // namespace simt
