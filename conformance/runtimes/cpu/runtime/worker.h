// One OS thread that runs blocks: its fibers, and which thread of the block runs next.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "fiber.h"
#include "incident.h"
#include "shared.h"
#include "simt/abi.h"

namespace simt {

class Module;
struct Function;

// What is the same for all blocks of a launch.
struct Plan {
  const simt_kernel *kernel;
  void *const *args;
  const Function *function;
  simt_index grid, block;
  unsigned threads;  // of one block
  unsigned wave;
  unsigned dynamic_bytes;
  bool poison;
  const std::uint32_t *order;       // linear thread number at each position; null for forward
  const unsigned char *lane_order;  // likewise for the lanes of a wave; null for forward
};

class Worker : public simt_context {
 public:
  Worker();
  Worker(const Worker &) = delete;
  Worker &operator=(const Worker &) = delete;

  // The calling OS thread's worker, made on the first call; null when there is no memory for it.
  static Worker *mine();
  // The same without making one. Async-signal-safe.
  static Worker *current() { return static_cast<Worker *>(simt_self); }

  bool begin(const Plan &plan);      // before the first block of a launch; false: stopped by an incident
  bool run_block(simt_index block);  // false: stopped by an incident
  const Incident &incident() const { return incident_; }

  // Between entering a fiber and leaving the block. Async-signal-safe.
  bool in_kernel() const { return in_kernel_.load(std::memory_order_relaxed) && main_sp_; }
  bool busy() const { return busy_.load(std::memory_order_relaxed); }
  // Gives up the block: from a signal handler or the scheduler, on any stack of this OS thread, inside a kernel.
  [[noreturn]] void abandon(Incident incident);
  // The launch is past its deadline: the next interruption of this OS thread ends its block. Reset by begin().
  void expire() { expired_.store(true, std::memory_order_relaxed); }
  bool expired() const { return expired_.load(std::memory_order_relaxed); }
  // While set, a timeout waits: the kernel is inside the host's C library.
  void set_busy(bool busy) { busy_.store(busy, std::memory_order_relaxed); }
  // The sandbox refused a call of the kernel: the kernel goes on, so that the C library gives back its locks, and this
  // incident ends the launch when the block ends in whichever way. Async-signal-safe.
  void refuse(const Incident &incident) {
    if (refused_.kind == Incident::None) refused_ = incident;
  }
  // What of the block's own memory the address is in or next to. Async-signal-safe.
  Area area_of(const void *address) const;

  // The scheduler. `sp` is the saved frame of the thread that cannot go on.
  Resume on_barrier(const char *file, int place, void *sp);
  Resume on_wave(int op, std::uint64_t mask, std::uint64_t value, int source, const char *file, int place, void *sp);
  bool next_thread();    // the current thread has returned
  Resume fiber_ended();  // no thread was left to start on the current fiber
  void run_kernel() { plan_->kernel->run(plan_->args); }

 private:
  enum State : unsigned char { Running, AtBarrier, InWave, Ready, Finished };
  struct alignas(64) Thread {
    void *sp;
    const char *file;
    simt_index index;
    int place;
    std::uint64_t result, value, mask;
    std::uint32_t barrier;  // the last call of simt_barrier that it came to, 0 for none
    signed char source;     // lane, negative or past the wave for none
    unsigned char op;
    State state;
  };
  static_assert(sizeof(Thread) == 64);
  struct Wave {
    std::uint64_t live, waiting;
  };

  void leave_fast_mode();
  void begin_slow_mode(unsigned finished);
  void start_next();
  void finish(unsigned thread);
  Resume dispatch();
  Resume resume(unsigned thread);
  Resume new_fiber();
  bool take_released(unsigned &thread);
  bool waits_with_the_first(const Thread &thread) const;
  void check_barrier_places();
  void check_barrier_counts();
  bool resolve_waves();
  std::uint64_t alike(unsigned wave, std::uint64_t of) const;
  bool goes_first(const Thread &a, const Thread &b) const;
  [[noreturn]] void missing_lanes(unsigned wave, std::uint64_t group);
  void complete_wave(unsigned wave, std::uint64_t group);
  void queue_lanes(unsigned wave, std::uint64_t group);
  Incident incident_here(Incident::Kind kind) const;
  void poison_shared();
  char *static_shared();

  const Plan *plan_ = nullptr;
  FiberStacks stacks_;
  std::unique_ptr<Thread[]> threads_;
  std::unique_ptr<std::uint16_t[]> ready_;  // a ring: threads whose collective is complete
  unsigned ready_head_ = 0, ready_tail_ = 0;
  Wave waves_[SIMT_MAX_THREADS / 32]{};
  unsigned fibers_ = 0;   // stacks in use
  unsigned current_ = 0;  // linear number of the running thread (slow mode)
  unsigned started_ = 0;  // positions in the order
  unsigned finished_ = 0;
  unsigned at_barrier_ = 0;
  unsigned released_ = 0, release_end_ = 0;  // positions still to be resumed after a barrier
  bool places_differ_ = false;
  bool left_after_barrier_ = false;  // a thread has returned that had passed a barrier
  Place barrier_place_;              // of the first thread that waits
  std::uint32_t barrier_call_ = 0;   // likewise
  void *main_sp_ = nullptr;
  std::atomic<bool> in_kernel_{false};
  std::atomic<bool> busy_{false};
  std::atomic<bool> expired_{false};
  Incident incident_;
  Incident refused_;  // the first of the launch on this OS thread
  SharedMemory shared_memory_;
  bool poison_static_ = false;  // thread-local shared memory, before every block

  // For modules with thread-local shared memory (g++): thread-local block of each module on this OS thread; looked up
  // once.
  struct StaticShared {
    std::uint64_t serial = 0;
    char *base = nullptr;
  };
  StaticShared static_shared_[16];
};

}  // namespace simt
