#include "compiler.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "../runtime/driver.h"

namespace nvrtc {
namespace {

constexpr int oldest_major = 12;  // C++20, and every GPU since Maxwell
constexpr const char *default_names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};

std::vector<std::string> split(const char *variable) {
  const char *value = std::getenv(variable);
  std::vector<std::string> parts;
  std::istringstream stream(value != nullptr ? value : "");
  for (std::string part; std::getline(stream, part, ':');)
    if (!part.empty()) parts.push_back(part);
  return parts;
}

std::vector<std::string> candidates() {
  std::vector<std::string> chosen = split("CANDLE_PARITY_NVRTC");
  if (chosen.empty()) chosen = split("HIPCUDA_NVRTC");
  if (chosen.empty()) chosen.assign(std::begin(default_names), std::end(default_names));
  return chosen;
}

// NVRTC loads its second library by file name alone, which the loader may not find: it is loaded beforehand.
void load_builtins(const std::string &path) {
  if (path.find('/') == std::string::npos) return;
  std::error_code ignored;
  for (const auto &entry : std::filesystem::directory_iterator(std::filesystem::path(path).parent_path(), ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("libnvrtc-builtins.so.", 0) == 0) dlopen(entry.path().c_str(), RTLD_NOW | RTLD_GLOBAL);
  }
}

// Opens `path`; on failure `why` holds the reason.
bool open(const std::string &path, Compiler &compiler, std::string &why) {
  load_builtins(path);
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char *reason = dlerror();
    why = reason != nullptr ? reason : path + ": cannot be opened";
    return false;
  }
#define FUNCTION(result, name, parameters)                                          \
  compiler.name = reinterpret_cast<decltype(compiler.name)>(dlsym(library, #name)); \
  if (compiler.name == nullptr) {                                                   \
    why = path + ": has no function " #name;                                        \
    return false;                                                                   \
  }
#include "nvrtc.inc"
#undef FUNCTION
  compiler.nvrtcVersion(&compiler.major, &compiler.minor);
  compiler.path = path;
  const std::string version = std::to_string(compiler.major) + "." + std::to_string(compiler.minor);
  if (compiler.major < oldest_major) {
    why = path + ": is NVRTC " + version + ", older than " + std::to_string(oldest_major) + ".0";
    return false;
  }
  // A driver runs the output of compilers of its own major version, whatever the minor version.
  const cuda::Opened &opened = cuda::open_driver();
  if (opened.driver != nullptr && compiler.major > opened.driver->version / 1000) {
    why = path + ": is NVRTC " + version + ", too new for a driver for CUDA " +
          cuda::version_text(opened.driver->version);
    return false;
  }
  return true;
}

Opened find() {
  std::string tried;
  for (const std::string &path : candidates()) {
    static Compiler compiler;
    std::string why;
    if (open(path, compiler, why)) return Opened{&compiler, ""};
    tried += (tried.empty() ? "" : "; ") + why;
  }
  const cuda::Opened &opened = cuda::open_driver();
  const int major = opened.driver != nullptr ? opened.driver->version / 1000 : 0;
  const std::string package = major == 12 ? "nvidia-cuda-nvrtc-cu12" : "nvidia-cuda-nvrtc";
  return Opened{nullptr, "no NVRTC that can be used was found (" + tried + "); install it with pip install " + package +
                             " or a CUDA toolkit, or name the library in CANDLE_PARITY_NVRTC"};
}

}  // namespace

const Opened &open_compiler() {
  static const Opened &opened = *new Opened(find());
  return opened;
}

std::string architecture_of_device() {
  constexpr int capability_major = 75, capability_minor = 76;  // CUdevice_attribute
  const cuda::Opened &opened = cuda::open_driver();
  if (opened.driver == nullptr)
    throw std::runtime_error(opened.why + "; without a device, name the architecture: --gpu-architecture=sm_90");
  int device = 0, major = 0, minor = 0;
  if (opened.driver->cuCtxGetDevice(&device) != 0) device = 0;
  if (opened.driver->cuDeviceGetAttribute(&major, capability_major, device) != 0 ||
      opened.driver->cuDeviceGetAttribute(&minor, capability_minor, device) != 0)
    throw std::runtime_error("the driver shows no device; name the architecture: --gpu-architecture=sm_90");
  return "sm_" + std::to_string(major) + std::to_string(minor);
}

std::vector<std::string> include_folders() { return split("HIPCUDA_INCLUDE"); }

}  // namespace nvrtc

extern "C" __attribute__((visibility("default"))) const char *hipcudaCompiler(int *usable) {
  static const std::string &text = *new std::string([] {
    const nvrtc::Opened &opened = nvrtc::open_compiler();
    if (opened.compiler == nullptr) return opened.why;
    return "NVRTC " + std::to_string(opened.compiler->major) + "." + std::to_string(opened.compiler->minor) + " (" +
           opened.compiler->path + ")";
  }());
  if (usable != nullptr) *usable = nvrtc::open_compiler().compiler != nullptr;
  return text.c_str();
}
