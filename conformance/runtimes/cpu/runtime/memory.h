// Device memory: allocations that end at a guard page, with canaries in the bytes that guard pages cannot
// cover, made from recycled mappings.
//
//   | guard 1 MiB | lead, canary in its last 1024 bytes | the allocation | 0-15 bytes canary | guard 1 MiB |
//
// An allocation of address space alone has pages for some pieces of it and none in the gaps between them: what is
// accessed there faults. Before its first guard lies as much again, so that offsets faults too that are taken for
// negative numbers.
//
// Poison bytes are NaN in every float format; canary.h says what canaries are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "canary.h"
#include "error.h"

namespace simt {

class Memory {
 public:
  enum class Kind { Device, Host, Managed };

  Error allocate(std::size_t bytes, Kind kind, void **out);
  struct Piece {
    std::size_t offset, bytes;
  };
  // An allocation of address space with pages, of zeros, for `pieces` in ascending order, of which the first begins at
  // its start and the last ends at its end. Freed as any other.
  Error reserve(std::size_t bytes, const Piece *pieces, std::size_t count, void **out);
  // Error IllegalAddress: it is freed, but its canary had been overwritten.
  Error release(void *pointer);
  void release_all(int device);

  struct Held {
    std::size_t count, bytes;
  };
  // The live allocations of the device, managed ones included, or of the host.
  Held held(bool of_host);

  // Module globals, and host memory that a program registers: known to the range checks, never allocated or freed here.
  void add_global(const void *base, std::size_t bytes, std::string name, Kind kind = Kind::Device);
  void remove_globals(const std::vector<const void *> &bases);

  struct Range {
    const char *base;
    std::size_t bytes;
    Kind kind;
    bool global;
    int device = 0;
  };
  // The live allocation or global that holds `pointer` (one past its end included).
  bool find(const void *pointer, Range &range);
  // Whether `bytes` from `pointer` may be accessed. Memory not allocated here passes unless `must_be_ours`.
  Error check_range(const char *call, const char *role, const void *pointer, std::size_t bytes, bool must_be_ours);

  struct Argument {
    const void *pointer;
    unsigned index;
    const char *type;
  };
  // Before a launch: no argument points into memory that has been freed.
  Error check_arguments(const char *kernel, const Argument *arguments, unsigned count);
  // Before a launch by a launcher: no argument points to a stack or heap of the host, which a GPU does not have.
  Error check_not_of_host(const char *kernel, const Argument *arguments, unsigned count);
  // Before a launch: what is around the allocations that the arguments point to.
  void set_canaries(const canary::Pattern &pattern, const Argument *arguments, unsigned count);
  // After a launch: the canaries of what the arguments point to, and of a few others in turn, so that every live
  // allocation is checked sooner or later. All damage is repaired, the first is reported.
  Error check_canaries(const char *kernel, const Argument *arguments, unsigned count);
  void repair_canaries();

  // From now on host code cannot access the allocations that the pointers lie in, nor those that are made later, as it
  // cannot access a GPU's; until `admit_host`, and but for the time of an `Opened`.
  void keep_from_host(void *const *pointers, unsigned count);
  void admit_host();
  // Whether that is why an access to `address` faulted; for the text it is "the 64-byte allocation of argument 2".
  bool kept_from_host(const void *address, std::string &text);

  // Whether no earlier work can be about `pointer`: host memory, or what the launcher that is called has allocated.
  bool is_fresh(const void *pointer);

  // The runtime itself accesses memory.
  class Opened {
   public:
    Opened();
    ~Opened();
    Opened(const Opened &) = delete;
    Opened &operator=(const Opened &) = delete;
  };

  // Describes a faulting address without its value, which differs from run to run: "12 bytes past the end of
  // the 4096-byte allocation of argument 3 (float*)".
  std::string locate(const void *address, const Argument *arguments, unsigned count);

 private:
  struct Block {
    char *start = nullptr;   // first accessible byte, page aligned
    std::size_t before = 0;  // bytes of address space in front of the first guard
    std::size_t body = 0;    // accessible bytes
    char *base = nullptr;    // of the allocation, or of the last one if it is not live
    std::size_t bytes = 0;
    std::size_t live_index = 0;
    Kind kind = Kind::Device;
    int device = 0;  // that was the current one
    bool live = false;
    const canary::Pattern *canary = nullptr;  // around it, if any is
    bool kept = false;                        // from the host
    unsigned argument = 0;                    // of the launcher, none for what it allocates

    ~Block();
    Block() = default;
    Block(const Block &) = delete;
    Block &operator=(const Block &) = delete;
  };
  struct Global {
    std::size_t bytes;
    std::string name;
    Kind kind;
  };

  Block *block_at(const void *address);
  Block *acquire(std::size_t body);
  Block *map_block(std::size_t body, std::size_t before);
  void begin(Block &block, std::size_t bytes, Kind kind);
  void recycle(Block *block);
  Held &held_like(const Block &block) { return held_[block.kind == Kind::Host]; }
  static void set_canaries(Block &block);
  std::string name(const Block &block, const Argument *arguments, unsigned count);
  static constexpr unsigned none = ~0u;
  void keep(Block &block, unsigned argument);
  void admit(Block &block);
  void set_access(int protection) const;          // of all that is kept
  static std::string damage(const Block &block);  // "" if none
  Error check(Block &block, const std::string &culprit);

  std::mutex mutex_;
  std::map<const char *, std::unique_ptr<Block>> blocks_;       // by start
  std::unordered_map<std::size_t, std::vector<Block *>> free_;  // by body
  std::size_t free_bytes_ = 0;
  std::vector<Block *> live_;
  Held held_[2]{};  // of the device, of the host
  std::size_t sweep_ = 0;
  std::map<const char *, Global> globals_;
  std::vector<Block *> kept_;
  bool keeps_ = false;
  unsigned opened_ = 0;
};

Memory &memory();

// Physical memory of the machine, in bytes. `available` is what Linux can hand out without swapping.
struct SystemMemory {
  std::size_t available, total;
};
SystemMemory system_memory();

}  // namespace simt
