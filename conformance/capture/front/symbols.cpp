#include "symbols.h"

#include <dlfcn.h>
#include <link.h>

#include <cstring>
#include <string>
#include <vector>

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

// The files of everything that is loaded, in the order of loading; the program itself has an empty name.
std::vector<std::string> loaded_files() {
  std::vector<std::string> files;
  const auto add = [](dl_phdr_info *info, std::size_t, void *to) {
    if (info->dlpi_name && *info->dlpi_name) static_cast<std::vector<std::string> *>(to)->emplace_back(info->dlpi_name);
    return 0;
  };
  dl_iterate_phdr(add, &files);
  return files;
}

// The function `name` of the file, which is loaded, or of a library that it needs; null where there is none.
void *function_of(const char *file, const char *name) {
  void *library = dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return nullptr;
  void *found = real_dlsym()(library, name);
  dlclose(library);  // it was loaded before, and stays
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
  // It came with a library that was loaded for itself (RTLD_LOCAL), such as an extension of Python: RTLD_NEXT does not
  // look there, though the calls of that library find us.
  if (!found)
    for (const std::string &file : loaded_files()) {
      void *other = function_of(file.c_str(), name_);
      if (other && other != ours_) found = other;
      if (found) break;
    }
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
  return of && dladdr(of, &info) && info.dli_fname ? function_of(info.dli_fname, name) : nullptr;
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

// A call that becomes a jump, so that the function called sees our caller as its own. Of compilers without the
// attribute g++ makes a jump of it wherever it optimizes.
#if __has_cpp_attribute(clang::musttail)
#define CAPTURE_JUMP [[clang::musttail]] return
#else
#define CAPTURE_JUMP return
#endif

// Programs that load libamdhip64 or libcuda themselves ask here. What the pseudo-handles mean depends on who asks: with
// a call from here, another library that wraps a function would find its own again in place of the next one. They find
// our functions anyway, for this library is loaded first.
// The function is exported as dlsym. Of the name in dlfcn.h clang makes no jump, for that is noexcept.
CAPTURE_API void *dlsym_in_front(void *handle, const char *name) __asm__("dlsym");
CAPTURE_API void *dlsym_in_front(void *handle, const char *name) {
  if (handle == RTLD_NEXT || handle == RTLD_DEFAULT) CAPTURE_JUMP capture::real_dlsym()(handle, name);
  return capture::in_front(name, capture::real_dlsym()(handle, name));
}
