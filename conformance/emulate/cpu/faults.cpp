// Faults of kernels that are code of the host are told as interpreted ones are: with the kernel's name in its source,
// and with the places of the access and of the launch.
#include <cstdio>

#include "faults_told.h"
#include "kernels.h"
#include "launch.h"

namespace simt {
namespace {

std::string told(const Function &function, const Incident &incident, const std::string &message) {
  std::string text = message;
  const std::string name = std::string("kernel ") + function.kernel->name;
  if (text.starts_with(name)) text.replace(0, name.size(), "kernel " + facts_of(&function).shown);
  const std::size_t thread = text.find("thread ("), behind = text.find("): ", thread == text.npos ? 0 : thread);
  const std::size_t offset = function.module->offset_of(incident.pc);
  if (offset && behind != text.npos) {
    char place[32];
    std::snprintf(place, sizeof place, ", at %#zx", offset);
    text.insert(behind + 1, place);
  }
  return with_places(text, function.module->image());
}

[[gnu::constructor]] void tell_faults() {
  if (tells_places()) explain_faults(told);
}

}  // namespace
}  // namespace simt
