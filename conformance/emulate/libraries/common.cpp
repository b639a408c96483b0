#include "common.h"

#include <dlfcn.h>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <memory>
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

namespace {

// A function of the libamdhip64 that is loaded; null where there is none, or one without the function.
template <class Function>
Function *of_runtime(const char *name) {
  void *const runtime = dlopen("libamdhip64.so", RTLD_NOW | RTLD_NOLOAD);
  return runtime ? reinterpret_cast<Function *>(dlsym(runtime, name)) : nullptr;
}

}  // namespace

bool is_captured(void *stream) {
  static const auto ask = of_runtime<int(void *, int *)>("hipStreamIsCapturing");
  int captured = 0;
  return stream && ask && ask(stream, &captured) == 0 && captured;
}

bool kept_for_graph(const char *function, void *stream, const std::function<bool()> &work) {
  using Work = std::function<bool()>;
  static const auto keep =
      of_runtime<int(const char *, void *, int (*)(void *), void (*)(void *), void *)>("hipcpuKeepForGraph");
  if (!stream || !keep) return false;
  auto copy = std::make_unique<Work>(work);
  const bool kept = keep(
                        function, stream, [](void *data) { return static_cast<int>((*static_cast<Work *>(data))()); },
                        [](void *data) { delete static_cast<Work *>(data); }, copy.get()) != 0;
  if (kept) static_cast<void>(copy.release());  // the graph's
  return kept;
}

bool accessible(const char *function, const char *role, const void *pointer, std::size_t bytes) {
  static const auto check =
      of_runtime<int(const char *call, const char *role, const void *pointer, unsigned long bytes)>("hipcpuCheckRange");
  return bytes == 0 || !check || check(function, role, pointer, bytes) == 0;
}

bool all_accessible(const char *function, const char *role, const void *pointer, std::size_t bytes,
                    std::int64_t batches, std::int64_t stride) {
  if (bytes == 0 || batches == 0) return true;
  const std::int64_t last = (batches - 1) * stride;
  const char *const lowest = static_cast<const char *>(pointer) + (last < 0 ? last : 0);
  return accessible(function, role, lowest, static_cast<std::size_t>(last < 0 ? -last : last) + bytes);
}

}  // namespace emulated
