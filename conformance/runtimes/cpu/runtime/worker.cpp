#include "worker.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>

#include "faults.h"
#include "module.h"
#include "scheduling.h"

extern "C" {
__attribute__((visibility("default"), tls_model("initial-exec"))) __thread simt_context *simt_self = nullptr;
}

namespace simt {
namespace {

// Modules with more thread-local memory than this (many kernels) are poisoned once per launch, not per block.
constexpr std::size_t max_block_poison = 32 * 1024;

std::uint64_t low_bits(unsigned n) { return n >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1; }

// Identifies a call of simt_barrier in the compiled code by its return address, above the six saved registers. 32 bits
// of it distinguish the calls of a module.
std::uint32_t barrier_call_id(const void *sp) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(static_cast<void *const *>(sp)[6])) | 1;
}

}  // namespace

void fiber_main() {
  Worker::current()->run_kernel();
  const Resume next = Worker::current()->fiber_ended();
  simt_fiber_jump(next.sp, next.result);
}

Worker::Worker()
    : simt_context{},
      threads_(new Thread[SIMT_MAX_THREADS]),
      ready_(new std::uint16_t[SIMT_MAX_THREADS]),
      switched_(new std::uint16_t[SIMT_MAX_THREADS]) {}

Worker *Worker::of_this_thread() {
  struct Owner {
    std::unique_ptr<Worker> worker;
    ~Owner() { simt_self = nullptr; }
  };
  static thread_local Owner owner;
  if (!owner.worker) {
    try {
      owner.worker = std::make_unique<Worker>();
    } catch (const std::bad_alloc &) {
      return nullptr;
    }
    use_signal_stack();
  }
  simt_self = owner.worker.get();
  return owner.worker.get();
}

// ---- a block

bool Worker::begin(const Plan &plan) {
  plan_ = &plan;
  expired_.store(false, std::memory_order_relaxed);
  forbidden_call_.kind = Incident::None;
  blockDim = plan.block;
  gridDim = plan.grid;
  threads = plan.threads;
  wave_size = plan.wave;
  exact_functions = plan.exact_functions;
  switch_at_atomics = switching_ = plan.switch_at_atomics || plan.watch_atomics;
  interacted_ = false;
  const Module &module = *plan.function->module;
  if (!shared_memory_.lay_out(module.shared_variables(), module.shared_variable_count(), plan.function->shared,
                              plan.dynamic_bytes, *plan.canary)) {
    incident_ = incident_here(Incident::NoMemory);
    return false;
  }
  dynamic_bytes = plan.dynamic_bytes;
  dynamic_shared = shared_memory_.dynamic();
  shared = shared_memory_.variables();
  char *base = static_shared();  // also touches it: the first touch allocates, which must not happen inside a kernel
  const std::size_t bytes = module.thread_local_bytes();
  const bool poison_any = plan.poison && base && !module.compiled_by_clang();
  poison_static_ = poison_any && bytes <= max_block_poison;
  if (poison_any && !poison_static_) std::memset(base, plan.poison_byte, bytes);
  return true;
}

char *Worker::static_shared() {
  const Module &module = *plan_->function->module;
  StaticShared &slot = static_shared_[module.serial() % std::size(static_shared_)];
  if (slot.serial != module.serial()) slot = {module.serial(), module.touch_thread_local()};
  return slot.base;
}

void Worker::poison_shared() {
  if (poison_static_) std::memset(static_shared(), plan_->poison_byte, plan_->function->module->thread_local_bytes());
  shared_memory_.poison(plan_->poison_byte);
}

bool Worker::run_block(simt_index block) {
  blockIdx = block;
  threadIdx = {0, 0, 0};
  fiber_mode = 0;
  fibers_ = started_ = finished_ = 0;
  if (plan_->poison) poison_shared();
  if (plan_->order) {
    begin_fiber_mode(0);
    start_next();
  }
  void *sp = stacks_.prepare(fibers_++, fiber_main);
  if (!sp) {
    incident_ = incident_here(Incident::NoMemory);
    return false;
  }
  main_sp_ = nullptr;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  in_kernel_.store(true, std::memory_order_relaxed);
  const bool ended = simt_fiber_enter(&main_sp_, sp) == 0;
  if (forbidden_call_.kind != Incident::None) {
    incident_ = forbidden_call_;
    return false;
  }
  if (!ended) return false;
  Area area;
  if (!shared_memory_.damaged(area)) return true;
  incident_ = incident_here(Incident::SharedDamage);
  incident_.area = area;
  return false;
}

Area Worker::area_of(const void *address) const {
  Area area;
  if (stacks_.in_guard(address))
    area.kind = Area::Stack;
  else
    shared_memory_.find(address, area);
  return area;
}

void Worker::abort_block(Incident incident) {
  incident_ = incident;
  in_kernel_.store(false, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  simt_fiber_jump(main_sp_, 1);
}

Incident Worker::incident_here(Incident::Kind kind) const {
  Incident i;
  i.kind = kind;
  i.block = blockIdx;
  i.thread = threadIdx;
  i.linear_thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  return i;
}

// ---- starting and finishing threads

void Worker::begin_fiber_mode(unsigned finished) {
  fiber_mode = 1;
  ready_head_ = ready_tail_ = switched_head_ = switched_tail_ = 0;
  at_barrier_ = released_ = release_end_ = 0;
  finished_ = 0;
  returned_after_barrier_ = false;
  for (unsigned w = 0, left = threads; left; ++w) {
    const unsigned lanes = left < wave_size ? left : wave_size;
    waves_[w] = {low_bits(lanes), 0, 0, true};
    left -= lanes;
  }
  for (unsigned t = 0; t < finished; ++t) {
    threads_[t].barrier = 0;
    finish(t);
  }
}

// The current thread is the first of its block to wait: threads before it have returned, those after it have not been
// started (simt::entry runs them in linear order).
void Worker::enter_fiber_mode() {
  current_ = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  begin_fiber_mode(current_);
  started_ = current_ + 1;
  threads_[current_].index = threadIdx;
  threads_[current_].state = Live;
  threads_[current_].barrier = 0;
  threads_[current_].switches = 0;
}

Resume Worker::fiber_ended() { return fiber_mode ? dispatch() : block_ended(); }

void Worker::no_memory_for_fiber() { abort_block(incident_here(Incident::NoMemory)); }

// Every live thread waits. False: none is left.
bool Worker::wake() {
  if (resolve_waves()) return true;
  if (finished_ == threads) return false;
  // All live threads are at a barrier: those that returned need not arrive, but see check_barrier_counts.
  if (locations_differ_) check_barrier_locations();
  if (returned_after_barrier_) check_barrier_counts();
  at_barrier_ = released_ = 0;
  release_end_ = threads;
  return true;
}

// ---- barriers

Resume Worker::on_barrier(const char *file, int location, void *sp) {
  if (!fiber_mode) enter_fiber_mode();
  interact();
  Thread &thread = threads_[current_];
  thread.sp = sp;
  thread.file = file;
  thread.location = location;
  thread.state = AtBarrier;
  thread.barrier = barrier_call_id(sp);
  if (at_barrier_ == 0) {
    barrier_location_ = {file, location};
    barrier_call_ = thread.barrier;
    locations_differ_ = false;
  } else if (barrier_location_.code != location || barrier_location_.file != file) {
    locations_differ_ = true;
  }
  ++at_barrier_;
  return dispatch();
}

bool Worker::waits_at_first_location(const Thread &thread) const {
  return thread.location == barrier_location_.code && same_text(thread.file, barrier_location_.file);
}

// The source location decides: compilers duplicate calls and merge them.
void Worker::check_barrier_locations() {
  unsigned first = 0;
  while (threads_[first].state != AtBarrier || !waits_at_first_location(threads_[first])) ++first;
  for (unsigned t = 0; t < threads; ++t) {
    const Thread &thread = threads_[t];
    if (thread.state != AtBarrier || waits_at_first_location(thread)) continue;
    threadIdx = threads_[first].index;
    Incident i = incident_here(Incident::BarrierDivergence);
    i.here = barrier_location_;
    i.there = {thread.file, thread.location};
    i.other_thread = t;
    abort_block(i);
  }
}

// A thread may return before a barrier that others reach: HIP and CUDA wait for the threads that have not exited. But
// if it is also the last barrier that the thread passed, threads have left a loop after different numbers of
// iterations.
void Worker::check_barrier_counts() {
  unsigned waiting = 0;
  while (threads_[waiting].state != AtBarrier) ++waiting;
  for (unsigned t = 0; t < threads; ++t) {
    if (threads_[t].state != Finished || threads_[t].barrier != barrier_call_) continue;
    threadIdx = threads_[waiting].index;
    Incident i = incident_here(Incident::BarrierCounts);
    i.here = barrier_location_;
    i.other_thread = t;
    abort_block(i);
  }
}

}  // namespace simt

// ---- what kernels and fiber.cpp call

namespace {

// Of the launches since take_misaligned(): alignment, bytes, and whether they were stored; 0 for none.
std::atomic<unsigned long> misaligned{0};

// The worker whose kernel calls. Host code of a launcher that gets here ends the process.
simt::Worker &trapped(const char *what, const char *file, int line) {
  simt::Worker *worker = simt::Worker::current();
  if (worker && worker->in_kernel()) return *worker;
  std::fprintf(stderr, "host code: %s", what);
  if (line) std::fprintf(stderr, " at %s:%d", file, line);
  std::fputc('\n', stderr);
  std::abort();
}

}  // namespace

std::string simt::take_misaligned() {
  const unsigned long found = misaligned.exchange(0);
  if (!found) return "";
  return misaligned_access(found >> 48, (found & ((1ul << 48) - 1)) >> 1, found & 1);
}

extern "C" {

__attribute__((visibility("hidden"), used)) simt::Resume simt_on_barrier(const char *file, int location, void *sp) {
  return simt::Worker::current()->on_barrier(file, location, sp);
}

__attribute__((visibility("hidden"), used)) simt::Resume simt_on_wave(int op, unsigned long mask, unsigned long value,
                                                                      int source, const char *file, int location,
                                                                      void *sp) {
  return simt::Worker::current()->on_wave(op, mask, value, source, file, location, sp);
}

__attribute__((visibility("default"))) void simt_next(void) {
  simt::Worker &worker = *simt::Worker::current();
  if (worker.next_thread()) return;
  const simt::Resume next = worker.fiber_ended();
  simt::simt_fiber_jump(next.sp, next.result);  // no return: the processor would expect those of other fibers
}

__attribute__((visibility("default"))) void simt_out_of_bounds(const simt_bounds_check *check, unsigned long index) {
  simt::Worker &worker = trapped("an index is out of bounds of its array", check->file, static_cast<int>(check->line));
  simt::Incident i = worker.incident_here(simt::Incident::OutOfBounds);
  i.bounds = check;
  i.index = index;
  worker.abort_block(i);
}

__attribute__((visibility("default"))) void simt_misaligned(unsigned long address, unsigned long align,
                                                            unsigned long bytes, bool store) {
  simt::Worker *worker = simt::Worker::current();
  if (!worker || !worker->in_kernel()) return;  // a launcher's own code: x86 has no such limit
  simt::Incident i = worker->incident_here(simt::Incident::Misaligned);
  i.address = reinterpret_cast<const void *>(address);
  i.pc = __builtin_return_address(0);
  i.align = align;
  i.index = bytes;
  i.write = store;
  worker->abort_block(i);
}

__attribute__((visibility("default"))) void simt_note_misaligned(unsigned long, unsigned long align,
                                                                 unsigned long bytes, bool store) {
  const simt::Worker *worker = simt::Worker::current();
  if (!worker || !worker->in_kernel()) return;
  // The largest, whichever thread is first: what is told of a launch must not depend on that.
  const unsigned long now = align << 48 | std::min(bytes, (1ul << 40) - 1) << 1 | (store ? 1u : 0u);
  unsigned long known = misaligned.load(std::memory_order_relaxed);
  while (known < now && !misaligned.compare_exchange_weak(known, now, std::memory_order_relaxed)) {
  }
}

__attribute__((visibility("default"))) void simt_trap(const char *what, const char *file, int location) {
  simt::Worker &worker = trapped(what, file, simt::SourceLocation{file, location}.line());
  simt::Incident i = worker.incident_here(simt::Incident::Trap);
  i.what = what;
  i.here = {file, location};
  worker.abort_block(i);
}
}
