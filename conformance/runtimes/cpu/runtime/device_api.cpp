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

Error check_device(const char *call, int device) {
  if (device == 0) return Success;
  return fail(InvalidDevice, "%s: device %d; the %s has device 0 only", call, device, host_device().name.c_str());
}

struct Attribute {
  int number;
  int value;
};
// Attributes that do not depend on options; all others that HIP knows are 0 here (features that the cpu runtime lacks).
constexpr Attribute attributes[] = {
    {3, 1},   // CanMapHostMemory
    {8, 0},   // ConcurrentKernels
    {16, 1},  // Integrated
    {24, 1},  // ManagedMemory
    {25, 2},  // MaxBlocksPerMultiProcessor
    {26, SIMT_MAX_THREADS},
    {27, SIMT_MAX_THREADS},
    {28, SIMT_MAX_THREADS},  // MaxBlockDim
    {29, max_grid_x},
    {30, max_grid_yz},
    {31, max_grid_yz},  // MaxGridDim
    {55, SIMT_MAX_THREADS},
    {56, SIMT_MAX_THREADS},      // MaxThreadsDim, MaxThreadsPerBlock
    {57, 2 * SIMT_MAX_THREADS},  // MaxThreadsPerMultiProcessor
    {58, 2147483647},            // MaxPitch
    {71, 65536},
    {72, 65536},  // MaxRegisters
    {74, SIMT_MAX_DYNAMIC_SHARED},
    {75, SIMT_MAX_DYNAMIC_SHARED},
    {76, SIMT_MAX_DYNAMIC_SHARED},     // shared memory
    {83, 2147483647},                  // TotalConstantMemory
    {85, 1},                           // UnifiedAddressing
    {10002, SIMT_MAX_DYNAMIC_SHARED},  // MaxSharedMemoryPerMultiprocessor
};
constexpr int attribute_warp_size = 87, attribute_multiprocessors = 63, attribute_physical_multiprocessors = 10015;
constexpr int attribute_total_memory = 84, attribute_major = 23, attribute_minor = 61;

}  // namespace

SIMT_API int hipInit(unsigned) { return Success; }
SIMT_API int hipGetDeviceCount(int *count) {
  if (!count) return fail(InvalidValue, "hipGetDeviceCount: the output pointer for the number is null");
  *count = 1;
  return Success;
}
SIMT_API int hipSetDevice(int device) { return check_device("hipSetDevice", device); }
SIMT_API int hipGetDevice(int *device) {
  if (!device) return fail(InvalidValue, "hipGetDevice: the output pointer for the number is null");
  *device = 0;
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
  const HostDevice host = host_device();
  DeviceProperties p{};
  std::snprintf(p.name, sizeof p.name, "%s", host.name.c_str());
  std::snprintf(p.gcnArchName, sizeof p.gcnArchName, "%s", host.architecture.c_str());
  p.totalGlobalMem = system_memory().total;
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
  p.integrated = p.canMapHostMemory = p.unifiedAddressing = p.managedMemory = 1;
  std::memcpy(out, &p, sizeof p);
  return Success;
}
SIMT_API int hipDeviceGetAttribute(int *value, int attribute, int device) {
  if (const Error error = check_device("hipDeviceGetAttribute", device)) return error;
  if (!value) return fail(InvalidValue, "hipDeviceGetAttribute: the output pointer for the value is null");
  const Attribute *end = attributes + std::size(attributes);
  const Attribute *a = std::find_if(attributes, end, [attribute](const Attribute &x) { return x.number == attribute; });
  if (a != end)
    *value = a->value;
  else if (attribute == attribute_warp_size)
    *value = host_device().wave;
  else if (attribute == attribute_major)
    *value = host_device().major;
  else if (attribute == attribute_minor)
    *value = host_device().minor;
  else if (attribute == attribute_multiprocessors || attribute == attribute_physical_multiprocessors)
    *value = static_cast<int>(options().threads());
  else if (attribute == attribute_total_memory)
    *value = static_cast<int>(std::min<std::size_t>(system_memory().total, 2147483647));
  else
    *value = 0;
  return Success;
}
SIMT_API int hipDeviceSynchronize() {
  note_host_waits_for_all();
  return Success;
}
SIMT_API int hipDeviceReset() {
  const auto lock = lock_launches();
  unload_all_modules();
  memory().release_all();
  clear_last_error();
  return Success;
}
