// Modules, launches, and function attributes.
#include <algorithm>

#include "api.h"
#include "hipcpu.h"
#include "launch.h"
#include "module.h"

using namespace simt;

namespace {

struct Dim3 {
  unsigned x, y, z;
};

Error find_function(const char *call, const void *handle, const Function *&function) {
  function = modules().function(handle);
  return function
             ? Success
             : fail(InvalidHandle, "%s: %s is not a function of a loaded module", call, pointer_text(handle).c_str());
}

// Of a block of the kernel.
int most_threads(const Function &function) {
  constexpr unsigned long any = SIMT_MAX_THREADS;
  return static_cast<int>(function.most_threads == 0 ? any : std::min(function.most_threads, any));
}

Error occupancy(const char *call, int *blocks, const void *function, int block_threads) {
  const Function *f;
  if (const Error error = find_function(call, function, f)) return error;
  if (!blocks || block_threads < 1 || block_threads > SIMT_MAX_THREADS)
    return fail(InvalidValue, "%s: %d threads in a block; from 1 to %d", call, block_threads, SIMT_MAX_THREADS);
  *blocks = std::max(1, 2 * SIMT_MAX_THREADS / block_threads);
  return Success;
}

}  // namespace

SIMT_API int hipModuleLoadData(void **module, const void *image) {
  return modules().load(image, reinterpret_cast<Module **>(module));
}
SIMT_API int hipModuleLoad(void **module, const char *path) {
  return modules().load_file(path, reinterpret_cast<Module **>(module));
}
SIMT_API int hipModuleUnload(void *module) {
  const auto lock = lock_launches();
  return modules().unload(static_cast<Module *>(module));
}
SIMT_API int hipModuleGetFunction(const void **function, void *module, const char *name) {
  const Module *m = modules().find(module);
  if (!m) return fail(InvalidHandle, "hipModuleGetFunction: %s is not a loaded module", pointer_text(module).c_str());
  if (!function || !name) return fail(InvalidValue, "hipModuleGetFunction: name and output pointer must not be null");
  *function = m->function(name);
  return *function ? Success : fail(NotFound, "hipModuleGetFunction: the module has no kernel '%s'", name);
}
SIMT_API int hipModuleGetFunctionCount(unsigned *count, void *module) {
  const Module *m = modules().find(module);
  if (!m || !count)
    return fail(InvalidHandle, "hipModuleGetFunctionCount: %s is not a loaded module", pointer_text(module).c_str());
  *count = static_cast<unsigned>(m->functions().size());
  return Success;
}
SIMT_API int hipModuleGetGlobal(void **address, std::size_t *bytes, void *module, const char *name) {
  Module *m = modules().find(module);
  if (!m) return fail(InvalidHandle, "hipModuleGetGlobal: %s is not a loaded module", pointer_text(module).c_str());
  if (!name) return fail(InvalidValue, "hipModuleGetGlobal: the name is null");
  return m->global(name, address, bytes);
}

SIMT_API int hipModuleLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                   unsigned bz, unsigned dynamic_bytes, void *stream, void **params, void **extra) {
  const Function *f;
  if (const Error error = find_function("hipModuleLaunchKernel", function, f)) return error;
  if (const Error error = check_stream("hipModuleLaunchKernel", stream)) return error;
  return launch(*f, {gx, gy, gz}, {bx, by, bz}, dynamic_bytes, params, extra);
}
SIMT_API int hipLaunchKernel(const void *function, Dim3 grid, Dim3 block, void **params, std::size_t dynamic_bytes,
                             void *stream) {
  const Function *f;
  if (const Error error = find_function("hipLaunchKernel", function, f)) return error;
  if (const Error error = check_stream("hipLaunchKernel", stream)) return error;
  return launch(*f, {grid.x, grid.y, grid.z}, {block.x, block.y, block.z},
                static_cast<unsigned>(std::min<std::size_t>(dynamic_bytes, ~0u)), params, nullptr);
}
SIMT_API int hipModuleLaunchCooperativeKernel(void *function, unsigned, unsigned, unsigned, unsigned, unsigned,
                                              unsigned, unsigned, void *, void **) {
  const Function *f;
  if (const Error error = find_function("hipModuleLaunchCooperativeKernel", function, f)) return error;
  return fail(NotSupported, "kernel %s: cooperative launches (grid-wide barriers) are not supported by the cpu runtime",
              f->kernel->name);
}

SIMT_API int hipFuncGetAttribute(int *value, int attribute, void *function) {
  const Function *f;
  if (const Error error = find_function("hipFuncGetAttribute", function, f)) return error;
  if (!value) return fail(InvalidValue, "hipFuncGetAttribute: the output pointer for the value is null");
  enum { MaxThreadsPerBlock = 0, SharedBytes = 1, MaxDynamicShared = 8 };
  *value = attribute == MaxThreadsPerBlock ? most_threads(*f)
           : attribute == SharedBytes      ? static_cast<int>(f->static_shared_bytes())
           : attribute == MaxDynamicShared ? SIMT_MAX_DYNAMIC_SHARED
                                           : 0;
  return Success;
}
SIMT_API int hipFuncSetAttribute(const void *function, int, int) {
  const Function *f;
  return find_function("hipFuncSetAttribute", function, f);
}
SIMT_API int hipFuncSetCacheConfig(const void *function, int) {
  const Function *f;
  return find_function("hipFuncSetCacheConfig", function, f);
}
SIMT_API int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads, std::size_t) {
  return occupancy("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", blocks, function, threads);
}
SIMT_API int hipModuleOccupancyMaxPotentialBlockSize(int *grid, int *block, void *function, std::size_t, int limit) {
  const Function *f;
  if (const Error error = find_function("hipModuleOccupancyMaxPotentialBlockSize", function, f)) return error;
  if (grid) *grid = 1;
  if (block) *block = limit > 0 ? std::min(limit, most_threads(*f)) : most_threads(*f);
  return Success;
}

SIMT_API const char *hipcpuModuleKernels(void *module) {
  const Module *m = modules().find(module);
  if (m) return m->kernels_json();
  fail(InvalidHandle, "hipcpuModuleKernels: %s is not a loaded module", pointer_text(module).c_str());
  return nullptr;
}
SIMT_API void hipcpuModuleLoads(unsigned long *total, unsigned long *duplicates) {
  modules().counts(total, duplicates);
}
