// Entry points that are the same in every runtime; the cuda runtime compiles this file too.
#include <algorithm>
#include <cstring>

#include "api.h"
#include "simt/properties.h"

using namespace simt;

namespace {

// hipDeviceProp_t as programs that were compiled with headers of HIP 5 have it, up to gcnArchName and integrated.
struct OldProperties {
  char name[256];
  std::size_t totalGlobalMem, sharedMemPerBlock;
  int regsPerBlock, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
  int clockRate, memoryClockRate, memoryBusWidth;
  std::size_t totalConstMem;
  int major, minor, multiProcessorCount, l2CacheSize, maxThreadsPerMultiProcessor, computeMode, clockInstructionRate;
  unsigned arch;
  int concurrentKernels, pciDomainID, pciBusID, pciDeviceID;
  std::size_t maxSharedMemoryPerMultiProcessor;
  int isMultiGpuBoard, canMapHostMemory, gcnArch;
  char gcnArchName[256];
  int integrated;
};
static_assert(offsetof(OldProperties, warpSize) == 276 && offsetof(OldProperties, gcnArchName) == 396);

}  // namespace

SIMT_API int hipMemcpy(void *to, const void *from, std::size_t bytes, int kind) {
  return copy("hipMemcpy", to, from, bytes, kind);
}
SIMT_API int hipMemcpyHtoD(void *to, const void *from, std::size_t bytes) {
  return copy("hipMemcpyHtoD", to, from, bytes, HostToDevice);
}
SIMT_API int hipMemcpyDtoH(void *to, const void *from, std::size_t bytes) {
  return copy("hipMemcpyDtoH", to, from, bytes, DeviceToHost);
}
SIMT_API int hipMemcpyDtoD(void *to, const void *from, std::size_t bytes) {
  return copy("hipMemcpyDtoD", to, from, bytes, DeviceToDevice);
}
SIMT_API int hipMemcpyAsync(void *to, const void *from, std::size_t bytes, int kind, void *stream) {
  return copy_async("hipMemcpyAsync", to, from, bytes, kind, stream);
}
SIMT_API int hipMemcpyDtoDAsync(void *to, const void *from, std::size_t bytes, void *stream) {
  return copy_async("hipMemcpyDtoDAsync", to, from, bytes, DeviceToDevice, stream);
}

SIMT_API int hipGetLastError() { return clear_last_error(); }
SIMT_API int hipPeekAtLastError() { return last_error(); }
SIMT_API const char *hipGetErrorName(int code) { return error_name(code); }
SIMT_API const char *hipGetErrorString(int code) { return error_string(code); }

SIMT_API int hipRuntimeGetVersion(int *version) {
  constexpr int hip_version = 70226000;
  if (!version) return fail(InvalidValue, "hipRuntimeGetVersion: the output pointer for the version is null");
  *version = hip_version;
  return Success;
}
SIMT_API int hipDriverGetVersion(int *version) { return hipRuntimeGetVersion(version); }

SIMT_API int hipGetDevicePropertiesR0600(void *out, int device);
SIMT_API int hipGetDeviceProperties(void *out, int device) {
  DeviceProperties now;
  if (!out) return fail(InvalidValue, "hipGetDeviceProperties: the output pointer for the properties is null");
  if (const int error = hipGetDevicePropertiesR0600(&now, device)) return error;
  OldProperties p{};
  std::memcpy(p.name, now.name, sizeof p.name);
  std::memcpy(p.gcnArchName, now.gcnArchName, sizeof p.gcnArchName);
  std::copy_n(now.maxThreadsDim, 3, p.maxThreadsDim);
  std::copy_n(now.maxGridSize, 3, p.maxGridSize);
  p.totalGlobalMem = now.totalGlobalMem;
  p.sharedMemPerBlock = now.sharedMemPerBlock;
  p.regsPerBlock = now.regsPerBlock;
  p.warpSize = now.warpSize;
  p.maxThreadsPerBlock = now.maxThreadsPerBlock;
  p.totalConstMem = now.totalConstMem;
  p.major = now.major;
  p.minor = now.minor;
  p.multiProcessorCount = now.multiProcessorCount;
  p.maxThreadsPerMultiProcessor = now.maxThreadsPerMultiProcessor;
  p.maxSharedMemoryPerMultiProcessor = now.maxSharedMemoryPerMultiProcessor;
  p.canMapHostMemory = now.canMapHostMemory;
  p.pciDomainID = now.pciDomainID;
  p.pciBusID = now.pciBusID;
  p.pciDeviceID = now.pciDeviceID;
  p.concurrentKernels = now.concurrentKernels;
  p.l2CacheSize = now.l2CacheSize;
  p.integrated = now.integrated;
  std::memcpy(out, &p, sizeof p);
  return Success;
}

SIMT_API int hipDeviceSynchronize();
SIMT_API int hipModuleLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                                   unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **params,
                                   void **extra);
SIMT_API int hipcpuLaunchOnce(void *function, const unsigned *s, void **params, unsigned count, void *const *device,
                              char *const *host, const std::size_t *bytes, std::size_t after, unsigned *done) {
  *done = 0;
  for (unsigned i = 0; i < count; ++i)
    if (const int error = hipMemcpy(device[i], host[i], bytes[i], HostToDevice)) return error;
  *done = 1;
  if (const int error =
          hipModuleLaunchKernel(function, s[0], s[1], s[2], s[3], s[4], s[5], s[6], nullptr, params, nullptr))
    return error;
  *done = 2;
  if (const int error = hipDeviceSynchronize()) return error;
  *done = 3;
  for (unsigned i = 0; i < count; ++i)
    if (const int error = hipMemcpy(host[i] + after, device[i], bytes[i], DeviceToHost)) return error;
  return Success;
}
