// Modules, launches and function attributes of the HIP API.
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <set>

#include "api.h"
#include "dispatch.h"
#include "hipisa.h"
#include "host_device.h"
#include "launch.h"
#include "memory.h"

using namespace simt;

namespace {

struct Dim3 {
  unsigned x, y, z;
};

class Loaded {
 public:
  template <class Read>
  Error load(Read read, void **out) {
    try {
      auto object = std::make_unique<isa::Object>(read());
      const std::lock_guard lock(mutex_);
      for (const auto &[name, kernel] : object->kernels()) kernels_.insert(&kernel);
      for (const auto &[name, window] : object->globals())
        memory().add_global(reinterpret_cast<const void *>(window.begin), window.end - window.begin, name);
      *out = object.get();
      objects_.emplace(object.get(), std::move(object));
      return Success;
    } catch (const isa::Fault &fault) {
      return fail(fault.kind == isa::Fault::Unknown ? NoBinaryForGpu : InvalidImage, "the code object %s%s",
                  fault.kind == isa::Fault::Unknown ? "cannot be interpreted: the interpreter does not know " : "",
                  fault.what());
    } catch (const std::bad_alloc &) {
      return fail(OutOfMemory, "the code object does not fit the memory");
    } catch (const std::exception &error) {
      return fail(InvalidImage, "the code object cannot be read: %s", error.what());
    }
  }
  isa::Object *find(const void *handle) {
    const std::lock_guard lock(mutex_);
    const auto it = objects_.find(handle);
    return it == objects_.end() ? nullptr : it->second.get();
  }
  const isa::Kernel *kernel(const void *handle) {
    const std::lock_guard lock(mutex_);
    const auto it = kernels_.find(handle);
    return it == kernels_.end() ? nullptr : static_cast<const isa::Kernel *>(*it);
  }
  bool unload(const void *handle) {
    const std::lock_guard lock(mutex_);
    const auto it = objects_.find(handle);
    if (it == objects_.end()) return false;
    forget(*it->second);
    objects_.erase(it);
    return true;
  }
  void unload_all() {
    const std::lock_guard lock(mutex_);
    for (const auto &[handle, object] : objects_) forget(*object);
    objects_.clear();
  }

 private:
  void forget(const isa::Object &object) {
    std::vector<const void *> bases;
    for (const auto &[name, kernel] : object.kernels()) kernels_.erase(&kernel);
    for (const auto &[name, window] : object.globals()) bases.push_back(reinterpret_cast<const void *>(window.begin));
    memory().remove_globals(bases);
  }

  std::mutex mutex_;
  std::map<const void *, std::unique_ptr<isa::Object>> objects_;
  std::set<const void *> kernels_;
};

Loaded &loaded() {
  static Loaded &instance = *new Loaded;
  return instance;
}

// What can be read of `bytes` bytes at `from`: the kernel copies them, so that what is not mapped costs no fault.
std::string readable(const void *from, std::size_t bytes) {
  constexpr std::size_t step = 1 << 20;
  std::string found;
  while (found.size() < bytes) {
    const std::size_t wanted = std::min(step, bytes - found.size()), at = found.size();
    found.resize(at + wanted);
    iovec to{found.data() + at, wanted}, source{static_cast<char *>(const_cast<void *>(from)) + at, wanted};
    const ssize_t got = process_vm_readv(getpid(), &to, 1, &source, 1, 0);
    if (got < 0 && (errno == ENOSYS || errno == EPERM))  // a sandbox forbids it
      std::memcpy(to.iov_base, source.iov_base, wanted);
    else if (got != static_cast<ssize_t>(wanted)) {
      found.resize(at + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
      break;
    }
  }
  return found;
}

// An ELF file in memory, as long as its own headers say: hipModuleLoadData is not told its size.
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
  kernel = loaded().kernel(handle);
  return kernel
             ? Success
             : fail(InvalidHandle, "%s: %s is not a function of a loaded module", call, pointer_text(handle).c_str());
}

Error no_module(const char *call, const void *module) {
  return fail(InvalidHandle, "%s: %s is not a loaded module", call, pointer_text(module).c_str());
}

}  // namespace

namespace simt {
void unload_all_modules() { loaded().unload_all(); }
}  // namespace simt

SIMT_API int hipModuleLoadData(void **module, const void *image) {
  if (!image || !module) return fail(InvalidValue, "hipModuleLoadData: image and output pointer must not be null");
  return loaded().load([image] { return file_at(image); }, module);
}
SIMT_API int hipModuleLoadDataEx(void **module, const void *image, unsigned, void *, void **) {
  return hipModuleLoadData(module, image);
}
SIMT_API int hipModuleLoad(void **module, const char *path) {
  std::ifstream file(path ? path : "", std::ios::binary);
  if (!file) return fail(FileNotFound, "hipModuleLoad: %s cannot be read", path ? path : "(null)");
  if (!module) return fail(InvalidValue, "hipModuleLoad: the output pointer must not be null");
  return loaded().load([&file] { return std::string{std::istreambuf_iterator<char>(file), {}}; }, module);
}
SIMT_API int hipModuleUnload(void *module) {
  const auto lock = lock_launches();
  return loaded().unload(module) ? Success : no_module("hipModuleUnload", module);
}
SIMT_API int hipModuleGetFunction(const void **function, void *module, const char *name) {
  const isa::Object *object = loaded().find(module);
  if (!object) return no_module("hipModuleGetFunction", module);
  if (!function || !name) return fail(InvalidValue, "hipModuleGetFunction: name and output pointer must not be null");
  const auto found = object->kernels().find(std::string_view(name));
  if (found == object->kernels().end())
    return fail(NotFound, "hipModuleGetFunction: the module has no kernel '%s'", name);
  *function = &found->second;
  return Success;
}
SIMT_API int hipModuleGetGlobal(void **address, std::size_t *bytes, void *module, const char *name) {
  const isa::Object *object = loaded().find(module);
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
  return isa::launch(*kernel, {gx, gy, gz}, {bx, by, bz}, dynamic_bytes, params, extra);
}
SIMT_API int hipLaunchKernel(const void *function, Dim3 grid, Dim3 block, void **params, std::size_t dynamic_bytes,
                             void *stream) {
  const isa::Kernel *kernel;
  if (const Error error = find_kernel("hipLaunchKernel", function, kernel)) return error;
  if (const Error error = check_stream("hipLaunchKernel", stream)) return error;
  return isa::launch(*kernel, {grid.x, grid.y, grid.z}, {block.x, block.y, block.z},
                     static_cast<unsigned>(std::min<std::size_t>(dynamic_bytes, ~0u)), params, nullptr);
}

SIMT_API int hipFuncGetAttribute(int *value, int attribute, void *function) {
  const isa::Kernel *kernel;
  if (const Error error = find_kernel("hipFuncGetAttribute", function, kernel)) return error;
  if (!value) return fail(InvalidValue, "hipFuncGetAttribute: the output pointer for the value is null");
  enum { MaxThreadsPerBlock = 0, SharedBytes = 1, LocalBytes = 3, Registers = 4, MaxDynamicShared = 8 };
  const unsigned found = attribute == MaxThreadsPerBlock ? kernel->most_threads
                         : attribute == SharedBytes      ? kernel->lds_bytes
                         : attribute == LocalBytes       ? kernel->scratch_bytes
                         : attribute == Registers        ? kernel->vgprs()
                         : attribute == MaxDynamicShared
                             ? kernel->object->lds_limit() - std::min(kernel->lds_bytes, kernel->object->lds_limit())
                             : 0;
  *value = static_cast<int>(found);
  return Success;
}
SIMT_API int hipFuncSetAttribute(const void *function, int, int) {
  const isa::Kernel *kernel;
  return find_kernel("hipFuncSetAttribute", function, kernel);
}
SIMT_API const char *hipKernelNameRef(const void *function) {
  const isa::Kernel *kernel = loaded().kernel(function);
  return kernel ? kernel->name.c_str() : nullptr;
}
SIMT_API int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int, std::size_t) {
  const isa::Kernel *kernel;
  if (const Error error = find_kernel("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", function, kernel))
    return error;
  if (blocks) *blocks = 1;
  return Success;
}
