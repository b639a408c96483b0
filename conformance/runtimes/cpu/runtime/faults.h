// Signal handlers: faults inside kernels become incidents, faults elsewhere go to the previous handler.
#pragma once

#include <pthread.h>

namespace simt {

// Installs the handlers, again if others (faulthandler.enable()) have replaced them since. Cheap.
void install_fault_handlers();

// Installs the SIGSYS handler of the sandbox: a forbidden call in a kernel becomes an incident of its launch; elsewhere
// (a static constructor, a thread that a kernel started) the call is named on stderr and the process exits with
// HIPCPU_FORBIDDEN_EXIT. To be called once, before the filter, which forbids further handlers.
void install_sandbox_handler();

// Gives the calling thread an alternate signal stack if it has none: a stack overflow leaves no room for a handler.
void use_signal_stack();

// Ends the kernel that `thread` runs, if any, with a Timeout incident. May have to be repeated.
void interrupt(pthread_t thread);

}  // namespace simt
