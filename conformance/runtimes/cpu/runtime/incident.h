// What went wrong in a kernel: plain facts, written where it happened (perhaps in a signal handler), turned into a
// message afterwards on the launching thread.
#pragma once

#include <cstdint>
#include <string>

#include "error.h"
#include "simt/abi.h"

namespace simt {

struct Place {
  const char *file = nullptr;
  int line = 0;
};

struct Incident {
  enum Kind : int {
    None,
    Fault,              // a signal: signal, address, pc, write
    Timeout,            // pc
    Trap,               // what, here
    BarrierDivergence,  // thread waits at here, other_thread at there
    MissingLanes,       // lanes wait at here with mask, other_thread is at there (or has not come to one)
    NotInMask,          // the thread is not in its own mask, here
    NoMemory,           // no stack for a fiber
    ForbiddenCall,      // what: a system call that the sandbox refused
  };
  Kind kind = None;
  simt_index block{}, thread{};
  unsigned linear_thread = 0;
  Place here, there;
  unsigned other_thread = 0;
  unsigned wave = 0;
  std::uint64_t lanes = 0, mask = 0;
  const char *what = nullptr;
  int signal = 0;
  bool write = false;
  bool in_stack_guard = false;
  const void *address = nullptr;
  const void *pc = nullptr;
  // The block's dynamic shared memory at that time.
  const char *dynamic_shared = nullptr;
  unsigned dynamic_bytes = 0;
};

// The error code of an incident and its message: kernel, block, thread, cause.
Error describe(const Incident &incident, const simt_kernel &kernel, unsigned timeout_ms, std::string &message);

}  // namespace simt
