// What host code that is compiled with its kernels calls (simt/host.h), and whoever calls that code.
#include <algorithm>

#include "api.h"
#include "hipcpu.h"
#include "launch.h"
#include "module.h"

using namespace simt;

SIMT_API int hipcpuLaunch(const simt_kernel *rows, const simt_kernel *row, simt_index grid, simt_index block,
                          unsigned long shared, void *stream, void **arguments) {
  const Function *f = modules().launched(rows, row);
  if (!f) return fail(InvalidDeviceFunction, "kernel %s: its module is not loaded", row->name);
  if (const Error error = check_stream(row->name, stream)) return error;
  const auto bytes = static_cast<unsigned>(std::min<std::size_t>(shared, ~0u));
  const Error error = launch(*f, grid, block, bytes, arguments, nullptr);
  note_fault(error);
  return error;
}
SIMT_API int hipcpuSetKernelAttribute(const void *kernel, int attribute, int value) {
  enum { MaxDynamicShared = 8, Carveout = 9 };
  if (!kernel) return fail(InvalidDeviceFunction, "hipFuncSetAttribute: the kernel is null");
  const bool fits = attribute == MaxDynamicShared ? value >= 0 && value <= SIMT_MAX_DYNAMIC_SHARED
                                                  : attribute == Carveout && value >= -1 && value <= 100;
  return fits ? Success
              : fail(InvalidValue, "hipFuncSetAttribute: attribute %d cannot be %d; a block has at most %d bytes",
                     attribute, value, SIMT_MAX_DYNAMIC_SHARED);
}
SIMT_API void *hipcpuModuleSymbol(void *module, const char *name) {
  const Module *m = modules().find(module);
  return m && name ? m->symbol(name) : nullptr;
}
