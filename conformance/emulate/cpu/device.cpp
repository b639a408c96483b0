// The emulated GPU whose kernels are functions of the host.
#include "api.h"
#include "hipcpu.h"
#include "host_device.h"
#include "modules.h"

namespace simt {

HostDevice host_device() { return gpu_of_target("candle-parity cpu runtime", asked_target()); }

void unload_all_modules() { program_modules().unload_all(); }

}  // namespace simt

// By this name the harness tells its own cpu runtime from AMD's library: `run --runtime rocm` would have this one load
// machine code.
SIMT_API const char *hipcpuLastMessage() { return simt::last_message(); }
