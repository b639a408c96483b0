// What programs ask for of kernels and variables (kernels.h), of code objects.
#include "kernels.h"

#include "bundles.h"
#include "dispatch.h"
#include "host_device.h"
#include "loaded.h"

namespace simt {

namespace {

const isa::Kernel &kernel_of(const void *handle) { return *static_cast<const isa::Kernel *>(handle); }

}  // namespace

const bool managed_variables_are_pointers = true;

bool is_module(const void *module) { return isa::loaded().find(module) != nullptr; }
bool is_kernel(const void *kernel) { return isa::loaded().kernel(kernel) != nullptr; }

std::size_t kernel_count(const void *module) { return isa::loaded().find(module)->kernels().size(); }

const void *kernel_in(const void *module, const std::string &name) {
  const auto &kernels = isa::loaded().find(module)->kernels();
  const auto it = kernels.find(name);
  return it == kernels.end() ? nullptr : &it->second;
}

bool variable_in(const void *module, const std::string &name, Variable &found) {
  const auto &globals = isa::loaded().find(module)->globals();
  const auto it = globals.find(name);
  if (it == globals.end()) return false;
  found = {reinterpret_cast<char *>(it->second.begin), it->second.end - it->second.begin};
  return true;
}

KernelFacts facts_of(const void *handle) {
  const isa::Kernel &kernel = kernel_of(handle);
  KernelFacts facts;
  facts.shown = kernel.shown;
  facts.most_threads = kernel.most_threads;
  facts.shared_bytes = kernel.lds_bytes;
  facts.shared_limit = kernel.object->lds_limit();
  facts.local_bytes = kernel.scratch_bytes;
  facts.registers = kernel.vgprs();
  facts.argument_bytes = kernel.kernarg_bytes;
  for (const isa::Argument &argument : kernel.arguments)
    if (!argument.kind.starts_with("hidden_")) facts.arguments.push_back({argument.offset, argument.size});
  return facts;
}

Error launch_kernel(const void *kernel, Shape grid, Shape block, unsigned shared, void **params, void **extra) {
  return isa::launch(kernel_of(kernel), grid, block, shared, params, extra);
}

Error load_library(const char *bundle, void **module, std::string &why) {
  std::string code;
  if (const Error error = isa::code_in_bundle(bundle, host_device().architecture, code, why)) return error;
  const Error error = isa::loaded().load(code, module);
  if (!error) {
    isa::loaded().keep(*module);
    return Success;
  }
  why = last_message();
  // What the interpreter does not know is nobody's mistake.
  return error == NoBinaryForGpu ? NotSupported : error;
}

void unload_library(const void *module) { isa::loaded().unload(module); }

}  // namespace simt
