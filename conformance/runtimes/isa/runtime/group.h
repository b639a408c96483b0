// A work-group: its waves take turns until all have ended.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <random>

#include "counts.h"
#include "object.h"
#include "reports.h"

namespace isa {

// What the threads that run a launch's groups share.
struct Progress {
  Reports *reports = nullptr;
  std::atomic<u64> next{0};
  std::atomic<bool> stopped{false};
  std::atomic<u64> executed{0};
  std::chrono::steady_clock::time_point start;
  std::int64_t limit = 0;  // nanoseconds of a thread's CPU time; 0 for none
  std::mutex mutex;
  std::string message;  // of the first fault
  Fault::Kind kind = Fault::Other;
};

// Gives the number of the next group of a launch; false where there is none left.
using Next = std::function<bool(u32 (&id)[3])>;

// The groups and waves of one OS thread, kept from launch to launch.
class Runner {
 public:
  // Runs the groups that `next` gives; the fault that ends one goes into `progress`. `reversed`: the last wave has the
  // first turn.
  void run(const Launch &launch, const Kernel &kernel, const Next &next, bool reversed, Progress &progress);

  Watch watch;
  Seen seen;

 private:
  struct Resident {
    Group group;
    std::vector<std::unique_ptr<Wave>> waves;
  };
  void take_turns(const Launch &launch, const Kernel &kernel, const Next &next, bool reversed, Progress &progress);
  void admit(Resident &resident, const Launch &launch, const Kernel &kernel, const u32 (&id)[3], u32 count);
  // A turn of each wave; false where the group has ended. Raises Stopped.
  bool round(Resident &resident, const Launch &launch, u32 count, bool reversed, Progress &progress);
  void execute_turn(Wave &wave, bool late);
  void start(Wave &wave, const Launch &launch, const Kernel &kernel, u32 number);
  void fail(const Wave &wave, const Fault &fault, Progress &progress);
  void end(Resident &resident, u32 count, Progress &progress);

  std::vector<std::unique_ptr<Resident>> residents_;  // those of a launch first
  std::vector<Stores> left_;                          // by groups that have ended
  std::minstd_rand random_;
  u64 round_ = 0;
};

// What a fault's message says of an address in global memory; set by the launch.
std::string located(u64 address);

}  // namespace isa
