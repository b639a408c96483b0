// NVRTC, opened when it is first needed.
//
// Environment:
//   CANDLE_PARITY_NVRTC  the library to use, a path
//   HIPCUDA_NVRTC        otherwise: paths to try, in order, separated by ':'; default: libnvrtc.so by its names
//   HIPCUDA_INCLUDE      folders of the shadow headers and of the toolkit's, in order, separated by ':'
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace nvrtc {

struct Compiler {
#define FUNCTION(result, name, parameters) result(*name) parameters;
#include "nvrtc.inc"
#undef FUNCTION
  int major = 0, minor = 0;
  std::string path;
};

// The library, opened once per process. Without one that can be used `compiler` is null and `why` says what was tried.
struct Opened {
  const Compiler *compiler = nullptr;
  std::string why;
};
const Opened &open_compiler();

// "sm_90", of the device that is current (of the first one where none is). Throws std::runtime_error without a device.
std::string architecture_of_device();

std::vector<std::string> include_folders();

}  // namespace nvrtc
