// Signal handlers: faults inside kernels become incidents, faults elsewhere go to the previous handler.
#pragma once

#include <pthread.h>

#include "sandbox_handler.h"

namespace simt {

// Gives the calling thread an alternate signal stack if it has none: a stack overflow leaves no room for a handler.
void use_signal_stack();

// Ends the kernel that `thread` runs, if any, with a Timeout incident. May have to be repeated.
void interrupt(pthread_t thread);

}  // namespace simt
