#include "fiber.h"

#include <sys/mman.h>

#include "simt/abi.h"

#if !defined(__x86_64__)
#error "the fiber switch is written for x86-64"
#endif

// simt_barrier and simt_wave save the callee-saved registers on the thread's own stack, ask the scheduler (an ordinary
// call) what runs next, and continue there. All stack pointers in the runtime point at such a frame of six registers
// and a return address. mxcsr and the x87 control word are the same for all fibers and are not saved.
asm(R"(
.text
.macro SIMT_SAVE
  pushq %rbp
  .cfi_adjust_cfa_offset 8
  pushq %rbx
  .cfi_adjust_cfa_offset 8
  pushq %r12
  .cfi_adjust_cfa_offset 8
  pushq %r13
  .cfi_adjust_cfa_offset 8
  pushq %r14
  .cfi_adjust_cfa_offset 8
  pushq %r15
  .cfi_adjust_cfa_offset 8
.endm
# An indirect jump, not ret: the return-address predictor knows nothing of other stacks.
.macro SIMT_RESUME
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rcx
  jmp *%rcx
.endm

.globl simt_barrier
.type simt_barrier,@function
simt_barrier:
  .cfi_startproc
  SIMT_SAVE
  movq %rsp, %rdx
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  call simt_on_barrier
  movq %rax, %rsp
  movq %rdx, %rax
  SIMT_RESUME
  .cfi_endproc
.size simt_barrier, .-simt_barrier

.globl simt_wave
.type simt_wave,@function
simt_wave:
  .cfi_startproc
  SIMT_SAVE
  movq %rsp, %rax
  pushq %rax
  .cfi_adjust_cfa_offset 8
  call simt_on_wave
  movq %rax, %rsp
  movq %rdx, %rax
  SIMT_RESUME
  .cfi_endproc
.size simt_wave, .-simt_wave

.globl simt_fiber_enter
.hidden simt_fiber_enter
.type simt_fiber_enter,@function
simt_fiber_enter:
  .cfi_startproc
  SIMT_SAVE
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  SIMT_RESUME
  .cfi_endproc
.size simt_fiber_enter, .-simt_fiber_enter

.globl simt_fiber_jump
.hidden simt_fiber_jump
.type simt_fiber_jump,@function
simt_fiber_jump:
  .cfi_startproc
  movq %rdi, %rsp
  movq %rsi, %rax
  SIMT_RESUME
  .cfi_endproc
.size simt_fiber_jump, .-simt_fiber_jump
)");

namespace simt {

FiberStacks::~FiberStacks() {
  if (base_) munmap(base_, slot * SIMT_MAX_THREADS);
}

bool FiberStacks::reserve() {
  const std::size_t bytes = slot * SIMT_MAX_THREADS;
  void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return false;
  madvise(p, bytes, MADV_NOHUGEPAGE);  // a few KiB of each stack are used
  base_ = static_cast<char *>(p);
  return true;
}

void *FiberStacks::prepare(unsigned i, void (*main)()) {
  if (!base_ && !reserve()) return nullptr;
  for (; guarded_ <= i; ++guarded_)
    if (mprotect(base_ + slot * guarded_, guard_bytes, PROT_NONE) != 0) return nullptr;
  // Tops at different offsets, otherwise the hot frames of all fibers map to the same cache sets.
  char *top = base_ + slot * (i + 1) - 64 - (i % 48) * 64;
  void **frame = reinterpret_cast<void **>(top);
  *--frame = nullptr;  // return address of main: none
  *--frame = reinterpret_cast<void *>(main);
  for (int k = 0; k < 6; ++k) *--frame = nullptr;
  return frame;
}

bool FiberStacks::in_guard(const void *address) const {
  const char *a = static_cast<const char *>(address);
  if (!base_ || a < base_ || a >= base_ + slot * SIMT_MAX_THREADS) return false;
  return static_cast<std::size_t>(a - base_) % slot < guard_bytes;
}

}  // namespace simt
