// The one device, process-wide calls, errors, and the options of the isa runtime.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "api.h"
#include "dispatch.h"
#include "hipisa.h"
#include "launch.h"
#include "memory.h"
#include "options.h"
#include "properties.h"

using namespace simt;

void unload_all_modules();

namespace {

constexpr int hip_version = 70226000;
constexpr int threads = 1024, shared_bytes = 65536, largest = 2147483647;

std::string &target() {
  static std::string &name = *new std::string("gfx942");
  return name;
}

// Of code that no option says otherwise of.
int default_wave() { return target().starts_with("gfx9") ? 64 : 32; }

std::string device_name() { return "candle-parity isa runtime"; }

Error check_device(const char *call, int device) {
  return device == 0 ? Success : fail(InvalidDevice, "%s: device %d; the isa runtime has device 0 only", call, device);
}

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
SIMT_API int hipDeviceGetName(char *name, int bytes, int device) {
  if (const Error error = check_device("hipDeviceGetName", device)) return error;
  if (!name || bytes < 1) return fail(InvalidValue, "hipDeviceGetName: the buffer for the name is null or empty");
  std::snprintf(name, static_cast<std::size_t>(bytes), "%s", device_name().c_str());
  return Success;
}
SIMT_API int hipGetDevicePropertiesR0600(void *out, int device) {
  if (const Error error = check_device("hipGetDeviceProperties", device)) return error;
  if (!out) return fail(InvalidValue, "hipGetDeviceProperties: the output pointer for the properties is null");
  DeviceProperties p{};
  std::snprintf(p.name, sizeof p.name, "%s", device_name().c_str());
  std::snprintf(p.gcnArchName, sizeof p.gcnArchName, "%s", target().c_str());
  p.totalGlobalMem = system_memory().total;
  p.sharedMemPerBlock = p.sharedMemPerMultiprocessor = p.sharedMemPerBlockOptin = shared_bytes;
  p.maxSharedMemoryPerMultiProcessor = shared_bytes;
  p.regsPerBlock = p.regsPerMultiprocessor = 65536;
  p.warpSize = default_wave();
  p.memPitch = largest;
  p.maxThreadsPerBlock = threads;
  std::fill_n(p.maxThreadsDim, 3, threads);
  p.maxGridSize[0] = largest;
  p.maxGridSize[1] = p.maxGridSize[2] = 65536;
  p.totalConstMem = largest;
  p.major = 9;
  p.minor = 4;
  p.multiProcessorCount = static_cast<int>(options().threads());
  p.maxThreadsPerMultiProcessor = 2 * threads;
  p.maxBlocksPerMultiProcessor = 2;
  p.integrated = p.canMapHostMemory = p.unifiedAddressing = p.managedMemory = 1;
  std::memcpy(out, &p, sizeof p);
  return Success;
}
SIMT_API int hipDeviceGetAttribute(int *value, int attribute, int device) {
  if (const Error error = check_device("hipDeviceGetAttribute", device)) return error;
  if (!value) return fail(InvalidValue, "hipDeviceGetAttribute: the output pointer for the value is null");
  enum { MaxThreadsPerBlock = 56, Multiprocessors = 63, SharedBytes = 74, WarpSize = 87 };
  *value = attribute == MaxThreadsPerBlock ? threads
           : attribute == SharedBytes      ? shared_bytes
           : attribute == WarpSize         ? default_wave()
           : attribute == Multiprocessors  ? static_cast<int>(options().threads())
                                           : 0;
  return Success;
}
SIMT_API int hipDeviceSynchronize() { return Success; }
SIMT_API int hipDeviceReset() {
  const auto lock = lock_launches();
  unload_all_modules();
  memory().release_all();
  clear_last_error();
  return Success;
}
SIMT_API int hipRuntimeGetVersion(int *version) {
  if (!version) return fail(InvalidValue, "hipRuntimeGetVersion: the output pointer for the version is null");
  *version = hip_version;
  return Success;
}
SIMT_API int hipDriverGetVersion(int *version) { return hipRuntimeGetVersion(version); }

SIMT_API int hipGetLastError() { return clear_last_error(); }
SIMT_API int hipPeekAtLastError() { return last_error(); }
SIMT_API const char *hipGetErrorName(int code) { return error_name(code); }
SIMT_API const char *hipGetErrorString(int code) { return error_string(code); }

SIMT_API int hipisaSetOption(const char *key, const char *value) {
  const auto lock = lock_launches();
  if (key && value && std::strcmp(key, "target") == 0) {
    target() = value;
    return Success;
  }
  return options().set(key, value);
}
SIMT_API const char *hipisaLastMessage() { return last_message(); }
SIMT_API unsigned long hipisaExecuted() { return isa::executed_instructions(); }
