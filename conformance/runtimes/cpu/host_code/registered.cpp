#include "registered.h"

namespace simt {

RegisteredCode *Registry::add(const char *bundle) {
  RegisteredCode found;
  found.error = load_library(bundle, &found.module, found.why);
  clear_last_error();  // told when a kernel of it is launched
  const std::lock_guard lock(mutex_);
  return &registered_.emplace_back(found);
}

void Registry::remove(const RegisteredCode *registered) {
  const std::lock_guard lock(mutex_);
  const auto ours = [registered](const auto &row) { return row.second.registered == registered; };
  std::erase_if(kernels_, ours);
  std::erase_if(variables_, ours);
  unload_library(registered->module);
}

void Registry::add_kernel(const RegisteredCode *registered, const void *host, const char *name) {
  const std::lock_guard lock(mutex_);
  kernels_[host] = {registered, name};
}
void Registry::add_variable(const RegisteredCode *registered, const void *host, const char *name) {
  const std::lock_guard lock(mutex_);
  variables_[host] = {registered, name};
}

const Registry::Named *Registry::named(const std::map<const void *, Named> &all, const void *host) {
  const std::lock_guard lock(mutex_);
  const auto it = all.find(host);
  return it == all.end() ? nullptr : &it->second;
}

Error Registry::check_loaded(const char *call, const Named &named) {
  const RegisteredCode &from = *named.registered;
  if (from.module && is_module(from.module)) return Success;
  const char *why = from.why.empty() ? "its library's code has been unloaded" : from.why.c_str();
  return fail(from.error ? from.error : InvalidImage, "%s: %s: %s", call, named.name.c_str(), why);
}

Error Registry::find(const char *call, const void *host, const void *&kernel) {
  const Named *found = named(kernels_, host);
  if (!found) {
    kernel = host;
    return is_kernel(host) ? Success
                           : fail(InvalidDeviceFunction, "%s: %s is not a kernel of a loaded library or module", call,
                                  pointer_text(host).c_str());
  }
  if (const Error error = check_loaded(call, *found)) return error;
  kernel = kernel_in(found->registered->module, found->name);
  return kernel
             ? Success
             : fail(InvalidDeviceFunction, "%s: the code for this device has no kernel %s", call, found->name.c_str());
}

Error Registry::find(const char *call, const void *host, Variable &variable) {
  const Named *found = named(variables_, host);
  if (!found)
    return fail(InvalidSymbol, "%s: %s is not a variable of a loaded library", call, pointer_text(host).c_str());
  if (const Error error = check_loaded(call, *found)) return error;
  return variable_in(found->registered->module, found->name, variable)
             ? Success
             : fail(InvalidSymbol, "%s: the code for this device has no variable %s", call, found->name.c_str());
}

Registry &registry() {
  static Registry &instance = *new Registry;
  return instance;
}

}  // namespace simt
