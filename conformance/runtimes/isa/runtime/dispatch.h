// Launches of kernels of code objects.
#pragma once

#include <mutex>

#include "api.h"
#include "counts.h"
#include "error.h"
#include "object.h"

namespace isa {

using simt::Shape;

// Runs the whole grid, one launch at a time. Arguments come as pointers (`params`) or packed (`extra`), as in
// hipModuleLaunchKernel.
simt::Error launch(const Kernel &kernel, Shape grid, Shape block, u32 dynamic_bytes, void **params, void **extra);

// The seed by which approximate instructions deviate in the next launches; 0 for none.
void set_perturb(u32 seed);

// How the next launches differ from what their order asks for: what holds at their start the bytes that it has in the
// other order, or what is not as bad in them as hardware may be.
enum class Otherwise { None, Registers, Lds, Scratch, Exact, Arrived };
void launch_otherwise(Otherwise how);

// What makes of a fault's message in `kernel` the one that callers get; none by default. Called under the launch mutex.
using Explain = std::string (*)(const Kernel &kernel, const std::string &message);
void explain_faults(Explain explain);

// Instructions that waves have executed in this process.
u64 executed_instructions();

// Whether the next launches are counted, and what those since the last call that switched it came to.
void set_counting(bool on);
Counts counted();

// The folder for files with the sites that the next launches reach (sites.h); none where it is empty.
void set_sites_folder(const std::string &folder);

}  // namespace isa
