#include "memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "bits.h"
#include "host_device.h"
#include "options.h"

namespace simt {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t guard = std::size_t{1} << 20;
constexpr std::size_t max_cached = std::size_t{16} << 20;  // freed mappings cached for reuse, bytes
constexpr std::size_t max_cached_block = std::size_t{2} << 20;
constexpr std::size_t swept_per_launch = 16;
constexpr std::size_t alignment = 16;
constexpr std::size_t check_available_from = std::size_t{64} << 20;  // smaller allocations skip the check
constexpr std::size_t huge_from = std::size_t{4} << 20;

constexpr std::size_t round_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

// Exact pages up to 64 KiB, then eight sizes for each doubling.
std::size_t body_bytes(std::size_t bytes) {
  const std::size_t pages = round_up(bytes, page) / page;
  if (pages <= 16) return pages * page;
  return round_up(pages, power_below(pages - 1) / 8) * page;
}

const char *tail_end(const char *end) {
  return reinterpret_cast<const char *>(round_up(reinterpret_cast<std::uintptr_t>(end), alignment));
}

}  // namespace

SystemMemory system_memory() {
  const auto pages = [](int name) { return static_cast<std::size_t>(sysconf(name)); };
  SystemMemory memory{pages(_SC_AVPHYS_PAGES) * pages(_SC_PAGESIZE), pages(_SC_PHYS_PAGES) * pages(_SC_PAGESIZE)};
  // _SC_AVPHYS_PAGES leaves out the page cache; MemAvailable includes what of it can be reclaimed.
  char text[512]{};
  const int file = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
  if (file < 0) return memory;
  if (read(file, text, sizeof text - 1) > 0)
    if (const char *line = std::strstr(text, "MemAvailable:")) {
      const unsigned long kibibytes = std::strtoul(line + std::strlen("MemAvailable:"), nullptr, 10);
      if (kibibytes) memory.available = std::size_t{kibibytes} << 10;
    }
  close(file);
  return memory;
}

Memory &memory() {
  static Memory &instance = *new Memory;  // never destroyed: faults at exit may still be located
  return instance;
}

Memory::Block::~Block() {
  if (start) munmap(start - guard - before, before + body + 2 * guard);
}

Memory::Block *Memory::acquire(std::size_t body) {
  auto &cached = free_[body];
  if (!cached.empty()) {
    Block *block = cached.back();
    cached.pop_back();
    free_bytes_ -= body;
    return block;
  }
  Block *block = map_block(body, 0);
  if (!block) return nullptr;
  if (mprotect(block->start, body, PROT_READ | PROT_WRITE) != 0) {
    blocks_.erase(block->start);
    return nullptr;
  }
  if (body >= huge_from) madvise(block->start, body, MADV_HUGEPAGE);  // keep_from_host() changes each page's access
  return block;
}

// Address space that nothing can access yet.
Memory::Block *Memory::map_block(std::size_t body, std::size_t before) {
  const std::size_t bytes = before + body + 2 * guard;
  void *map = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) return nullptr;
  auto block = std::make_unique<Block>();
  block->start = static_cast<char *>(map) + before + guard;
  block->body = body;
  block->before = before;
  Block *raw = block.get();
  blocks_.emplace(raw->start, std::move(block));
  return raw;
}

void Memory::recycle(Block *block) {
  block->live = false;
  --held_like(*block).count;
  held_like(*block).bytes -= block->bytes;
  if (block->kept) admit(*block);
  live_[block->live_index] = live_.back();
  live_[block->live_index]->live_index = block->live_index;
  live_.pop_back();
  if (block->before || block->body > max_cached_block) {
    blocks_.erase(block->start);
    return;
  }
  if (free_bytes_ + block->body > max_cached) {  // of sizes that are not asked for any more
    for (const auto &[body, cached] : free_)
      for (const Block *old : cached) blocks_.erase(old->start);
    free_.clear();
    free_bytes_ = 0;
  }
  free_[block->body].push_back(block);
  free_bytes_ += block->body;
}

Error Memory::allocate(std::size_t bytes, Kind kind, void **out) {
  if (!out) return fail(InvalidValue, "allocation of %zu bytes: the output pointer for the pointer is null", bytes);
  *out = nullptr;
  if (bytes == 0) return Success;
  // Linux overcommits: it grants memory that it does not have and kills the process that touches it.
  if (bytes >= check_available_from) {
    const SystemMemory system = system_memory();
    if (bytes > system.available)
      return fail(OutOfMemory, "allocation of %zu bytes: out of memory: the machine has %zu bytes available", bytes,
                  system.available);
  }
  const std::lock_guard lock(mutex_);
  Block *block = acquire(body_bytes(bytes));
  if (!block) return fail(OutOfMemory, "allocation of %zu bytes: out of memory", bytes);
  begin(*block, bytes, kind);
  if (options().poison()) std::memset(block->base, 0xff, bytes);
  if (block->canary) set_canaries(*block);
  if (keeps_) keep(*block, none);
  *out = block->base;
  return Success;
}

void Memory::begin(Block &block, std::size_t bytes, Kind kind) {
  const bool guarded = options().guard();
  block.bytes = bytes;
  block.base = guarded ? block.start + block.body - round_up(bytes, alignment) : block.start;
  block.kind = kind;
  block.device = current_device();
  block.live = true;
  block.canary = guarded ? &canary::nan : nullptr;
  block.live_index = live_.size();
  live_.push_back(&block);
  ++held_like(block).count;
  held_like(block).bytes += bytes;
}

Error Memory::reserve(std::size_t bytes, const Piece *pieces, std::size_t count, void **out) {
  if (!out) return fail(InvalidValue, "reservation of %zu bytes: the output pointer for the pointer is null", bytes);
  *out = nullptr;
  std::size_t end = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (pieces[i].offset < end || pieces[i].bytes > bytes || pieces[i].offset > bytes - pieces[i].bytes)
      return fail(InvalidValue, "reservation of %zu bytes: piece %zu is out of order or past the end", bytes, i);
    end = pieces[i].offset + pieces[i].bytes;
  }
  if (!count || pieces[0].offset || end != bytes)
    return fail(InvalidValue, "reservation of %zu bytes: the pieces do not reach from its start to its end", bytes);
  const std::size_t body = round_up(bytes, page);
  const std::lock_guard lock(mutex_);
  Block *block = map_block(body, body);
  if (!block) return fail(OutOfMemory, "reservation of %zu bytes: no address space", bytes);
  begin(*block, bytes, Kind::Device);
  const auto page_of = [](const char *at) { return reinterpret_cast<std::uintptr_t>(at) / page * page; };
  for (std::size_t i = 0; i < count; ++i) {
    const char *first = block->base + pieces[i].offset;
    const std::uintptr_t from = page_of(first), to = page_of(first + pieces[i].bytes + page - 1);
    if (mprotect(reinterpret_cast<void *>(from), to - from, PROT_READ | PROT_WRITE) == 0) continue;
    recycle(block);
    return fail(OutOfMemory, "reservation of %zu bytes: out of memory", bytes);
  }
  if (block->canary) set_canaries(*block);
  *out = block->base;
  return Success;
}

void Memory::set_canaries(Block &block) {
  const std::size_t lead = std::min<std::size_t>(lead_canary, static_cast<std::size_t>(block.base - block.start));
  canary::fill(*block.canary, block.base - lead, block.base);
  canary::fill(*block.canary, block.base + block.bytes, tail_end(block.base + block.bytes));
}

std::string Memory::damage(const Block &block) {
  const char *end = block.base + block.bytes;
  const char *lead = block.base - std::min<std::ptrdiff_t>(lead_canary, block.base - block.start);
  std::string text;
  if (!canary::intact(*block.canary, lead, block.base))
    text = "wrote up to " + std::to_string(block.base - canary::first_damage(*block.canary, lead, block.base)) +
           " bytes before";
  else if (!canary::intact(*block.canary, end, tail_end(end)))
    text = "wrote " + std::to_string(canary::last_damage(*block.canary, end, tail_end(end)) - end) +
           " bytes past the end of";
  return text;
}

Error Memory::check(Block &block, const std::string &culprit) {
  if (!block.canary) return Success;
  const std::string found = damage(block);
  if (found.empty()) return Success;
  set_canaries(block);
  return fail(IllegalAddress, "%s %s the %zu-byte allocation", culprit.c_str(), found.c_str(), block.bytes);
}

Error Memory::release(void *pointer) {
  if (!pointer) return Success;
  const Opened opened;
  const std::lock_guard lock(mutex_);
  Block *block = block_at(pointer);
  if (!block || block->base != pointer)
    return fail(InvalidValue, "free of %s: not the start of an allocation", pointer_text(pointer).c_str());
  if (!block->live)
    return fail(InvalidValue, "free of the %zu-byte allocation: it has been freed already", block->bytes);
  const Error error = check(*block, "found when it was freed: a kernel");
  recycle(block);
  return error;
}

void Memory::release_all(int device) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = live_.size(); i-- > 0;)  // recycle() moves the last one to its place
    if (live_[i]->device == device) recycle(live_[i]);
}

Memory::Held Memory::held(bool of_host) {
  const std::lock_guard lock(mutex_);
  return held_[of_host];
}

// The mapping, guards included, that holds the address.
Memory::Block *Memory::block_at(const void *address) {
  const char *a = static_cast<const char *>(address);
  auto it = blocks_.upper_bound(a + guard);
  if (it == blocks_.begin()) return nullptr;
  Block *block = std::prev(it)->second.get();
  return a < block->start + block->body + guard ? block : nullptr;
}

void Memory::add_global(const void *base, std::size_t bytes, std::string name, Kind kind) {
  const std::lock_guard lock(mutex_);
  globals_[static_cast<const char *>(base)] = {bytes, std::move(name), kind};
}

void Memory::remove_globals(const std::vector<const void *> &bases) {
  const std::lock_guard lock(mutex_);
  for (const void *base : bases) globals_.erase(static_cast<const char *>(base));
}

bool Memory::find(const void *pointer, Range &range) {
  const char *p = static_cast<const char *>(pointer);
  const std::lock_guard lock(mutex_);
  if (Block *block = block_at(pointer)) {
    if (!block->live || p < block->base || p > block->base + block->bytes) return false;
    range = {block->base, block->bytes, block->kind, false, block->device};
    return true;
  }
  auto it = globals_.upper_bound(p);
  if (it == globals_.begin()) return false;
  --it;
  if (p > it->first + it->second.bytes) return false;
  range = {it->first, it->second.bytes, it->second.kind, true};
  return true;
}

Error Memory::check_range(const char *call, const char *role, const void *pointer, std::size_t bytes,
                          bool must_be_ours) {
  if (!pointer) return fail(InvalidValue, "%s: the %s pointer is null", call, role);
  const char *p = static_cast<const char *>(pointer);
  Range range;
  if (find(pointer, range)) {
    const std::size_t left = static_cast<std::size_t>(range.base + range.bytes - p);
    if (bytes <= left) return Success;
    return fail(InvalidValue,
                "%s: %zu bytes at the %s, %td bytes into it, reach %zu bytes past the end of the %zu-byte allocation",
                call, bytes, role, p - range.base, bytes - left, range.bytes);
  }
  const std::lock_guard lock(mutex_);
  const Block *block = block_at(pointer);
  if (block && !block->live) return fail(InvalidValue, "%s: the %s has been freed", call, role);
  if (block || must_be_ours)
    return fail(InvalidValue, "%s: the %s, %s, is not in a live device allocation", call, role,
                pointer_text(pointer).c_str());
  return Success;
}

Error Memory::check_arguments(const char *kernel, const Argument *arguments, unsigned count) {
  const std::lock_guard lock(mutex_);
  for (unsigned i = 0; i < count; ++i) {
    const Block *block = block_at(arguments[i].pointer);
    if (block && !block->live)
      return fail(IllegalAddress, "kernel %s: argument %u (%s) points to freed memory", kernel, arguments[i].index,
                  arguments[i].type);
  }
  return Success;
}

void Memory::set_canaries(const canary::Pattern &pattern, const Argument *arguments, unsigned count) {
  const std::lock_guard lock(mutex_);
  for (unsigned i = 0; i < count; ++i) {
    Block *block = block_at(arguments[i].pointer);
    if (!block || !block->live || !block->canary || block->canary == &pattern) continue;
    block->canary = &pattern;
    set_canaries(*block);
  }
}

Error Memory::check_canaries(const char *kernel, const Argument *arguments, unsigned count) {
  const std::lock_guard lock(mutex_);
  Error result = Success;
  for (unsigned i = 0; i < count; ++i) {
    Block *block = block_at(arguments[i].pointer);
    if (!block || !block->live || !block->canary) continue;
    const std::string found = damage(*block);
    if (found.empty()) continue;
    set_canaries(*block);
    if (result == Success)
      result = fail(IllegalAddress, "kernel %s %s the %zu-byte allocation of argument %u (%s)", kernel, found.c_str(),
                    block->bytes, arguments[i].index, arguments[i].type);
  }
  for (std::size_t i = std::min(swept_per_launch, live_.size()); i; --i) {
    sweep_ = sweep_ + 1 < live_.size() ? sweep_ + 1 : 0;
    Block &block = *live_[sweep_];
    if (!block.canary) continue;
    const std::string found = damage(block);
    if (found.empty()) continue;
    set_canaries(block);
    if (result == Success)
      result = fail(IllegalAddress, "found after kernel %s: it or an earlier one %s a %zu-byte allocation", kernel,
                    found.c_str(), block.bytes);
  }
  return result;
}

void Memory::repair_canaries() {
  const std::lock_guard lock(mutex_);
  for (Block *block : live_)
    if (block->canary) set_canaries(*block);
}

std::string Memory::locate(const void *address, const Argument *arguments, unsigned count) {
  const char *a = static_cast<const char *>(address);
  const std::lock_guard lock(mutex_);
  const Block *block = block_at(address);
  char text[200];
  if (!block) {
    const auto number = reinterpret_cast<std::uintptr_t>(address);
    if (number >= page) return "an address that is not near a device allocation";
    std::snprintf(text, sizeof text, "at %#lx: a null pointer", static_cast<unsigned long>(number));
    return text;
  }
  const char *end = block->base + block->bytes;
  if (a >= end)
    std::snprintf(text, sizeof text, "%td bytes past the end of ", a - end);
  else if (a < block->base)
    std::snprintf(text, sizeof text, "%td bytes before ", block->base - a);
  else
    std::snprintf(text, sizeof text, "%td bytes into %s", a - block->base, block->before ? "a gap of " : "");
  return text + name(*block, arguments, count);
}

// "the 4096-byte allocation of argument 3 (float*)"; two arguments may point into the same one.
std::string Memory::name(const Block &block, const Argument *arguments, unsigned count) {
  const std::string kind = (block.live ? "the " : "a freed ") + std::to_string(block.bytes) + "-byte allocation";
  for (unsigned i = 0; i < count; ++i)
    if (block_at(arguments[i].pointer) == &block)
      return kind + " of argument " + std::to_string(arguments[i].index) + " (" + arguments[i].type + ")";
  return count ? kind + ", which is not an argument of the kernel" : kind;
}

}  // namespace simt
