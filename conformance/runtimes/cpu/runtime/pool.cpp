#include "pool.h"

#include <algorithm>
#include <new>
#include <system_error>
#include <thread>

#include "faults.h"
#include "launch_time.h"

namespace simt {
namespace {

using Clock = std::chrono::steady_clock;

std::int64_t nanoseconds(Clock::time_point t) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(t.time_since_epoch()).count();
}

std::atomic<Pool *> the_pool{nullptr};

}  // namespace

// After fork() the child has no helper threads and gets a new pool: the locks of the old one may be held by a thread
// that no longer exists.
Pool &pool() {
  static std::mutex mutex;
  if (Pool *p = the_pool.load(std::memory_order_acquire)) return *p;
  const std::lock_guard lock(mutex);
  if (!the_pool) {
    static const int registered = pthread_atfork(nullptr, nullptr, [] { the_pool = nullptr; });
    static_cast<void>(registered);
    the_pool = new Pool;  // never destroyed: its threads outlive main
  }
  return *the_pool;
}

simt_index Job::block_at(std::uint64_t position) const {
  std::uint64_t b = position;
  if (reversed) b = blocks - 1 - position;
  if (multiplier != 1 || offset != 0) b = (multiplier * position + offset) % blocks;
  const simt_index &g = plan->grid;
  if (b < g.x) return {static_cast<unsigned>(b), 0, 0};
  const std::uint64_t row = b / g.x;
  return {static_cast<unsigned>(b - row * g.x), static_cast<unsigned>(row % g.y), static_cast<unsigned>(row / g.y)};
}

void Pool::run_blocks(Worker &worker, Job &job, bool caller) {
  const bool watched = deadline_.load(std::memory_order_relaxed) != 0;
  if (watched) {
    const std::lock_guard lock(running_mutex_);
    clockid_t clock = CLOCK_THREAD_CPUTIME_ID;
    // Another thread reads it, for which CLOCK_THREAD_CPUTIME_ID would be its own.
    if (pthread_getcpuclockid(pthread_self(), &clock) != 0) clock = CLOCK_MONOTONIC;
    running_.push_back({pthread_self(), &worker, clock, nanoseconds_on(clock)});
  }
  const auto fail = [&job, &worker] {
    const std::lock_guard lock(job.incident_mutex);
    if (!job.failed.exchange(true)) job.incident = worker.incident();
  };
  if (!worker.begin(*job.plan)) fail();
  bool shared = !caller || job.max_threads == 1;
  while (!job.failed.load(std::memory_order_relaxed)) {
    std::uint64_t i = job.next.fetch_add(job.chunk, std::memory_order_relaxed);
    if (i >= job.blocks) break;
    const std::uint64_t end = i + job.chunk < job.blocks ? i + job.chunk : job.blocks;
    for (; i < end; ++i) {
      if (worker.run_block(job.block_at(i))) continue;
      fail();
      break;
    }
    if (!shared && end < job.blocks && Clock::now() - job.start > share_after) {
      share(job);
      shared = true;
    }
  }
  if (watched) {
    const std::lock_guard lock(running_mutex_);
    const auto ours = [&worker](const Running &r) { return r.worker == &worker; };
    running_.erase(std::remove_if(running_.begin(), running_.end(), ours), running_.end());
  }
}

void Pool::share(Job &job) {
  const std::lock_guard lock(mutex_);
  wanted_ = job.max_threads - 1;
  for (; helpers_ < wanted_; ++helpers_) {
    try {
      std::thread([this] { helper_main(); }).detach();
    } catch (const std::system_error &) {
      break;  // fewer threads then
    }
  }
  job_ = &job;
  ++generation_;
  work_.notify_all();
}

void Pool::helper_main() {
  Worker *worker = Worker::of_this_thread();
  std::uint64_t last_generation = 0;
  std::unique_lock lock(mutex_);
  while (worker) {
    work_.wait(lock, [&] { return job_ && generation_ != last_generation && joined_ < wanted_; });
    last_generation = generation_;
    Job &job = *job_;
    ++joined_;
    lock.unlock();
    run_blocks(*worker, job, false);
    lock.lock();
    if (--joined_ == 0) idle_.notify_all();
  }
}

bool Pool::run(Job &job, unsigned timeout_ms) {
  Worker *worker = Worker::of_this_thread();
  if (!worker) return false;
  job.start = Clock::now();
  arm(job, timeout_ms);
  run_blocks(*worker, job, true);
  if (job.max_threads > 1) {
    std::unique_lock lock(mutex_);
    job_ = nullptr;
    idle_.wait(lock, [this] { return joined_ == 0; });
  }
  disarm();
  return true;
}

// ---- the watchdog

void Pool::arm(Job &job, unsigned timeout_ms) {
  if (!timeout_ms) return;
  limit_.store(std::int64_t{timeout_ms} * nanoseconds_of_ms);
  deadline_.store(nanoseconds(job.start) + clock_factor * limit_.load());
  if (!asleep_.load()) return;
  const std::lock_guard lock(watch_mutex_);
  asleep_ = false;
  if (!watching_) {
    try {
      std::thread([this] { watch(); }).detach();
      watching_ = true;
    } catch (const std::system_error &) {
      return;  // no watchdog: an endless kernel will not be stopped
    }
  }
  watch_.notify_all();
}

bool Pool::overdue() const {
  const std::int64_t deadline = deadline_.load(), limit = limit_.load();
  return nanoseconds(Clock::now()) >= deadline ||
         std::any_of(running_.begin(), running_.end(),
                     [limit](const Running &r) { return nanoseconds_on(r.clock) - r.since >= limit; });
}

void Pool::disarm() { deadline_.store(0, std::memory_order_relaxed); }

void Pool::watch() {
  constexpr auto tick = std::chrono::milliseconds(20);
  constexpr int ticks_to_sleep = 50;
  int quiet = 0;
  std::unique_lock lock(watch_mutex_);
  for (;;) {
    watch_.wait_for(lock, tick);
    const std::int64_t deadline = deadline_.load();
    if (deadline == 0) {
      if (++quiet < ticks_to_sleep) continue;
      asleep_ = true;
      if (deadline_.load() != 0) {  // armed in the meantime by a thread that saw the watchdog awake
        asleep_ = false;
        continue;
      }
      watch_.wait(lock, [this] { return !asleep_.load(); });
      quiet = 0;
      continue;
    }
    quiet = 0;
    const std::lock_guard running(running_mutex_);
    if (deadline_.load() != deadline) continue;  // that launch has ended; a thread in running_ is of the next
    if (!overdue()) continue;
    for (const Running &r : running_) {
      r.worker->expire();
      interrupt(r.thread);
    }
  }
}

}  // namespace simt
