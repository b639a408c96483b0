// Signals: faults inside kernels become incidents, faults elsewhere go to whoever handled them before.
#pragma once

#include <pthread.h>

namespace simt {

// Puts our handlers first, also when somebody (faulthandler.enable()) has put his over ours since. Cheap.
void install_fault_handlers();

// The handler of the sandbox's reports: a call that a kernel must not make becomes an incident of its launch; elsewhere
// (a static constructor, a thread that a kernel started) it is named on stderr and ends the process with
// HIPCPU_FORBIDDEN_EXIT. Once, before the filter, which forbids another.
void install_sandbox_handler();

// Gives the calling thread an alternate signal stack if it has none: a stack overflow leaves no room for a handler.
void use_signal_stack();

// Ends the kernel that `thread` runs, if any, with a Timeout incident. May have to be repeated.
void interrupt(pthread_t thread);

}  // namespace simt
