// A work-group: its waves take turns until all have ended.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>

#include "counts.h"
#include "object.h"

namespace isa {

// What the threads that run a launch's groups share.
struct Progress {
  std::atomic<u64> next{0};
  std::atomic<bool> stopped{false};
  std::atomic<u64> executed{0};
  std::chrono::steady_clock::time_point deadline;
  bool has_deadline = false;
  std::mutex mutex;
  std::string message;  // of the first fault
  Fault::Kind kind = Fault::Other;
};

// The waves of one OS thread, kept from group to group.
class Runner {
 public:
  // Runs group `id`; the fault that ends it goes into `progress`. `reversed`: the last wave has the first turn.
  void run(const Launch &launch, const Kernel &kernel, const u32 (&id)[3], bool reversed, Progress &progress);

  Watch watch;
  Seen seen;

 private:
  void take_turns(const Launch &launch, const Kernel &kernel, const u32 (&id)[3], bool reversed, Progress &progress);
  void start(Wave &wave, const Launch &launch, const Kernel &kernel, u32 number);
  void fail(const Wave &wave, const Fault &fault, Progress &progress);

  std::vector<std::unique_ptr<Wave>> waves_;
  Group group_;
};

// What a fault's message says of an address in global memory; set by the launch.
std::string located(u64 address);

}  // namespace isa
