// Fiber stacks and switching between them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace simt {

// What runs next on this OS thread: a saved stack pointer, and the value its simt_wave or fiber_enter call returns.
struct Resume {
  void *sp;
  std::uint64_t result;
};

extern "C" {
// Saves the caller in *save, continues at `sp`; returns the result of the Resume that leads back to *save.
std::uint64_t simt_fiber_enter(void **save, void *sp);
// Continues at `sp`; the current stack is abandoned. Async-signal-safe.
[[noreturn]] void simt_fiber_jump(void *sp, std::uint64_t result);
}

// The stacks of one OS thread, one per thread of a block; each has a guard area at its low end. Addresses are reserved
// at once, memory is committed when a stack is first used.
class FiberStacks {
 public:
  FiberStacks() = default;
  ~FiberStacks();
  FiberStacks(const FiberStacks &) = delete;
  FiberStacks &operator=(const FiberStacks &) = delete;

  static constexpr std::size_t guard_bytes = 16 * 1024;
  static constexpr std::size_t stack_bytes = 64 * 1024;

  // A stack pointer at which simt_fiber_enter starts `main` on stack number `i`. Null when the system has no memory.
  void *prepare(unsigned i, void (*main)());
  bool in_guard(const void *address) const;

 private:
  static constexpr std::size_t slot = guard_bytes + stack_bytes;
  bool reserve();

  char *base_ = nullptr;
  unsigned guarded_ = 0;  // stacks whose guard is set
};

}  // namespace simt
