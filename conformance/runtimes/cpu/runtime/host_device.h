// What the runtimes on the host (cpu and isa) differ in, for device_api.cpp, which both compile.
#pragma once

#include <string>

#include "error.h"

namespace simt {

constexpr int most_devices = 16;

struct HostDevice {
  std::string name, architecture;
  int wave;                  // lanes
  int major = 9, minor = 4;  // the compute capability
  int count = 1;             // of devices, all alike
};

HostDevice host_device();

// The target that programs which set no options are given (HIPISA_TARGET), and the device of a target: the size of its
// waves is that of code which does not say otherwise, and HIPISA_DEVICES says how many there are.
std::string asked_target();
HostDevice gpu_of_target(const char *name, const std::string &target);

// The device that the calling thread has chosen by hipSetDevice.
int current_device();

// Fails in the name of `call` where there is no such device.
Error check_device(const char *call, int device);

void unload_all_modules();

}  // namespace simt
