// The device and the options of the isa runtime.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "api.h"
#include "dispatch.h"
#include "hazards.h"
#include "hipisa.h"
#include "host_device.h"
#include "launch.h"
#include "options.h"

using namespace simt;

namespace {

std::string &target() {
  static std::string &name = *new std::string(asked_target());
  return name;
}

}  // namespace

namespace simt {

HostDevice host_device() { return gpu_of_target("candle-parity isa runtime", target()); }

}  // namespace simt

SIMT_API int hipisaSetOption(const char *key, const char *value) {
  const auto lock = lock_launches();
  if (key && value && std::strcmp(key, "target") == 0) {
    target() = value;
    return Success;
  }
  if (key && value && std::strcmp(key, "perturb") == 0) {
    char *end = nullptr;
    const unsigned long seed = std::strtoul(value, &end, 10);
    if (end == value || *end || *value == '-' || seed > UINT32_MAX)
      return fail(InvalidValue, "option perturb: '%s' is not a whole number from 0 to %u", value, UINT32_MAX);
    isa::set_perturb(static_cast<isa::u32>(seed));
    return Success;
  }
  if (key && value && std::strcmp(key, "counts") == 0) {
    if (std::strcmp(value, "0") != 0 && std::strcmp(value, "1") != 0)
      return fail(InvalidValue, "option counts: '%s' is neither 0 nor 1", value);
    isa::set_counting(*value == '1');
    return Success;
  }
  if (key && value && std::strcmp(key, "sites") == 0) {
    isa::set_sites_folder(value);
    return Success;
  }
  if (key && value && std::strcmp(key, "otherwise") == 0) {
    static constexpr const char *names[] = {"none", "registers", "lds", "scratch", "exact", "arrived"};
    for (std::size_t n = 0; n < std::size(names); ++n)
      if (std::strcmp(value, names[n]) == 0) {
        isa::launch_otherwise(static_cast<isa::Otherwise>(n));
        return Success;
      }
    return fail(InvalidValue, "option otherwise: '%s' is not none, registers, lds, scratch, exact or arrived", value);
  }
  return options().set(key, value);
}
SIMT_API const char *hipisaLastMessage() { return last_message(); }
SIMT_API unsigned long hipisaHazards() { return isa::hazards_found(); }
SIMT_API unsigned long hipisaExecuted() { return isa::executed_instructions(); }
SIMT_API unsigned hipisaCounts(unsigned long *values, unsigned count) {
  const isa::Counts c = isa::counted();
  std::vector<isa::u64> all{c.launches, c.waves};
  all.insert(all.end(), std::begin(c.executed), std::end(c.executed));
  all.insert(all.end(), {c.lanes_active, c.lanes_there, c.accesses, c.asked, c.moved, c.lds_accesses, c.lds_conflicts});
  for (unsigned n = 0; n < count && n < all.size(); ++n) values[n] = all[n];
  return static_cast<unsigned>(all.size());
}
SIMT_API unsigned hipisaLineBytes() { return isa::line_bytes(target()); }
