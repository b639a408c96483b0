// Host code of launchers and the memory of the device, which it cannot access on a GPU.
#include "host_access.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "memory.h"

namespace simt {
namespace {

constexpr int accessible = PROT_READ | PROT_WRITE;

bool is_mapped(const void *pointer) {
  constexpr std::size_t page = 4096;
  const auto address = reinterpret_cast<std::uintptr_t>(pointer) / page * page;
  return madvise(reinterpret_cast<void *>(address), page, MADV_NORMAL) == 0;
}

}  // namespace

void Memory::keep_from_host(void *const *pointers, unsigned count) {
  const std::lock_guard lock(mutex_);
  keeps_ = true;
  for (unsigned i = 0; i < count; ++i)
    if (Block *block = block_at(pointers[i]); block && block->live && !block->kept) keep(*block, i);
}

void Memory::keep(Block &block, unsigned argument) {
  if (block.kind != Kind::Device) return;
  block.kept = true;
  block.argument = argument;
  kept_.push_back(&block);
  if (!opened_) mprotect(block.start, block.body, PROT_NONE);
}

void Memory::admit(Block &block) {
  mprotect(block.start, block.body, accessible);
  block.kept = false;
  kept_.erase(std::remove(kept_.begin(), kept_.end(), &block), kept_.end());
}

void Memory::admit_host() {
  const std::lock_guard lock(mutex_);
  set_access(accessible);
  for (Block *block : kept_) block->kept = false;
  kept_.clear();
  keeps_ = false;
}

void Memory::set_access(int protection) const {
  for (const Block *block : kept_) mprotect(block->start, block->body, protection);
}

bool Memory::kept_from_host(const void *address, std::string &text) {
  const char *a = static_cast<const char *>(address);
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return false;  // the fault is of code that has the lock, which this thread would wait for
  const Block *block = block_at(address);
  if (!block || !block->kept || opened_ || a < block->start || a >= block->start + block->body) return false;
  text = "the " + std::to_string(block->bytes) + "-byte allocation";
  if (block->argument != none) text += " of argument " + std::to_string(block->argument);
  return true;
}

bool Memory::is_fresh(const void *pointer) {
  const std::lock_guard lock(mutex_);
  const Block *block = block_at(pointer);
  return !block || (block->kept && block->argument == none);
}

Memory::Opened::Opened() {
  const std::lock_guard lock(memory().mutex_);
  if (memory().opened_++ == 0) memory().set_access(accessible);
}
Memory::Opened::~Opened() {
  const std::lock_guard lock(memory().mutex_);
  if (--memory().opened_ == 0) memory().set_access(PROT_NONE);
}

Error Memory::check_not_of_host(const char *kernel, const Argument *arguments, unsigned count) {
  const std::lock_guard lock(mutex_);
  if (!keeps_) return Success;
  for (unsigned i = 0; i < count; ++i) {
    const void *pointer = arguments[i].pointer;
    Dl_info variable;  // of a module: __device__, or the host's, which cannot be told apart here
    if (block_at(pointer) || !is_mapped(pointer) || dladdr(pointer, &variable)) continue;
    return fail(IllegalAddress, "kernel %s: argument %u (%s) points to memory of the host", kernel, arguments[i].index,
                arguments[i].type);
  }
  return Success;
}

void tell_host_access(const siginfo_t &info, const void *context) {
  constexpr int is_write = 2;  // bit of the x86 page-fault error code
  std::string what;
  if (info.si_signo != SIGSEGV || info.si_code != SEGV_ACCERR || !memory().kept_from_host(info.si_addr, what)) return;
  const auto &machine = *static_cast<const ucontext_t *>(context);
  const char *verb = machine.uc_mcontext.gregs[REG_ERR] & is_write ? "writes to " : "reads ";
  const std::string line = "host code " + std::string(verb) + what + ", which is memory of the device\n";
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) return;
}

}  // namespace simt
