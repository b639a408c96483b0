// Running a kernel's blocks on all cores.
#pragma once

#include <mutex>

#include <string>

#include "error.h"
#include "incident.h"
#include "module.h"

namespace simt {

// Runs the whole grid; one launch at a time. Arguments come as pointers (`params`) or packed (`extra`), as in
// hipModuleLaunchKernel.
Error launch(const Function &function, simt_index grid, simt_index block, unsigned dynamic_bytes, void **params,
             void **extra);

// What makes of a fault's message in `function` the one that callers get; none by default. Called under the launch
// mutex.
using Explain = std::string (*)(const Function &function, const Incident &incident, const std::string &message);
void explain_faults(Explain explain);

// See hipcpuOrderMatters.
bool order_matters();

// Keeps launches from running while modules or memory that kernels may use are freed.
std::unique_lock<std::mutex> lock_launches();

}  // namespace simt
