// What AMD's device library asks the host for: text for printf, and memory for malloc. A wave leaves a packet with what
// each of its lanes asks for in a buffer, and waits for the answers (ROCm-Device-Libs, ockl/src/hostcall_impl.cl).
#pragma once

#include "machine.h"

namespace isa {

// The addresses that kernels get as hidden_hostcall_buffer and hidden_heap_v1; made when the first kernel wants them.
u64 hostcall_buffer();
u64 device_heap();

// Answers what waves have asked for; called when one waits.
void serve_hostcalls();

}  // namespace isa
