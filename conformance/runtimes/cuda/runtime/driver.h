// NVIDIA's driver library, opened when it is first needed: building and loading this library needs no CUDA.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace cuda {

// CUDA_MEMCPY2D.
struct Copy2D {
  std::size_t from_x, from_y;
  int from_type;
  const void *from_host;
  std::uint64_t from_device;
  void *from_array;
  std::size_t from_pitch;
  std::size_t to_x, to_y;
  int to_type;
  void *to_host;
  std::uint64_t to_device;
  void *to_array;
  std::size_t to_pitch;
  std::size_t width, height;
};
static_assert(sizeof(Copy2D) == 128);

constexpr int oldest_driver = 12000;  // as cuDriverGetVersion counts: CUDA 12.0

struct Driver {
#define CALL(name, parameters) int(*name) parameters = nullptr;
#define LATER(name, parameters) CALL(name, parameters)
#include "driver.inc"
#undef CALL
#undef LATER
  int version = 0;  // the newest CUDA that it can run: 13000 for 13.0
};

// The library, open and initialised once per process. Null when there is none that can be used: `why` and `code` then
// say what is missing and the hipError_t for it.
struct Opened {
  const Driver *driver = nullptr;
  int code = 0;
  std::string why;
};
const Opened &open_driver();

// "CUDA_ERROR_ILLEGAL_ADDRESS, an illegal memory access was encountered"
std::string error_text(const Driver &cu, int result);

// "12.4" for 12040.
std::string version_text(int version);

}  // namespace cuda
