// The emulated GPU whose kernels are functions of the host.
#include "host_device.h"
#include "modules.h"

namespace simt {

HostDevice host_device() { return gpu_of_target("candle-parity cpu runtime", asked_target()); }

void unload_all_modules() { program_modules().unload_all(); }

}  // namespace simt
