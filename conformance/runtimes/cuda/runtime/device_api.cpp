// The device, the process-wide calls and errors.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "functions.h"
#include "hipcuda.h"
#include "session.h"
#include "simt/properties.h"

using namespace cuda;
using simt::fail;
using simt::InvalidValue;
using simt::NotSupported;
using simt::Success;

namespace {

constexpr int hip_version = 70226000;

// CUdevice_attribute
enum {
  max_threads_per_block = 1,
  max_block_x = 2,
  max_grid_x = 5,
  shared_per_block = 8,
  constant_memory = 9,
  warp_size = 10,
  max_pitch = 11,
  registers_per_block = 12,
  clock_rate = 13,
  texture_alignment = 14,
  overlap = 15,
  multiprocessors = 16,
  exec_timeout = 17,
  integrated = 18,
  can_map_host = 19,
  compute_mode = 20,
  surface_alignment = 30,
  concurrent_kernels = 31,
  ecc = 32,
  pci_bus = 33,
  pci_device = 34,
  tcc = 35,
  memory_clock = 36,
  memory_bus = 37,
  l2_cache = 38,
  threads_per_multiprocessor = 39,
  async_engines = 40,
  unified_addressing = 41,
  pci_domain = 50,
  texture_pitch_alignment = 51,
  capability_major = 75,
  capability_minor = 76,
  stream_priorities = 78,
  global_l1 = 79,
  local_l1 = 80,
  shared_per_multiprocessor = 81,
  registers_per_multiprocessor = 82,
  managed_memory = 83,
  multi_gpu_board = 84,
  multi_gpu_group = 85,
  host_native_atomics = 86,
  double_ratio = 87,
  pageable_access = 88,
  concurrent_managed = 89,
  preemption = 90,
  registered_host_pointer = 91,
  cooperative_launch = 95,
  cooperative_multi_device = 96,
  shared_optin = 97,
  host_register = 99,
  pageable_host_tables = 100,
  direct_managed_from_host = 101,
  virtual_memory = 102,
  blocks_per_multiprocessor = 106,
  persisting_l2 = 108,
  access_policy_window = 109,
  reserved_shared = 111,
  memory_pools = 115,
  dma_buf = 124,
  host_numa = 134,
};

// hipDeviceAttribute_t and the CUdevice_attribute for it; all others that HIP knows are 0 here.
constexpr struct {
  int hip, cuda;
} attributes[] = {
    {1, access_policy_window},
    {2, async_engines},
    {3, can_map_host},
    {4, registered_host_pointer},
    {5, clock_rate},
    {6, compute_mode},
    {7, preemption},
    {8, concurrent_kernels},
    {9, concurrent_managed},
    {10, cooperative_launch},
    {11, cooperative_multi_device},
    {12, overlap},
    {13, direct_managed_from_host},
    {14, global_l1},
    {15, host_native_atomics},
    {16, integrated},
    {17, multi_gpu_board},
    {18, exec_timeout},
    {19, l2_cache},
    {20, local_l1},
    {23, capability_major},
    {24, managed_memory},
    {25, blocks_per_multiprocessor},
    {26, max_block_x},
    {27, max_block_x + 1},
    {28, max_block_x + 2},
    {29, max_grid_x},
    {30, max_grid_x + 1},
    {31, max_grid_x + 2},
    {55, max_block_x},
    {56, max_threads_per_block},
    {57, threads_per_multiprocessor},
    {58, max_pitch},
    {59, memory_bus},
    {60, memory_clock},
    {61, capability_minor},
    {62, multi_gpu_group},
    {63, multiprocessors},
    {65, pageable_access},
    {66, pageable_host_tables},
    {67, pci_bus},
    {68, pci_device},
    {69, pci_domain},
    {70, persisting_l2},
    {71, registers_per_block},
    {72, registers_per_multiprocessor},
    {73, reserved_shared},
    {74, shared_per_block},
    {75, shared_optin},
    {76, shared_per_multiprocessor},
    {77, double_ratio},
    {78, stream_priorities},
    {79, surface_alignment},
    {80, tcc},
    {81, texture_alignment},
    {82, texture_pitch_alignment},
    {83, constant_memory},
    {85, unified_addressing},
    {87, warp_size},
    {88, memory_pools},
    {89, virtual_memory},
    {90, host_register},
    {92, host_numa},
    {93, dma_buf},
    {10002, shared_per_multiprocessor},
    {10015, multiprocessors},
};
constexpr int hip_total_memory = 84;

std::size_t total_memory(const Driver &cu, int device) {
  std::size_t bytes = 0;
  return cu.cuDeviceTotalMem_v2(&bytes, device) == 0 ? bytes : 0;
}

void fill(const Driver &cu, int device, simt::DeviceProperties &p) {
  const auto ask = [&](int number) { return attribute(cu, number, device); };
  const auto size = [&](int number) { return static_cast<std::size_t>(attribute(cu, number, device)); };
  cu.cuDeviceGetName(p.name, sizeof p.name, device);
  cu.cuDeviceGetUuid_v2(p.uuid, device);
  p.major = ask(capability_major);
  p.minor = ask(capability_minor);
  std::snprintf(p.gcnArchName, sizeof p.gcnArchName, "sm_%d%d", p.major, p.minor);
  p.totalGlobalMem = total_memory(cu, device);
  p.sharedMemPerBlock = size(shared_per_block);
  p.regsPerBlock = ask(registers_per_block);
  p.warpSize = ask(warp_size);
  p.memPitch = size(max_pitch);
  p.maxThreadsPerBlock = ask(max_threads_per_block);
  for (int axis = 0; axis < 3; ++axis) {
    p.maxThreadsDim[axis] = ask(max_block_x + axis);
    p.maxGridSize[axis] = ask(max_grid_x + axis);
  }
  p.clockRate = p.clockInstructionRate = ask(clock_rate);
  p.totalConstMem = size(constant_memory);
  p.textureAlignment = size(texture_alignment);
  p.texturePitchAlignment = size(texture_pitch_alignment);
  p.deviceOverlap = ask(overlap);
  p.multiProcessorCount = ask(multiprocessors);
  p.kernelExecTimeoutEnabled = ask(exec_timeout);
  p.integrated = ask(integrated);
  p.canMapHostMemory = ask(can_map_host);
  p.computeMode = ask(compute_mode);
  p.surfaceAlignment = size(surface_alignment);
  p.concurrentKernels = ask(concurrent_kernels);
  p.ECCEnabled = ask(ecc);
  p.pciBusID = ask(pci_bus);
  p.pciDeviceID = ask(pci_device);
  p.pciDomainID = ask(pci_domain);
  p.tccDriver = ask(tcc);
  p.asyncEngineCount = ask(async_engines);
  p.unifiedAddressing = ask(unified_addressing);
  p.memoryClockRate = ask(memory_clock);
  p.memoryBusWidth = ask(memory_bus);
  p.l2CacheSize = ask(l2_cache);
  p.persistingL2CacheMaxSize = ask(persisting_l2);
  p.maxThreadsPerMultiProcessor = ask(threads_per_multiprocessor);
  p.streamPrioritiesSupported = ask(stream_priorities);
  p.globalL1CacheSupported = ask(global_l1);
  p.localL1CacheSupported = ask(local_l1);
  p.sharedMemPerMultiprocessor = p.maxSharedMemoryPerMultiProcessor = size(shared_per_multiprocessor);
  p.regsPerMultiprocessor = ask(registers_per_multiprocessor);
  p.managedMemory = ask(managed_memory);
  p.isMultiGpuBoard = ask(multi_gpu_board);
  p.multiGpuBoardGroupID = ask(multi_gpu_group);
  p.hostNativeAtomicSupported = ask(host_native_atomics);
  p.singleToDoublePrecisionPerfRatio = ask(double_ratio);
  p.pageableMemoryAccess = ask(pageable_access);
  p.concurrentManagedAccess = ask(concurrent_managed);
  p.computePreemptionSupported = ask(preemption);
  p.canUseHostPointerForRegisteredMem = ask(registered_host_pointer);
  p.cooperativeLaunch = ask(cooperative_launch);
  p.cooperativeMultiDeviceLaunch = ask(cooperative_multi_device);
  p.sharedMemPerBlockOptin = size(shared_optin);
  p.pageableMemoryAccessUsesHostPageTables = ask(pageable_host_tables);
  p.directManagedMemAccessFromHost = ask(direct_managed_from_host);
  p.maxBlocksPerMultiProcessor = ask(blocks_per_multiprocessor);
  p.accessPolicyMaxWindowSize = ask(access_policy_window);
  p.reservedSharedMemPerBlock = size(reserved_shared);
}

// body(driver), for an existing device and an output pointer that is not null.
template <class Body>
int about(const char *call, int device, const void *place, Body body) {
  return with_driver(call, [&](const Driver &cu) -> int {
    if (const Error error = check_device(cu, call, device)) return error;
    if (place == nullptr) return fail(InvalidValue, "%s: the output pointer is null", call);
    return body(cu);
  });
}

}  // namespace

// ---- devices

HIP_API int hipInit(unsigned) {
  return with_driver("hipInit", [](const Driver &) { return Success; });
}
HIP_API int hipGetDeviceCount(int *count) {
  if (!count) return fail(InvalidValue, "hipGetDeviceCount: the output pointer for the number is null");
  *count = 0;
  return with_driver("hipGetDeviceCount",
                     [&](const Driver &cu) { return to_error(cu, "hipGetDeviceCount", cu.cuDeviceGetCount(count)); });
}
HIP_API int hipSetDevice(int device) {
  return with_driver("hipSetDevice", [&](const Driver &cu) { return use_device(cu, "hipSetDevice", device); });
}
HIP_API int hipGetDevice(int *device) {
  if (!device) return fail(InvalidValue, "hipGetDevice: the output pointer for the number is null");
  *device = device_of_thread();
  return Success;
}
HIP_API int hipDeviceGet(int *device, int ordinal) {
  return about("hipDeviceGet", ordinal, device, [&](const Driver &) {
    *device = ordinal;
    return Success;
  });
}
HIP_API int hipDeviceGetName(char *name, int bytes, int device) {
  return about("hipDeviceGetName", device, bytes > 0 ? name : nullptr, [&](const Driver &cu) {
    return to_error(cu, "hipDeviceGetName", cu.cuDeviceGetName(name, bytes, device));
  });
}
HIP_API int hipDeviceComputeCapability(int *major, int *minor, int device) {
  return about("hipDeviceComputeCapability", device, minor ? major : nullptr, [&](const Driver &cu) {
    *major = attribute(cu, capability_major, device);
    *minor = attribute(cu, capability_minor, device);
    return Success;
  });
}
HIP_API int hipDeviceTotalMem(std::size_t *bytes, int device) {
  return about("hipDeviceTotalMem", device, bytes, [&](const Driver &cu) {
    return to_error(cu, "hipDeviceTotalMem", cu.cuDeviceTotalMem_v2(bytes, device));
  });
}
HIP_API int hipGetDevicePropertiesR0600(void *out, int device) {
  return about("hipGetDeviceProperties", device, out, [&](const Driver &cu) {
    simt::DeviceProperties p{};
    fill(cu, device, p);
    std::memcpy(out, &p, sizeof p);
    return Success;
  });
}
HIP_API int hipDeviceGetAttribute(int *value, int number, int device) {
  return about("hipDeviceGetAttribute", device, value, [&](const Driver &cu) {
    const auto *row = std::find_if(std::begin(attributes), std::end(attributes),
                                   [number](const auto &candidate) { return candidate.hip == number; });
    *value = number == hip_total_memory ? static_cast<int>(std::min<std::size_t>(total_memory(cu, device), 2147483647))
             : row != std::end(attributes) ? attribute(cu, row->cuda, device)
                                           : 0;
    return Success;
  });
}
HIP_API int hipDeviceCanAccessPeer(int *can, int device, int peer) {
  return about("hipDeviceCanAccessPeer", device, can, [&](const Driver &cu) {
    return to_error(cu, "hipDeviceCanAccessPeer", cu.cuDeviceCanAccessPeer(can, device, peer));
  });
}
HIP_API int hipDeviceSetCacheConfig(int) { return Success; }
HIP_API int hipGetDeviceFlags(unsigned *flags) {
  if (flags) *flags = 0;
  return Success;
}
HIP_API int hipSetDeviceFlags(unsigned) { return Success; }
HIP_API int hipDeviceSynchronize() {
  return in_context("hipDeviceSynchronize", [](const Driver &cu) {
    const Error error = to_error(cu, "hipDeviceSynchronize", cu.cuCtxSynchronize());
    if (!error) clear_pending_launches();
    return error;
  });
}
HIP_API int hipDeviceReset() {
  return with_driver("hipDeviceReset", [](const Driver &cu) {
    const int device = device_of_thread();
    const Error error = to_error(cu, "hipDeviceReset", cu.cuDevicePrimaryCtxReset_v2(device));
    functions().remove_device(device);
    remove_context(device);
    if (!error) simt::clear_last_error();
    return error;
  });
}
HIP_API int hipRuntimeGetVersion(int *version) {
  if (!version) return fail(InvalidValue, "hipRuntimeGetVersion: the output pointer for the version is null");
  *version = hip_version;
  return Success;
}
HIP_API int hipDriverGetVersion(int *version) { return hipRuntimeGetVersion(version); }

// ---- errors

HIP_API int hipGetLastError() { return simt::clear_last_error(); }
HIP_API int hipExtGetLastError() { return simt::clear_last_error(); }
HIP_API int hipPeekAtLastError() { return simt::last_error(); }
HIP_API const char *hipGetErrorName(int code) { return simt::error_name(code); }
HIP_API const char *hipGetErrorString(int code) { return simt::error_string(code); }
HIP_API int hipDrvGetErrorName(int code, const char **text) {
  if (text) *text = simt::error_name(code);
  return Success;
}
HIP_API int hipDrvGetErrorString(int code, const char **text) {
  if (text) *text = simt::error_string(code);
  return Success;
}

HIP_API const char *hipcudaLastMessage() { return simt::last_message(); }
HIP_API int hipcudaDriverVersion() {
  const Opened &opened = open_driver();
  return opened.driver != nullptr ? opened.driver->version : 0;
}
