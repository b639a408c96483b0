// Faults of interpreted kernels are told with their places.
#include "dispatch.h"
#include "faults_told.h"

namespace isa {
namespace {

std::string told(const Kernel &kernel, const std::string &message) {
  return simt::with_places(message, kernel.object->file());
}

[[gnu::constructor]] void tell_faults() {
  if (simt::tells_places()) explain_faults(told);
}

}  // namespace
}  // namespace isa
