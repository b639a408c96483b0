// The device of a runtime on the host, and process-wide calls. The isa runtime compiles this file too.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "api.h"
#include "host_device.h"
#include "launch.h"
#include "memory.h"
#include "options.h"
#include "simt/properties.h"

using namespace simt;

namespace {

constexpr int max_grid_x = 2147483647, max_grid_yz = 65536;

thread_local int chosen_device = 0;

// But for the memory's size, which has to be asked for.
DeviceProperties properties(int device) {
  const HostDevice host = host_device();
  DeviceProperties p{};
  std::snprintf(p.name, sizeof p.name, "%s", host.name.c_str());
  std::snprintf(p.gcnArchName, sizeof p.gcnArchName, "%s", host.architecture.c_str());
  p.sharedMemPerBlock = p.sharedMemPerMultiprocessor = p.sharedMemPerBlockOptin = SIMT_MAX_DYNAMIC_SHARED;
  p.maxSharedMemoryPerMultiProcessor = SIMT_MAX_DYNAMIC_SHARED;
  p.regsPerBlock = p.regsPerMultiprocessor = 65536;
  p.warpSize = host.wave;
  p.memPitch = max_grid_x;
  p.maxThreadsPerBlock = SIMT_MAX_THREADS;
  std::fill_n(p.maxThreadsDim, 3, +SIMT_MAX_THREADS);
  p.maxGridSize[0] = max_grid_x;
  p.maxGridSize[1] = p.maxGridSize[2] = max_grid_yz;
  p.totalConstMem = max_grid_x;
  p.major = host.major;
  p.minor = host.minor;
  p.multiProcessorCount = static_cast<int>(options().threads());
  p.maxThreadsPerMultiProcessor = 2 * SIMT_MAX_THREADS;
  p.maxBlocksPerMultiProcessor = 2;
  p.pciBusID = device;
  p.integrated = p.canMapHostMemory = p.unifiedAddressing = p.managedMemory = 1;
  return p;
}

}  // namespace

namespace simt {

int current_device() { return chosen_device; }

Error check_device(const char *call, int device) {
  const HostDevice host = host_device();
  if (device >= 0 && device < host.count) return Success;
  if (host.count == 1)
    return fail(InvalidDevice, "%s: device %d; the %s has device 0 only", call, device, host.name.c_str());
  return fail(InvalidDevice, "%s: device %d; the %s has devices 0 to %d", call, device, host.name.c_str(),
              host.count - 1);
}

}  // namespace simt

SIMT_API int hipInit(unsigned) { return Success; }
SIMT_API int hipGetDeviceCount(int *count) {
  if (!count) return fail(InvalidValue, "hipGetDeviceCount: the output pointer for the number is null");
  *count = host_device().count;
  return Success;
}
SIMT_API int hipSetDevice(int device) {
  if (const Error error = check_device("hipSetDevice", device)) return error;
  chosen_device = device;
  return Success;
}
SIMT_API int hipGetDevice(int *device) {
  if (!device) return fail(InvalidValue, "hipGetDevice: the output pointer for the number is null");
  *device = current_device();
  return Success;
}
SIMT_API int hipDeviceComputeCapability(int *major, int *minor, int device) {
  const HostDevice host = host_device();
  if (major) *major = host.major;
  if (minor) *minor = host.minor;
  return check_device("hipDeviceComputeCapability", device);
}
SIMT_API int hipGetDevicePropertiesR0600(void *out, int device) {
  if (const Error error = check_device("hipGetDeviceProperties", device)) return error;
  if (!out) return fail(InvalidValue, "hipGetDeviceProperties: the output pointer for the properties is null");
  DeviceProperties p = properties(device);
  p.totalGlobalMem = system_memory().total;
  std::memcpy(out, &p, sizeof p);
  return Success;
}
SIMT_API int hipDeviceGetAttribute(int *value, int attribute, int device) {
  if (const Error error = check_device("hipDeviceGetAttribute", device)) return error;
  if (!value) return fail(InvalidValue, "hipDeviceGetAttribute: the output pointer for the value is null");
  constexpr int attribute_total_memory = 84;
  const DeviceProperties p = properties(device);
  *value = 0;  // of what HIP knows and the runtimes on the host lack
#define FIELD(hip, cuda, field) \
  if (attribute == hip) *value = static_cast<int>(p.field);
#define ALONE(hip, cuda, what)
#include "simt/attributes.inc"
#undef FIELD
#undef ALONE
  if (attribute == attribute_total_memory)
    *value = static_cast<int>(std::min<std::size_t>(system_memory().total, 2147483647));
  return Success;
}
SIMT_API int hipDeviceSynchronize() {
  note_host_waits_for_all();
  return Success;
}
SIMT_API int hipDeviceReset() {
  const auto lock = lock_launches();
  unload_all_modules();
  memory().release_all(current_device());
  clear_last_error();
  return Success;
}
