#include <algorithm>
#include <cstdlib>

#include "host_device.h"

namespace simt {

std::string asked_target() {
  const char *const given = std::getenv("HIPISA_TARGET");
  return given && *given ? given : "gfx942";
}

HostDevice gpu_of_target(const char *name, const std::string &target) {
  // gfx, major, and a digit each for minor and stepping
  const std::size_t minor = target.size() < 6 ? 0 : target.size() - 2;
  const auto digits = [&](std::size_t from, std::size_t to) {
    return std::atoi(target.substr(from, to - from).c_str());
  };
  static const int count = [] {
    const char *const given = std::getenv("HIPISA_DEVICES");
    return given ? std::clamp(std::atoi(given), 1, most_devices) : 1;
  }();
  return {name,
          target,
          target.starts_with("gfx9") ? 64 : 32,
          minor ? digits(3, minor) : 0,
          minor ? digits(minor, minor + 1) : 0,
          count};
}

}  // namespace simt
