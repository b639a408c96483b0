// A block's shared memory: its __shared__ variables and its dynamic shared memory, each at the end of its own slot
// with a guard behind it, and canaries in the bytes that the guard cannot cover.
//
//   | guard 64 KiB | up to 64 KiB; canary in the 64 bytes before the variable | the variable | slack: canary | guard
//   ...
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "canary.h"
#include "simt/abi.h"

namespace simt {

// The block's own memory that an address is in or next to.
struct Area {
  enum Kind : int { None, Stack, Shared, DynamicShared, Unknown };  // Unknown: not reported by the processor
  Kind kind = None;
  const char *name = nullptr;  // of a shared variable, mangled
  std::size_t bytes = 0;
  std::ptrdiff_t offset = 0;  // from the start of the variable
};

class SharedMemory {
 public:
  static constexpr unsigned max_variables = 255;  // of one kernel
  static constexpr std::size_t max_bytes = 64 * 1024;

  // Throws std::bad_alloc.
  SharedMemory();
  ~SharedMemory();
  SharedMemory(const SharedMemory &) = delete;
  SharedMemory &operator=(const SharedMemory &) = delete;

  // Before the first block of a launch. `use` may be null. False: no memory.
  bool lay_out(const simt_shared_variable *variables, unsigned long count, const simt_shared_use *use,
               std::size_t dynamic_bytes, const canary::Pattern &canary);
  void *dynamic() const { return slots_[0].base; }
  void *const *variables() const { return addresses_.data(); }

  void poison(unsigned char byte);  // before a block
  bool damaged(Area &area) const;   // after a block: whether a canary was overwritten, and where

  // What `address` belongs to: a variable or the guard next to it. Async-signal-safe.
  bool find(const void *address, Area &area) const;

 private:
  struct Slot {
    const char *name;  // null for the dynamic shared memory
    char *base;
    std::size_t bytes;
    const char *end;  // of the slack
  };
  static constexpr std::size_t guard_bytes = max_bytes, slot_bytes = max_bytes + guard_bytes;

  char *end_of(unsigned index) const { return base_ + slot_bytes * (index + 1); }
  bool add(const char *name, std::size_t bytes, std::size_t align);

  char *base_ = nullptr;
  const canary::Pattern *canary_ = nullptr;
  unsigned usable_ = 0;  // slots whose pages can be accessed
  std::unique_ptr<Slot[]> slots_;
  unsigned count_ = 0;
  std::vector<void *> addresses_;  // by row of the module's table
};

}  // namespace simt
