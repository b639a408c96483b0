// Modules, launches and function attributes of the HIP API.
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>

#include "api.h"
#include "bundles.h"
#include "hipisa.h"
#include "host_device.h"
#include "kernels.h"
#include "launch.h"
#include "loaded.h"
#include "sandbox.h"

using namespace simt;

namespace {

// What can be read of `bytes` bytes at `from`: the kernel copies them, so that what is not mapped costs no fault.
std::string readable(const void *from, std::size_t bytes) {
  constexpr std::size_t step = 1 << 20;
  std::string found;
  while (found.size() < bytes) {
    const std::size_t wanted = std::min(step, bytes - found.size()), at = found.size();
    found.resize(at + wanted);
    iovec to{found.data() + at, wanted}, source{static_cast<char *>(const_cast<void *>(from)) + at, wanted};
    const bool asks = !is_confined();  // our sandbox forbids it, as others may
    const ssize_t got = asks ? process_vm_readv(getpid(), &to, 1, &source, 1, 0) : -1;
    if (!asks || (got < 0 && (errno == ENOSYS || errno == EPERM)))
      std::memcpy(to.iov_base, source.iov_base, wanted);
    else if (got != static_cast<ssize_t>(wanted)) {
      found.resize(at + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
      break;
    }
  }
  return found;
}

// Loads `image`, the whole of a file or the start of an image in memory, which is a code object or a bundle of some.
// `bytes` are those of a file.
Error load_image(const char *call, const char *image, std::string file, void **module,
                 std::size_t bytes = ~std::size_t{0}) {
  if (isa::is_bundle(file)) {
    std::string code, why;
    if (const Error error = isa::code_in_bundle(image, host_device().architecture, code, why, bytes))
      return fail(error, "%s: %s", call, why.c_str());
    file = std::move(code);
  }
  return isa::loaded().load(file, module);
}

// An ELF file in memory, as long as its own headers say: hipModuleLoadData is not told its size. Of anything else its
// first bytes.
std::string file_at(const void *image) {
  constexpr isa::u64 largest = isa::u64{1} << 30;
  const std::string head = readable(image, 64);
  if (head.size() < 64 || !head.starts_with("\x7f"
                                            "ELF"))
    return head;
  const auto end = isa::load_as<isa::u64>(head.data() + 40);
  const std::size_t table =
      std::size_t{isa::load_as<isa::u16>(head.data() + 58)} * isa::load_as<isa::u16>(head.data() + 60);
  return readable(image, std::min(largest, std::min(end, largest) + table));
}

Error find_kernel(const char *call, const void *handle, const isa::Kernel *&kernel) {
  kernel = isa::loaded().kernel(handle);
  return kernel
             ? Success
             : fail(InvalidHandle, "%s: %s is not a function of a loaded module", call, pointer_text(handle).c_str());
}

Error no_module(const char *call, const void *module) {
  return fail(InvalidHandle, "%s: %s is not a loaded module", call, pointer_text(module).c_str());
}

}  // namespace

namespace simt {
void unload_all_modules() { isa::loaded().unload_all(); }
}  // namespace simt

SIMT_API int hipModuleLoadData(void **module, const void *image) {
  if (!image || !module) return fail(InvalidValue, "hipModuleLoadData: image and output pointer must not be null");
  return load_image("hipModuleLoadData", static_cast<const char *>(image), file_at(image), module);
}
SIMT_API int hipModuleLoadDataEx(void **module, const void *image, unsigned, void *, void **) {
  return hipModuleLoadData(module, image);
}
SIMT_API int hipModuleLoad(void **module, const char *path) {
  std::ifstream file(path ? path : "", std::ios::binary);
  if (!file) return fail(FileNotFound, "hipModuleLoad: %s cannot be read", path ? path : "(null)");
  if (!module) return fail(InvalidValue, "hipModuleLoad: the output pointer must not be null");
  const std::string content(std::istreambuf_iterator<char>(file), {});
  return load_image("hipModuleLoad", content.data(), content, module, content.size());
}
SIMT_API int hipModuleUnload(void *module) {
  const auto lock = lock_launches();
  return isa::loaded().unload(module) ? Success : no_module("hipModuleUnload", module);
}
SIMT_API int hipModuleGetFunction(const void **function, void *module, const char *name) {
  const isa::Object *object = isa::loaded().find(module);
  if (!object) return no_module("hipModuleGetFunction", module);
  if (!function || !name) return fail(InvalidValue, "hipModuleGetFunction: name and output pointer must not be null");
  const auto found = object->kernels().find(std::string_view(name));
  if (found == object->kernels().end())
    return fail(NotFound, "hipModuleGetFunction: the module has no kernel '%s'", name);
  *function = &found->second;
  return Success;
}
SIMT_API int hipModuleGetGlobal(void **address, std::size_t *bytes, void *module, const char *name) {
  const isa::Object *object = isa::loaded().find(module);
  if (!object) return no_module("hipModuleGetGlobal", module);
  if (!name) return fail(InvalidValue, "hipModuleGetGlobal: the name is null");
  const auto found = object->globals().find(std::string_view(name));
  if (found == object->globals().end())
    return fail(NotFound, "hipModuleGetGlobal: the module has no variable '%s'", name);
  if (address) *address = reinterpret_cast<void *>(found->second.begin);
  if (bytes) *bytes = found->second.end - found->second.begin;
  return Success;
}

SIMT_API int hipModuleLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                   unsigned bz, unsigned dynamic_bytes, void *stream, void **params, void **extra) {
  const isa::Kernel *kernel;
  if (const Error error = find_kernel("hipModuleLaunchKernel", function, kernel)) return error;
  if (const Error error = check_stream("hipModuleLaunchKernel", stream)) return error;
  const Error error = launch_on(stream, kernel, {gx, gy, gz}, {bx, by, bz}, dynamic_bytes, params, extra);
  note_fault(error);
  return error;
}

SIMT_API const char *hipKernelNameRef(const void *function) {
  const isa::Kernel *kernel = isa::loaded().kernel(function);
  return kernel ? kernel->name.c_str() : nullptr;
}
SIMT_API int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int, std::size_t) {
  const isa::Kernel *kernel;
  if (const Error error = find_kernel("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", function, kernel))
    return error;
  if (blocks) *blocks = 1;
  return Success;
}
