#include "modules.h"

#include <string>

#include "host_device.h"

namespace simt {

Error not_loaded(const char *call, Error error) {
  if (error != NoBinaryForGpu) return fail(error, "%s: %s", call, std::string(last_message()).c_str());
  return fail(error,
              "%s: the code is machine code of AMD GPUs, and here kernels run as code of the host: build it with "
              "this installation's hipcc or hiprtc, or have it interpreted by candle-parity emulate --runtime isa",
              call);
}

Error ProgramModules::keep(const char *call, Error error, Module *loaded, void **module) {
  if (error) return not_loaded(call, error);
  const std::lock_guard lock(mutex_);
  loaded_.insert(loaded);
  *module = loaded;
  return Success;
}

Error ProgramModules::load(const char *call, const void *image, void **module) {
  Module *loaded = nullptr;
  if (!image || !module) return fail(InvalidValue, "%s: image and output pointer must not be null", call);
  return keep(call, modules().load(image, &loaded), loaded, module);
}

Error ProgramModules::load_file(const char *call, const char *path, void **module) {
  Module *loaded = nullptr;
  if (!path || !module) return fail(InvalidValue, "%s: path and output pointer must not be null", call);
  return keep(call, modules().load_file(path, &loaded), loaded, module);
}

Error ProgramModules::unload(const char *call, void *module) {
  const std::lock_guard lock(mutex_);
  const auto it = loaded_.find(static_cast<Module *>(module));
  if (it == loaded_.end())
    return fail(InvalidHandle, "%s: %s is not a loaded module", call, pointer_text(module).c_str());
  const Error error = modules().unload(*it);
  loaded_.erase(it);
  return error;
}

void ProgramModules::unload_all() {
  const std::lock_guard lock(mutex_);
  for (Module *module : loaded_) modules().unload(module);
  loaded_.clear();
}

ProgramModules &program_modules() {
  static ProgramModules &instance = *new ProgramModules;
  return instance;
}

}  // namespace simt
