// How long a launch may take: by the CPU time of a thread that runs it, so that a right kernel does not run out of time
// on a machine that is busy with other things. By the clock it may take several times as long, for a kernel that
// sleeps.
#pragma once

#include <ctime>

#include <cstdint>

namespace simt {

constexpr std::int64_t nanoseconds_of_ms = 1'000'000;
constexpr std::int64_t clock_factor = 10;  // times the limit, by the clock

// Nanoseconds of `clock`; 0 where it cannot be read, as that of a thread that has ended.
inline std::int64_t nanoseconds_on(clockid_t clock) {
  timespec now{};
  if (clock_gettime(clock, &now) != 0) return 0;
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// The CPU time of the calling thread.
inline std::int64_t computed() { return nanoseconds_on(CLOCK_THREAD_CPUTIME_ID); }

}  // namespace simt
