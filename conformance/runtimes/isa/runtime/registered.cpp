#include "registered.h"

#include "bundles.h"
#include "host_device.h"

namespace isa {

using simt::fail;

Registered *Registry::add(const char *bundle) {
  Registered found;
  const std::string processor = simt::host_device().architecture;
  std::string code;
  found.error = code_in_bundle(bundle, processor, code, found.why);
  if (!found.error) {
    found.error = loaded().load(code, &found.module);
    if (found.error)
      found.why = simt::last_message();
    else
      loaded().keep(found.module);
    // What the interpreter does not know is nobody's mistake.
    if (found.error == simt::NoBinaryForGpu) found.error = simt::NotSupported;
  }
  simt::clear_last_error();  // told when a kernel of it is launched
  const std::lock_guard lock(mutex_);
  return &registered_.emplace_back(found);
}

void Registry::remove(const Registered *registered) {
  const std::lock_guard lock(mutex_);
  const auto ours = [registered](const auto &row) { return row.second.registered == registered; };
  std::erase_if(kernels_, ours);
  std::erase_if(variables_, ours);
  loaded().unload(registered->module);
}

void Registry::add_kernel(const Registered *registered, const void *host, const char *name) {
  const std::lock_guard lock(mutex_);
  kernels_[host] = {registered, name};
}
void Registry::add_variable(const Registered *registered, const void *host, const char *name) {
  const std::lock_guard lock(mutex_);
  variables_[host] = {registered, name};
}

const Registry::Named *Registry::named(const std::map<const void *, Named> &all, const void *host) {
  const std::lock_guard lock(mutex_);
  const auto it = all.find(host);
  return it == all.end() ? nullptr : &it->second;
}

simt::Error Registry::object_of(const char *call, const Named &named, Object *&object) {
  const Registered &from = *named.registered;
  object = from.module ? loaded().find(from.module) : nullptr;
  if (object) return simt::Success;
  const char *why = from.why.empty() ? "its library's code has been unloaded" : from.why.c_str();
  return fail(from.error ? from.error : simt::InvalidImage, "%s: %s: %s", call, named.name.c_str(), why);
}

simt::Error Registry::find(const char *call, const void *host, const Kernel *&kernel) {
  const Named *found = named(kernels_, host);
  if (!found) {
    kernel = loaded().kernel(host);
    return kernel ? simt::Success
                  : fail(simt::InvalidDeviceFunction, "%s: %s is not a kernel of a loaded library or module", call,
                         simt::pointer_text(host).c_str());
  }
  Object *object;
  if (const simt::Error error = object_of(call, *found, object)) return error;
  const auto it = object->kernels().find(found->name);
  if (it == object->kernels().end())
    return fail(simt::InvalidDeviceFunction, "%s: the code for this device has no kernel %s", call,
                found->name.c_str());
  kernel = &it->second;
  return simt::Success;
}

simt::Error Registry::find(const char *call, const void *host, Window &variable) {
  const Named *found = named(variables_, host);
  if (!found)
    return fail(simt::InvalidSymbol, "%s: %s is not a variable of a loaded library", call,
                simt::pointer_text(host).c_str());
  Object *object;
  if (const simt::Error error = object_of(call, *found, object)) return error;
  const auto it = object->globals().find(found->name);
  if (it == object->globals().end())
    return fail(simt::InvalidSymbol, "%s: the code for this device has no variable %s", call, found->name.c_str());
  variable = it->second;
  return simt::Success;
}

Registry &registry() {
  static Registry &instance = *new Registry;
  return instance;
}

}  // namespace isa
