// What is told of long launches while they run.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "machine.h"

namespace isa {

// How far a launch is, on standard error each so many seconds (HIPISA_PROGRESS); nothing where no time is set.
class Reports {
 public:
  Reports(const char *kernel, u64 blocks) : kernel_(kernel), blocks_(blocks) {}

  // Called often, with how many blocks threads have asked for.
  void at(u64 asked) {
    if (!seconds()) return;
    const auto passed = std::chrono::steady_clock::now() - start_;
    const auto turn = std::chrono::duration_cast<std::chrono::seconds>(passed).count() / seconds();
    i64 last = last_;
    if (turn <= last || !last_.compare_exchange_strong(last, turn)) return;
    std::fprintf(stderr, "candle-parity: kernel %s: %llu of %llu blocks have begun after %lld s\n", kernel_,
                 static_cast<unsigned long long>(std::min(asked, blocks_)), static_cast<unsigned long long>(blocks_),
                 static_cast<long long>(turn * seconds()));
  }

 private:
  static i64 seconds() {
    static const i64 found = [] {
      const char *const given = std::getenv("HIPISA_PROGRESS");
      return given ? std::max(std::atol(given), 0L) : 0;
    }();
    return found;
  }

  const char *kernel_;
  u64 blocks_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::atomic<i64> last_{0};
};

}  // namespace isa
