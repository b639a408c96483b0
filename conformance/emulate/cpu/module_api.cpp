// Modules and their launches, of code of the host.
#include "api.h"
#include "kernels.h"
#include "launch.h"
#include "modules.h"

using namespace simt;

namespace {

Error find_module(const char *call, const void *handle) {
  return is_module(handle) ? Success
                           : fail(InvalidHandle, "%s: %s is not a loaded module", call, pointer_text(handle).c_str());
}
Error find_kernel(const char *call, const void *handle) {
  return is_kernel(handle)
             ? Success
             : fail(InvalidHandle, "%s: %s is not a function of a loaded module", call, pointer_text(handle).c_str());
}

}  // namespace

SIMT_API int hipModuleLoadData(void **module, const void *image) {
  return program_modules().load("hipModuleLoadData", image, module);
}
SIMT_API int hipModuleLoadDataEx(void **module, const void *image, unsigned, void *, void **) {
  return program_modules().load("hipModuleLoadDataEx", image, module);
}
SIMT_API int hipModuleLoad(void **module, const char *path) {
  return program_modules().load_file("hipModuleLoad", path, module);
}
SIMT_API int hipModuleUnload(void *module) {
  const auto lock = lock_launches();
  return program_modules().unload("hipModuleUnload", module);
}
SIMT_API int hipModuleGetFunction(const void **function, void *module, const char *name) {
  if (const Error error = find_module("hipModuleGetFunction", module)) return error;
  if (!function || !name) return fail(InvalidValue, "hipModuleGetFunction: name and output pointer must not be null");
  *function = kernel_in(module, name);
  return *function ? Success : fail(NotFound, "hipModuleGetFunction: the module has no kernel '%s'", name);
}
SIMT_API int hipModuleGetGlobal(void **address, std::size_t *bytes, void *module, const char *name) {
  Variable found;
  if (const Error error = find_module("hipModuleGetGlobal", module)) return error;
  if (!name) return fail(InvalidValue, "hipModuleGetGlobal: the name is null");
  if (!variable_in(module, name, found))
    return fail(NotFound, "hipModuleGetGlobal: the module has no variable '%s'", name);
  if (address) *address = found.address;
  if (bytes) *bytes = found.bytes;
  return Success;
}

SIMT_API int hipModuleLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                   unsigned bz, unsigned dynamic_bytes, void *stream, void **params, void **extra) {
  if (const Error error = find_kernel("hipModuleLaunchKernel", function)) return error;
  if (const Error error = check_stream("hipModuleLaunchKernel", stream)) return error;
  const Error error = launch_on(stream, function, {gx, gy, gz}, {bx, by, bz}, dynamic_bytes, params, extra);
  note_fault(error);
  return error;
}

SIMT_API const char *hipKernelNameRef(const void *function) {
  const Function *const found = modules().function(function);
  return found ? found->kernel->name : nullptr;
}
SIMT_API int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int, std::size_t) {
  if (const Error error = find_kernel("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", function)) return error;
  if (blocks) *blocks = 1;
  return Success;
}
