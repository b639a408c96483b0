// The handler of the sandbox, and what each runtime with a sandbox says to it.
#pragma once

#include <ucontext.h>

#include <cstdint>

namespace simt {

// Installs the SIGSYS handler of the sandbox: a forbidden call in a kernel becomes an incident of its launch; elsewhere
// (a static constructor, a thread that a kernel started, a launcher) the call is named on stderr and the process exits
// with HIPCPU_FORBIDDEN_EXIT. To be called once, before the filter, which forbids further handlers.
void install_sandbox_handler();

// ---- of the runtime

// Installs the runtime's other handlers, again if others (faulthandler.enable()) have replaced them since. Cheap.
void install_fault_handlers();

// Whether a kernel made the forbidden `call`, which is then an incident of its launch.
bool noted_in_kernel(const char *call, const ucontext_t &machine);

// The signals, besides SIGSYS, that nobody may block, as a mask.
std::uint64_t unblocked_signals();

}  // namespace simt
