// Launches, occupancy and libraries of kernels, in the forms that the harness's own runs do not use.
#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "hip.h"
#include "host_device.h"
#include "registered.h"
#include "simt/properties.h"

using namespace simt;

namespace {

// hipLaunchConfig_t
struct LaunchConfiguration {
  Shape grid, block;
  std::size_t shared;
  void *stream, *attributes;
  unsigned count;
};
// HIP_LAUNCH_CONFIG
struct DriverConfiguration {
  Shape grid, block;
  unsigned shared;
  void *stream, *attributes;
  unsigned count;
};

constexpr unsigned one_for_all = 1;  // blocks that this device has for each multiprocessor, which is a core of the host

int largest_block(const void *kernel, int limit) {
  const int most = static_cast<int>(std::min(facts_of(kernel).most_threads, 1024u));
  return limit > 0 ? std::min(limit, most) : most;
}

// Blocks of a cooperative launch wait for each other, so that all must have a place at once: as many as occupancy says,
// times the multiprocessors.
Error check_cooperative(const char *call, Shape grid, std::size_t dynamic_bytes) {
  DeviceProperties device;
  if (const int error = hipGetDevicePropertiesR0600(&device, current_device())) return static_cast<Error>(error);
  const std::uint64_t blocks = std::uint64_t{grid.x} * grid.y * grid.z;
  const std::uint64_t places = std::uint64_t{one_for_all} * static_cast<unsigned>(device.multiProcessorCount);
  if (blocks > places)
    return fail(CooperativeLaunchTooLarge, "%s: %lu blocks, and this device has places for %lu at once", call, blocks,
                places);
  if (dynamic_bytes > device.sharedMemPerBlock)
    return fail(CooperativeLaunchTooLarge, "%s: %zu bytes of shared memory, of which a block can have %zu", call,
                dynamic_bytes, device.sharedMemPerBlock);
  return Success;
}

int block_of_module_kernel(const char *call, int *grid, int *block, const void *function, int limit) {
  if (!is_kernel(function)) return fail(InvalidHandle, "%s: this is not a function of a loaded module", call);
  if (grid) *grid = one_for_all;
  if (block) *block = largest_block(function, limit);
  return Success;
}

}  // namespace

SIMT_API int hipLaunchKernel(const void *function, Shape grid, Shape block, void **params, std::size_t dynamic_bytes,
                             void *stream);
SIMT_API int hipOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int size,
                                                          std::size_t dynamic_bytes);
SIMT_API int hipOccupancyMaxPotentialBlockSize(int *grid, int *block, const void *function, std::size_t dynamic_bytes,
                                               int limit);
SIMT_API int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int size,
                                                                std::size_t dynamic_bytes);

// ---- launches

SIMT_API int hipLaunchKernelExC(const LaunchConfiguration *given, const void *function, void **params) {
  if (!given) return fail(InvalidValue, "hipLaunchKernelExC: the configuration is null");
  return hipLaunchKernel(function, given->grid, given->block, params, given->shared, given->stream);
}
SIMT_API int hipDrvLaunchKernelEx(const DriverConfiguration *given, void *function, void **params, void **extra) {
  if (!given) return fail(InvalidValue, "hipDrvLaunchKernelEx: the configuration is null");
  const Shape g = given->grid, b = given->block;
  return hipModuleLaunchKernel(function, g.x, g.y, g.z, b.x, b.y, b.z, given->shared, given->stream, params, extra);
}
SIMT_API int hipLaunchCooperativeKernel(const void *function, Shape grid, Shape block, void **params,
                                        unsigned dynamic_bytes, void *stream) {
  if (const Error error = check_cooperative("hipLaunchCooperativeKernel", grid, dynamic_bytes)) return error;
  return hipLaunchKernel(function, grid, block, params, dynamic_bytes, stream);
}
SIMT_API int hipModuleLaunchCooperativeKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                              unsigned by, unsigned bz, unsigned shared, void *stream, void **params) {
  if (const Error error = check_cooperative("hipModuleLaunchCooperativeKernel", {gx, gy, gz}, shared)) return error;
  return hipModuleLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream, params, nullptr);
}
// Its grid is in threads, not in blocks.
SIMT_API int hipExtModuleLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                      unsigned bz, std::size_t shared, void *stream, void **params, void **extra,
                                      void *start, void *stop, unsigned) {
  if (!bx || !by || !bz || gx % bx || gy % by || gz % bz)
    return fail(InvalidConfiguration,
                "hipExtModuleLaunchKernel: (%u,%u,%u) threads are no whole number of blocks of (%u,%u,%u)", gx, gy, gz,
                bx, by, bz);
  if (start)
    if (const int error = hipEventRecord(start, stream)) return error;
  if (const int error = hipModuleLaunchKernel(function, gx / bx, gy / by, gz / bz, bx, by, bz,
                                              static_cast<unsigned>(shared), stream, params, extra))
    return error;
  return stop ? hipEventRecord(stop, stream) : Success;
}
SIMT_API int hipHccModuleLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                      unsigned bz, std::size_t shared, void *stream, void **params, void **extra,
                                      void *start, void *stop) {
  return hipExtModuleLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream, params, extra, start, stop, 0);
}
SIMT_API int hipGetFuncBySymbol(const void **function, const void *symbol) {
  const void *kernel;
  if (!function) return fail(InvalidValue, "hipGetFuncBySymbol: the output pointer is null");
  if (const Error error = registry().find("hipGetFuncBySymbol", symbol, kernel)) return error;
  *function = kernel;
  return Success;
}

// ---- occupancy

SIMT_API int hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function, int size,
                                                                   std::size_t dynamic_bytes, unsigned) {
  return hipOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, size, dynamic_bytes);
}
SIMT_API int hipOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, const void *function,
                                                        std::size_t dynamic_bytes, int limit, unsigned) {
  return hipOccupancyMaxPotentialBlockSize(grid, block, function, dynamic_bytes, limit);
}
SIMT_API int hipOccupancyAvailableDynamicSMemPerBlock(std::size_t *bytes, const void *function, int, int) {
  const void *kernel;
  if (!bytes) return fail(InvalidValue, "hipOccupancyAvailableDynamicSMemPerBlock: the output pointer is null");
  if (const Error error = registry().find("hipOccupancyAvailableDynamicSMemPerBlock", function, kernel)) return error;
  const KernelFacts facts = facts_of(kernel);
  *bytes = facts.shared_limit - std::min(facts.shared_bytes, facts.shared_limit);
  return Success;
}
SIMT_API int hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, void *function, int size,
                                                                         std::size_t dynamic_bytes, unsigned) {
  return hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, size, dynamic_bytes);
}
SIMT_API int hipModuleOccupancyMaxPotentialBlockSize(int *grid, int *block, const void *function, std::size_t,
                                                     int limit) {
  return block_of_module_kernel("hipModuleOccupancyMaxPotentialBlockSize", grid, block, function, limit);
}
SIMT_API int hipModuleOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, const void *function, std::size_t,
                                                              int limit, unsigned) {
  return block_of_module_kernel("hipModuleOccupancyMaxPotentialBlockSizeWithFlags", grid, block, function, limit);
}

// ---- modules and libraries

SIMT_API int hipModuleLoadFatBinary(void **module, const void *image) { return hipModuleLoadData(module, image); }
SIMT_API int hipModuleGetFunctionCount(unsigned *count, void *module) {
  if (!is_module(module) || !count)
    return fail(InvalidHandle, "hipModuleGetFunctionCount: this is not a loaded module");
  *count = static_cast<unsigned>(kernel_count(module));
  return Success;
}
SIMT_API int hipLibraryLoadData(void **library, const void *code, const void *, void **, unsigned, const void *,
                                void **, unsigned) {
  return hipModuleLoadData(library, code);
}
SIMT_API int hipLibraryLoadFromFile(void **library, const char *path, const void *, void **, unsigned, const void *,
                                    void **, unsigned) {
  return hipModuleLoad(library, path);
}
SIMT_API int hipLibraryUnload(void *library) { return hipModuleUnload(library); }
SIMT_API int hipLibraryGetKernel(const void **kernel, void *library, const char *name) {
  return hipModuleGetFunction(kernel, library, name);
}
SIMT_API int hipLibraryGetKernelCount(unsigned *count, void *library) {
  return hipModuleGetFunctionCount(count, library);
}
SIMT_API int hipLibraryGetGlobal(void **address, std::size_t *bytes, void *library, const char *name) {
  return hipModuleGetGlobal(address, bytes, library, name);
}
SIMT_API int hipKernelGetFunction(const void **function, const void *kernel) {
  if (!function || !is_kernel(kernel))
    return fail(InvalidHandle, "hipKernelGetFunction: this is not a kernel of a loaded library");
  *function = kernel;
  return Success;
}
SIMT_API int hipKernelGetName(const char **name, const void *kernel) {
  const char *const found = hipKernelNameRef(kernel);
  if (!name || !found) return fail(InvalidHandle, "hipKernelGetName: this is not a kernel of a loaded library");
  *name = found;
  return Success;
}

// ---- functions by their names

SIMT_API int hipGetProcAddress(const char *name, void **function, int, std::uint64_t, int *status) {
  if (!name || !function) return fail(InvalidValue, "hipGetProcAddress: name and output pointer must not be null");
  // HIP 6 has its properties under another name than the function that programs call.
  const std::string wanted = std::strcmp(name, "hipGetDeviceProperties") == 0 ? "hipGetDevicePropertiesR0600" : name;
  *function = wanted.starts_with("hip") ? dlsym(RTLD_DEFAULT, wanted.c_str()) : nullptr;
  if (status) *status = *function ? 0 : 1;
  return *function ? Success : fail(NotFound, "hipGetProcAddress: there is no function %s", name);
}
SIMT_API int hipGetDriverEntryPoint(const char *name, void **function, std::uint64_t flags, int *status) {
  return hipGetProcAddress(name, function, 0, flags, status);
}
