// The OS threads that run a launch's blocks, and their watchdog.
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

// One launch in progress. Blocks are taken from `next` by all OS threads that run the job.
struct Job {
  const Plan *plan;
  std::uint64_t blocks;
  bool reversed = false;
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
  // Runs the job on the calling thread, and on helper threads when it takes long. False: no memory for a worker.
  bool run(Job &job, unsigned timeout_ms);

 private:
  // Waking a thread costs more than most launches last.
  static constexpr std::chrono::microseconds share_after{30};

  void run_blocks(Worker &worker, Job &job, bool caller);
  void share(Job &job);
  void helper_main();
  void watch();
  void arm(Job &job, unsigned timeout_ms);
  void disarm();
  bool overdue() const;  // running_mutex_ is held

  std::mutex mutex_;
  std::condition_variable work_, idle_;
  Job *job_ = nullptr;  // open for helper threads to join
  std::uint64_t generation_ = 0;
  unsigned helpers_ = 0;  // threads started
  unsigned joined_ = 0;   // threads inside job_
  unsigned wanted_ = 0;

  // The watchdog sleeps while nothing has been launched for a while, so that arming it is two stores.
  std::mutex watch_mutex_;
  std::condition_variable watch_;
  bool watching_ = false;
  std::atomic<bool> asleep_{true};
  std::atomic<std::int64_t> deadline_{0};  // steady clock, nanoseconds; 0: no launch
  std::atomic<std::int64_t> limit_{0};     // CPU time that a thread may take in the launch, nanoseconds
  std::mutex running_mutex_;
  struct Running {
    pthread_t thread;
    Worker *worker;
    clockid_t clock;     // its CPU time
    std::int64_t since;  // what that was when it began
  };
  std::vector<Running> running_;  // inside a job with a deadline
};

Pool &pool();

}  // namespace simt
