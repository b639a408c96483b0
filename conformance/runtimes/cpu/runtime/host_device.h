// What the runtimes on the host (cpu and isa) differ in, for device_api.cpp, which both compile.
#pragma once

#include <string>

namespace simt {

struct HostDevice {
  std::string name, architecture;
  int wave;                  // lanes
  int major = 9, minor = 4;  // the compute capability
};

HostDevice host_device();

void unload_all_modules();

}  // namespace simt
