// The device and the options of the cpu runtime.
#include "api.h"
#include "hipcpu.h"
#include "host_device.h"
#include "launch.h"
#include "module.h"
#include "options.h"
#include "worker.h"

namespace simt {

HostDevice host_device() { return {"candle-parity cpu runtime", "x86_64-simt", static_cast<int>(options().wave())}; }

void unload_all_modules() { modules().unload_all(); }

}  // namespace simt

using namespace simt;

SIMT_API int hipcpuSetOption(const char *key, const char *value) {
  const auto lock = lock_launches();
  return options().set(key, value);
}
SIMT_API const char *hipcpuGetOption(const char *key) {
  static thread_local std::string value;
  if (options().get(key, value)) return value.c_str();
  fail(InvalidValue, "unknown option '%s'", key ? key : "(null)");
  return nullptr;
}
SIMT_API const char *hipcpuOptions() {
  static thread_local std::string text;
  text = options().json();
  return text.c_str();
}
SIMT_API int hipcpuOrderMatters() { return order_matters(); }
SIMT_API const char *hipcpuMisaligned() {
  static thread_local std::string text;
  text = take_misaligned();
  return text.empty() ? nullptr : text.c_str();
}
SIMT_API const char *hipcpuLastMessage() { return last_message(); }
