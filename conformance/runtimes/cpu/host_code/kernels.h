// Kernels and variables of loaded modules as programs ask for them, whatever executes the kernels: an interpreter of
// machine code (isa/runtime/kernels.cpp) or the host (emulate/cpu/kernels.cpp), which define what is declared here. A
// kernel is known by its hipFunction_t, a module by its hipModule_t.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "api.h"

namespace simt {

struct KernelFacts {
  struct Argument {
    std::size_t offset, bytes;  // in the buffer that packed arguments come in
  };
  std::string shown;                           // its name in messages
  unsigned most_threads = 1024;                // of a block
  std::size_t shared_bytes = 0;                // of its __shared__ variables
  std::size_t shared_limit = 0;                // of all shared memory of a block
  std::size_t local_bytes = 0, registers = 0;  // of a thread
  std::vector<Argument> arguments;
  std::size_t argument_bytes = 0;  // of the packed buffer
};

// A variable of a module on the device.
struct Variable {
  char *address = nullptr;
  std::size_t bytes = 0;
};

bool is_module(const void *module);
bool is_kernel(const void *kernel);
std::size_t kernel_count(const void *module);
// Null where the module has none of that name.
const void *kernel_in(const void *module, const std::string &name);
bool variable_in(const void *module, const std::string &name, Variable &found);
KernelFacts facts_of(const void *kernel);

// What a __managed__ variable is in a module: a pointer to memory, as clang makes it for GPUs, or that memory.
extern const bool managed_variables_are_pointers;

// Runs the whole grid, one launch at a time. Arguments come as pointers (`params`) or packed (`extra`), as in
// hipModuleLaunchKernel.
Error launch_kernel(const void *kernel, Shape grid, Shape block, unsigned shared, void **params, void **extra);

// `launch_kernel`, or on a captured stream what keeps its work.
inline Error launch_on(const void *stream, const void *kernel, Shape grid, Shape block, unsigned shared, void **params,
                       void **extra) {
  return is_captured(stream) ? keeper->keep_launch(kernel, grid, block, shared, params, extra, stream)
                             : launch_kernel(kernel, grid, block, shared, params, extra);
}

// Loads what the offload bundle of a library or program has for this device; hipDeviceReset leaves it. `why` says what
// is wrong with it.
Error load_library(const char *bundle, void **module, std::string &why);
void unload_library(const void *module);

}  // namespace simt
