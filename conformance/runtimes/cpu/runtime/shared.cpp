#include "shared.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>

namespace simt {
namespace {

constexpr std::size_t dynamic_alignment = 16, lead_bytes = 64;

char *align_down(char *p, std::size_t align) { return p - (reinterpret_cast<std::uintptr_t>(p) & (align - 1)); }

}  // namespace

SharedMemory::SharedMemory() : slots_(new Slot[max_variables + 1]) {
  void *p = mmap(nullptr, slot_bytes * (max_variables + 1) + guard_bytes, PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  base_ = static_cast<char *>(p);
}

SharedMemory::~SharedMemory() { munmap(base_, slot_bytes * (max_variables + 1) + guard_bytes); }

bool SharedMemory::add(const char *name, std::size_t bytes, std::size_t align) {
  if (count_ == usable_) {
    if (mprotect(base_ + slot_bytes * usable_ + guard_bytes, max_bytes, PROT_READ | PROT_WRITE) != 0) return false;
    ++usable_;
  }
  char *end = end_of(count_), *base = align_down(end - bytes, align);
  char *lead = std::max(base - lead_bytes, end - max_bytes);
  canary::fill(*canary_, lead, base);
  canary::fill(*canary_, base + bytes, end);
  slots_[count_++] = {name, base, bytes, end};
  return true;
}

bool SharedMemory::lay_out(const simt_shared_variable *variables, unsigned long count, const simt_shared_use *use,
                           std::size_t dynamic_bytes, const canary::Pattern &canary) {
  if (addresses_.size() < count) addresses_.resize(count);
  count_ = 0;
  canary_ = &canary;
  if (!add(nullptr, dynamic_bytes, dynamic_alignment)) return false;
  for (unsigned long i = 0; use && i < use->count; ++i) {
    const simt_shared_variable &variable = variables[use->variables[i]];
    if (!add(variable.name, variable.bytes, variable.align)) return false;
    addresses_[use->variables[i]] = slots_[count_ - 1].base;
  }
  return true;
}

void SharedMemory::poison(unsigned char byte) {
  for (unsigned i = 0; i < count_; ++i) std::memset(slots_[i].base, byte, slots_[i].bytes);
}

bool SharedMemory::damaged(Area &area) const {
  for (unsigned i = 0; i < count_; ++i) {
    const Slot &slot = slots_[i];
    const char *lead = std::max<const char *>(slot.base - lead_bytes, slot.end - max_bytes);
    const char *past = slot.base + slot.bytes;
    if (canary::intact(*canary_, lead, slot.base) && canary::intact(*canary_, past, slot.end)) continue;
    const char *found = canary::first_damage(*canary_, lead, slot.base);
    if (found == slot.base) found = canary::last_damage(*canary_, past, slot.end);
    area = {slot.name ? Area::Shared : Area::DynamicShared, slot.name, slot.bytes, found - slot.base};
    return true;
  }
  return false;
}

bool SharedMemory::find(const void *address, Area &area) const {
  const char *a = static_cast<const char *>(address);
  if (count_ == 0 || a < base_ || a >= end_of(count_ - 1) + guard_bytes) return false;
  const std::size_t offset = static_cast<std::size_t>(a - base_);
  std::size_t i = offset / slot_bytes;  // whose guard, the one before it, or body this is
  const bool before = i > 0 && (i == count_ || offset % slot_bytes < guard_bytes / 2);  // nearer to the one before
  const Slot &slot = slots_[before ? i - 1 : i];
  area = {slot.name ? Area::Shared : Area::DynamicShared, slot.name, slot.bytes, a - slot.base};
  return true;
}

}  // namespace simt
