#include "symbols.h"

#include <dlfcn.h>

#include <cstring>

namespace capture {
namespace {

using Lookup = void *(*)(void *, const char *);

// glibc's own dlsym, whose version depends on the release.
Lookup real_dlsym() {
  static const Lookup found = [] {
    void *newer = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    return reinterpret_cast<Lookup>(newer ? newer : dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"));
  }();
  return found;
}

}  // namespace

void *Hook::real() {
  if (void *known = real_.load()) return known;
  void *found = real_dlsym()(RTLD_NEXT, name_);
  // The program has loaded the library itself, and has found others of its functions.
  for (const std::span<Hook> hooks : {hip_hooks(), cuda_hooks()})
    for (Hook &hook : hooks)
      if (!found && hook.real_.load()) found = neighbour(hook.real_.load(), name_);
  if (found) real_.store(found);
  return found;
}

Hook *hook_named(const char *name) {
  for (const std::span<Hook> hooks : {hip_hooks(), cuda_hooks()})
    for (Hook &hook : hooks)
      if (std::strcmp(hook.name(), name) == 0) return &hook;
  return nullptr;
}

void *neighbour(void *of, const char *name) {
  Dl_info info{};
  if (!of || !dladdr(of, &info) || !info.dli_fname) return nullptr;
  void *library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return nullptr;
  void *found = real_dlsym()(library, name);
  dlclose(library);  // it was loaded before, and stays
  return found;
}

void *in_front(const char *name, void *found) {
  const bool may_be = name && (std::strncmp(name, "hip", 3) == 0 || std::strncmp(name, "__hip", 5) == 0 ||
                               std::strncmp(name, "cu", 2) == 0);
  Hook *hook = may_be && found ? hook_named(name) : nullptr;
  if (!hook) return found;
  if (found != hook->ours()) hook->set_real(found);
  return hook->ours();
}

}  // namespace capture

// Programs that load libamdhip64 or libcuda themselves ask here. The pseudo-handles depend on who asks, so that these
// calls are passed on as they are, by a jump; they find our functions anyway, for this library is loaded first.
CAPTURE_API void *dlsym(void *__restrict handle, const char *__restrict name) noexcept {
  const auto real = capture::real_dlsym();
  if (handle == RTLD_NEXT || handle == RTLD_DEFAULT) return real(handle, name);
  return capture::in_front(name, real(handle, name));
}
