// What the stand-ins share: the calls that were made, written down for the test.
#pragma once

#include <string>

#define API extern "C" __attribute__((visibility("default")))

inline std::string calls;

// Those since the last time.
API const char *stand_in_calls() {
  static std::string last;
  last.swap(calls);
  calls.clear();
  return last.c_str();
}
