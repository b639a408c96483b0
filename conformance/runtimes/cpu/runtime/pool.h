// The OS threads that run a launch's blocks, and the watchdog over them.
#pragma once

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "worker.h"

namespace simt {

// One launch in progress. Blocks are taken from `next` by every OS thread that takes part.
struct Job {
  const Plan *plan;
  std::uint64_t blocks;
  bool backwards = false;
  std::uint64_t multiplier = 1, offset = 0;  // block at position i: (multiplier * i + offset) % blocks
  std::uint64_t chunk = 1;
  unsigned max_threads = 1;
  std::chrono::steady_clock::time_point start;
  std::atomic<std::uint64_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex incident_mutex;
  Incident incident;  // the first

  simt_index block_at(std::uint64_t position) const;
};

class Pool {
 public:
  // Runs the job on the calling thread, and on others when it turns out to be long. False: no memory for a worker.
  bool run(Job &job, unsigned timeout_ms);
  // Whether the launch in progress has had its time. Async-signal-safe.
  bool overdue() const;

 private:
  // Waking a thread costs more than most launches last.
  static constexpr std::chrono::microseconds recruit_after{30};

  void take_part(Worker &worker, Job &job, bool caller);
  void recruit(Job &job);
  void member();
  void watch();
  void arm(Job &job, unsigned timeout_ms);
  void disarm();

  std::mutex mutex_;
  std::condition_variable work_, idle_;
  Job *job_ = nullptr;  // open for members to join
  std::uint64_t generation_ = 0;
  unsigned members_ = 0;  // threads started
  unsigned joined_ = 0;   // threads inside job_
  unsigned wanted_ = 0;

  // The watchdog sleeps while nothing has been launched for a while, so that arming it is two stores.
  std::mutex watch_mutex_;
  std::condition_variable watch_;
  bool watching_ = false;
  std::atomic<bool> asleep_{true};
  std::atomic<std::int64_t> deadline_{0};  // steady clock, nanoseconds; 0: no launch
  std::mutex running_mutex_;
  struct Running {
    pthread_t thread;
    Worker *worker;
  };
  std::vector<Running> running_;  // inside a job with a deadline
};

Pool &pool();

}  // namespace simt
