// What runs next in a block: done for every thread that starts, waits or ends, and inlined there.
#pragma once

#include "bits.h"
#include "worker.h"

namespace simt {

void fiber_main();

inline void Worker::finish(unsigned thread) {
  threads_[thread].state = Finished;
  returned_after_barrier_ |= threads_[thread].barrier != 0;
  waves_[thread >> zeros_below(wave_size)].live &= ~(std::uint64_t{1} << (thread & (wave_size - 1)));
  ++finished_;
}

inline void Worker::start_next() {
  const unsigned position = started_++;
  const unsigned t = plan_->order ? plan_->order[position] : position;
  simt_index index{t, 0, 0};
  if (t >= blockDim.x) {
    const unsigned row = t / blockDim.x;
    index = {t - row * blockDim.x, row % blockDim.y, row / blockDim.y};
  }
  Thread &thread = threads_[t];
  current_ = t;
  threadIdx = index;
  thread.index = index;  // not from threadIdx: a load of what three stores have just written waits for them
  thread.state = Live;
  thread.file = nullptr;
  thread.barrier = 0;
  thread.switches = 0;
  switch_at_atomics = switching_;
}

inline bool Worker::next_thread() {
  finish(current_);
  if (started_ == threads) return false;
  start_next();
  return true;
}

inline Resume Worker::new_fiber() {
  start_next();
  void *sp = stacks_.prepare(fibers_++, fiber_main);
  if (!sp) no_memory_for_fiber();
  return {sp, 0};
}

inline Resume Worker::resume(unsigned t) {
  Thread &thread = threads_[t];
  current_ = t;
  threadIdx = thread.index;
  thread.state = Live;
  switch_at_atomics = switching_ && thread.switches < most_switches;
  return {thread.sp, thread.result};
}

// The stack of the thread after the next is fetched from memory meanwhile.
inline unsigned Worker::next_of(const std::uint16_t *ring, unsigned &head, unsigned tail) {
  if (head + 2 < tail) __builtin_prefetch(threads_[ring[(head + 2) % SIMT_MAX_THREADS]].sp);
  return ring[head++ % SIMT_MAX_THREADS];
}

inline bool Worker::take_released(unsigned &t) {
  const std::uint32_t *order = plan_->order;
  const auto at = [order](unsigned position) { return order ? order[position] : position; };
  for (unsigned position = released_; position < release_end_;) {
    t = at(position++);
    if (threads_[t].state != AtBarrier) continue;
    released_ = position;
    if (position + 1 < release_end_) {
      const char *sp = static_cast<const char *>(threads_[at(position + 1)].sp);
      __builtin_prefetch(sp);
      __builtin_prefetch(sp + 64);
    }
    return true;
  }
  released_ = release_end_;
  return false;
}

inline Resume Worker::dispatch() {
  do {
    unsigned t;
    if (ready_head_ != ready_tail_) return resume(next_of(ready_.get(), ready_head_, ready_tail_));
    if (released_ < release_end_ && take_released(t)) return resume(t);
    if (started_ < threads) return new_fiber();
    if (switched_head_ != switched_tail_) return resume(next_of(switched_.get(), switched_head_, switched_tail_));
  } while (wake());
  return block_ended();
}

inline Resume Worker::block_ended() {
  in_kernel_.store(false, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  return {main_sp_, 0};
}

}  // namespace simt
