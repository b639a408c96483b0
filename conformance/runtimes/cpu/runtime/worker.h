// One OS thread that runs blocks: its fibers, and the scheduler of a block's threads. A block starts in loop mode,
// where its threads run one after the other as a plain loop; the first one that waits at a barrier or collective
// switches the block to fiber mode.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "fiber.h"
#include "incident.h"
#include "shared.h"
#include "simt/abi.h"

// Inlined in spite of the level that the runtime is compiled with.
#define SIMT_HOT __attribute__((always_inline)) inline

namespace simt {

class Module;
struct Function;

// What all blocks of a launch have in common.
struct Plan {
  const simt_kernel *kernel;
  void *const *args;
  const Function *function;
  simt_index grid, block;
  unsigned threads;  // of one block
  unsigned wave;
  unsigned dynamic_bytes;
  bool poison;
  unsigned char poison_byte;      // of shared memory
  const canary::Pattern *canary;  // around memory
  bool switch_at_atomics;
  bool exact_functions;             // see simt_context
  bool watch_atomics;               // see hipcpuOrderMatters
  std::atomic<bool> *interacted;    // set where a thread waits for others or might change what they read
  const std::uint32_t *order;       // linear thread number at each position; null for forward
  const unsigned char *lane_order;  // likewise for the lanes of a wave; null for forward
};

class Worker : public simt_context {
 public:
  Worker();
  Worker(const Worker &) = delete;
  Worker &operator=(const Worker &) = delete;

  // The calling OS thread's worker, made on the first call; null when there is no memory for it.
  static Worker *of_this_thread();
  // The same, but null where there is none yet. Async-signal-safe.
  static Worker *current() { return static_cast<Worker *>(simt_self); }

  bool begin(const Plan &plan);      // before the first block of a launch; false: stopped by an incident
  bool run_block(simt_index block);  // false: stopped by an incident
  const Incident &incident() const { return incident_; }

  // Between entering a fiber and leaving the block. Async-signal-safe.
  bool in_kernel() const { return in_kernel_.load(std::memory_order_relaxed) && main_sp_; }
  bool busy() const { return busy_.load(std::memory_order_relaxed); }
  // Aborts the block: from a signal handler or the scheduler, on any stack of this OS thread, inside a kernel.
  [[noreturn]] void abort_block(Incident incident);
  Incident incident_here(Incident::Kind kind) const;  // of the running thread. Async-signal-safe.
  // The launch is past its deadline: the next interruption of this OS thread ends its block. Reset by begin().
  void expire() { expired_.store(true, std::memory_order_relaxed); }
  bool expired() const { return expired_.load(std::memory_order_relaxed); }
  // While set, a timeout waits: the kernel is inside the host's C library.
  void set_busy(bool busy) { busy_.store(busy, std::memory_order_relaxed); }
  // The sandbox denied a call of the kernel: the kernel goes on, so that the C library releases its locks, and this
  // incident ends the launch when the block ends. Async-signal-safe.
  void record_forbidden_call(const Incident &incident) {
    if (forbidden_call_.kind == Incident::None) forbidden_call_ = incident;
  }
  // The block's own memory that the address is in or next to. Async-signal-safe.
  Area area_of(const void *address) const;

  // The scheduler. `sp` is the saved frame of the thread that has to wait.
  SIMT_HOT Resume on_barrier(const char *file, int location, void *sp);
  Resume on_wave(int op, std::uint64_t mask, std::uint64_t value, int source, const char *file, int location, void *sp);
  SIMT_HOT bool next_thread();  // the current thread has returned
  Resume fiber_ended();         // no thread was left to start on the current fiber
  void run_kernel() { plan_->kernel->run(plan_->args); }

 private:
  enum State : unsigned char { Live, AtBarrier, Finished };
  struct alignas(64) Thread {
    void *sp;
    const char *file;
    simt_index index;
    int location;
    std::uint64_t result, value, mask;
    std::uint32_t barrier;  // the last call of simt_barrier that it reached, 0 for none
    signed char source;     // lane, negative or past the wave for none
    unsigned char op;
    State state;
    unsigned char switches;  // how often it let others go first
  };
  static_assert(sizeof(Thread) == 64);
  // Of a thread in a block. Threads that retry a compare-and-swap on one word would switch once for each of the others:
  // a few times show as much.
  static constexpr unsigned char most_switches = 4;
  struct Wave {
    std::uint64_t live, waiting;
    unsigned first;  // thread that waits, to which `alike` compares
    bool alike;      // all that wait do so in the same call, with the same mask
  };

  Resume on_switch(void *sp);
  void interact() {
    if (!interacted_) plan_->interacted->store(interacted_ = true, std::memory_order_relaxed);
  }
  void enter_fiber_mode();
  void begin_fiber_mode(unsigned finished);
  SIMT_HOT void start_next();
  SIMT_HOT void finish(unsigned thread);
  SIMT_HOT Resume dispatch();
  SIMT_HOT Resume block_ended();
  bool wake();
  [[noreturn]] void no_memory_for_fiber();
  SIMT_HOT unsigned next_of(const std::uint16_t *ring, unsigned &head, unsigned tail);
  SIMT_HOT Resume resume(unsigned thread);
  SIMT_HOT Resume new_fiber();
  SIMT_HOT bool take_released(unsigned &thread);
  bool waits_at_first_location(const Thread &thread) const;
  void check_barrier_locations();
  void check_barrier_counts();
  bool resolve_waves();
  std::uint64_t lanes_at_same_call(unsigned wave, std::uint64_t of) const;
  bool runs_before(const Thread &a, const Thread &b) const;
  [[noreturn]] void missing_lanes(unsigned wave, std::uint64_t group);
  [[noreturn]] void absent_lanes(unsigned wave, std::uint64_t group);
  void complete_wave(unsigned wave, std::uint64_t group);
  bool is_complete(unsigned wave, std::uint64_t need) const;
  void queue_lanes(unsigned wave, std::uint64_t group);
  void poison_shared();
  char *static_shared();

  const Plan *plan_ = nullptr;
  FiberStacks stacks_;
  std::unique_ptr<Thread[]> threads_;
  std::unique_ptr<std::uint16_t[]> ready_;  // a ring: threads whose collective is complete
  unsigned ready_head_ = 0, ready_tail_ = 0;
  std::unique_ptr<std::uint16_t[]> switched_;  // likewise: threads that let the others go first
  unsigned switched_head_ = 0, switched_tail_ = 0;
  Wave waves_[SIMT_MAX_THREADS / 32]{};
  unsigned fibers_ = 0;   // stacks in use
  unsigned current_ = 0;  // linear number of the running thread (fiber mode)
  unsigned started_ = 0;  // positions in the order
  unsigned finished_ = 0;
  unsigned at_barrier_ = 0;
  unsigned released_ = 0, release_end_ = 0;  // positions still to be resumed after a barrier
  bool locations_differ_ = false;
  bool interacted_ = false;              // in this launch
  bool switching_ = false;               // switch_at_atomics of threads that have not switched most_switches times
  bool returned_after_barrier_ = false;  // a thread that had passed a barrier has returned
  SourceLocation barrier_location_;      // of the first thread that waits
  std::uint32_t barrier_call_ = 0;       // likewise
  void *main_sp_ = nullptr;
  std::atomic<bool> in_kernel_{false};
  std::atomic<bool> busy_{false};
  std::atomic<bool> expired_{false};
  Incident incident_;
  Incident forbidden_call_;  // the first of the launch on this OS thread
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

// What hipcpuMisaligned says, "" for nothing.
std::string take_misaligned();

}  // namespace simt
