// Launches of kernels of code objects.
#pragma once

#include <mutex>

#include "error.h"
#include "object.h"

namespace isa {

struct Shape {
  u32 x, y, z;
};

// Runs the whole grid, one launch at a time. Arguments come as pointers (`params`) or packed (`extra`), as in
// hipModuleLaunchKernel.
simt::Error launch(const Kernel &kernel, Shape grid, Shape block, u32 dynamic_bytes, void **params, void **extra);

// The seed by which approximate instructions deviate in the next launches; 0 for none.
void set_perturb(u32 seed);

// What holds at the start of the next launches the bytes that it has in the other order.
enum class Unwritten { None, Registers, Lds, Scratch };
void fill_otherwise(Unwritten what);

// Instructions that waves have executed in this process.
u64 executed_instructions();

}  // namespace isa
