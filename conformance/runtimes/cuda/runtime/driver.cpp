#include "driver.h"

#include <dlfcn.h>

#include <cstdlib>

#include "error.h"

namespace cuda {
namespace {

constexpr char library_name[] = "libcuda.so.1";
constexpr char library_variable[] = "CANDLE_PARITY_LIBCUDA";  // another path to the library

Opened failed(int code, std::string why) { return Opened{nullptr, code, std::move(why)}; }

// Resolves every function; returns the name of the first required one that is missing, else null.
const char *resolve(void *library, Driver &cu) {
  const char *missing = nullptr;
#define CALL(name, parameters)                                          \
  cu.name = reinterpret_cast<decltype(cu.name)>(dlsym(library, #name)); \
  if (cu.name == nullptr && missing == nullptr) missing = #name;
#define LATER(name, parameters) cu.name = reinterpret_cast<decltype(cu.name)>(dlsym(library, #name));
#include "driver.inc"
#undef CALL
#undef LATER
  return missing;
}

Opened open() {
  const char *chosen = std::getenv(library_variable);
  const char *path = chosen != nullptr && *chosen != '\0' ? chosen : library_name;
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char *reason = dlerror();
    return failed(simt::NoDevice, "NVIDIA's driver library " + std::string(path) + " cannot be opened (" +
                                      (reason != nullptr ? reason : "no reason given") +
                                      "); install NVIDIA's driver, or name its library in " + library_variable);
  }
  static Driver cu;
  const char *missing = resolve(library, cu);
  const auto get_version = reinterpret_cast<int (*)(int *)>(dlsym(library, "cuDriverGetVersion"));
  if (get_version == nullptr || get_version(&cu.version) != 0) cu.version = 0;
  if (cu.version < oldest_driver)
    return failed(simt::InsufficientDriver, "NVIDIA's driver (" + std::string(path) + ") is for CUDA " +
                                                version_text(cu.version) + "; CUDA " + version_text(oldest_driver) +
                                                " or newer is needed: update the driver");
  if (missing != nullptr)
    return failed(simt::InsufficientDriver, std::string(path) + " reports CUDA " + version_text(cu.version) +
                                                " and has no function " + missing + ": reinstall NVIDIA's driver");
  const int result = cu.cuInit(0);
  if (result != 0)
    return failed(simt::NoDevice,
                  "NVIDIA's driver found no GPU that it can use: cuInit returned " + error_text(cu, result));
  return Opened{&cu, simt::Success, ""};
}

}  // namespace

const Opened &open_driver() {
  static const Opened &opened = *new Opened(open());
  return opened;
}

std::string error_text(const Driver &cu, int result) {
  const char *name = nullptr, *text = nullptr;
  if (cu.cuGetErrorName(result, &name) != 0 || name == nullptr) return "CUDA error " + std::to_string(result);
  if (cu.cuGetErrorString(result, &text) != 0 || text == nullptr) return name;
  return std::string(name) + ", " + text;
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace cuda
