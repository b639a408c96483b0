// What the stand-ins of HIP's library and of the CUDA driver share: device memory is the host's, and the one kernel of
// every module is urelu_f32, whose last element is wrong where STAND_IN_MISTAKE is set.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>

#define API extern "C" __attribute__((visibility("default")))

inline std::map<std::uintptr_t, std::size_t> &allocations() {
  static std::map<std::uintptr_t, std::size_t> all;
  return all;
}

inline void *allocate(std::size_t bytes) {
  void *const memory = std::malloc(bytes);
  allocations()[reinterpret_cast<std::uintptr_t>(memory)] = bytes;
  return memory;
}

// Where the allocation of `address` begins, and its size; 0 where there is none.
inline std::uintptr_t allocation_of(std::uintptr_t address, std::size_t &bytes) {
  const auto behind = allocations().upper_bound(address);
  if (behind == allocations().begin()) return 0;
  const auto found = std::prev(behind);
  bytes = found->second;
  return found->first;
}

inline int relu(void **params) {
  const auto numel = *static_cast<const std::size_t *>(params[0]);
  const float *inp = *static_cast<float **>(params[3]);
  float *out = *static_cast<float **>(params[4]);
  for (std::size_t i = 0; i < numel; ++i) out[i] = std::max(inp[i], 0.0f);
  if (std::getenv("STAND_IN_MISTAKE")) out[numel - 1] += 1;
  return 0;
}
