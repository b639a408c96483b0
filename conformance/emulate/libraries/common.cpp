#include "common.h"

#include <dlfcn.h>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>

namespace emulated {

void say(const char *format, ...) {
  static const char *const asked = std::getenv("HIPCPU_SAY");
  if (!asked || *asked != '1') return;
  std::array<char, 1024> text;
  std::va_list values;
  va_start(values, format);
  std::vsnprintf(text.data(), text.size(), format, values);
  va_end(values);
  static std::mutex mutex;
  static std::set<std::string> &said = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  if (said.insert(text.data()).second) std::fprintf(stderr, "candle-parity: %s\n", text.data());
}

int refuse(const char *function, int status) {
  say("%s is not emulated by candle-parity", function);
  return status;
}

bool accessible(const char *function, const char *role, const void *pointer, std::size_t bytes) {
  using Check = int (*)(const char *call, const char *role, const void *pointer, unsigned long bytes);
  static const auto check = [] {
    void *const runtime = dlopen("libamdhip64.so", RTLD_NOW | RTLD_NOLOAD);
    return runtime ? reinterpret_cast<Check>(dlsym(runtime, "hipcpuCheckRange")) : nullptr;
  }();
  return bytes == 0 || !check || check(function, role, pointer, bytes) == 0;
}

}  // namespace emulated
