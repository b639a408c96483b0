#include "shared.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>

#include "canary.h"

namespace simt {
namespace {

constexpr std::size_t dynamic_alignment = 16;

char *align_down(char *p, std::size_t align) { return p - (reinterpret_cast<std::uintptr_t>(p) & (align - 1)); }

}  // namespace

SharedMemory::SharedMemory() : places_(new Place[max_variables + 1]) {
  void *p = mmap(nullptr, slot * (max_variables + 1) + guard_bytes, PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  base_ = static_cast<char *>(p);
}

SharedMemory::~SharedMemory() { munmap(base_, slot * (max_variables + 1) + guard_bytes); }

bool SharedMemory::add(const char *name, std::size_t bytes, std::size_t align) {
  if (count_ == usable_) {
    if (mprotect(base_ + slot * usable_ + guard_bytes, max_bytes, PROT_READ | PROT_WRITE) != 0) return false;
    ++usable_;
  }
  char *end = end_of(count_), *base = align_down(end - bytes, align);
  char *lead = std::max(base - lead_canary, end - max_bytes);
  canary::fill(lead, base);
  canary::fill(base + bytes, end);
  places_[count_++] = {name, base, bytes, end};
  return true;
}

bool SharedMemory::lay_out(const simt_shared_variable *variables, unsigned long count, const simt_shared_use *use,
                           std::size_t dynamic_bytes) {
  if (addresses_.size() < count) addresses_.resize(count);
  count_ = 0;
  if (!add(nullptr, dynamic_bytes, dynamic_alignment)) return false;
  for (unsigned long i = 0; use && i < use->count; ++i) {
    const simt_shared_variable &variable = variables[use->variables[i]];
    if (!add(variable.name, variable.bytes, variable.align)) return false;
    addresses_[use->variables[i]] = places_[count_ - 1].base;
  }
  return true;
}

void SharedMemory::poison() {
  for (unsigned i = 0; i < count_; ++i) std::memset(places_[i].base, 0xff, places_[i].bytes);
}

bool SharedMemory::damaged(Area &area) const {
  for (unsigned i = 0; i < count_; ++i) {
    const Place &place = places_[i];
    const char *lead = std::max<const char *>(place.base - lead_canary, place.end - max_bytes);
    const char *past = place.base + place.bytes;
    if (canary::intact(lead, place.base) && canary::intact(past, place.end)) continue;
    const char *found = canary::first_damage(lead, place.base);
    if (found == place.base) found = canary::last_damage(past, place.end);
    area = {place.name ? Area::Shared : Area::DynamicShared, place.name, place.bytes, found - place.base};
    return true;
  }
  return false;
}

bool SharedMemory::find(const void *address, Area &area) const {
  const char *a = static_cast<const char *>(address);
  if (count_ == 0 || a < base_ || a >= end_of(count_ - 1) + guard_bytes) return false;
  const std::size_t offset = static_cast<std::size_t>(a - base_);
  std::size_t i = offset / slot;  // whose guard, the one before it, or body this is
  const bool before = i > 0 && (i == count_ || offset % slot < guard_bytes / 2);  // nearer to the one before
  const Place &place = places_[before ? i - 1 : i];
  area = {place.name ? Area::Shared : Area::DynamicShared, place.name, place.bytes, a - place.base};
  return true;
}

}  // namespace simt
