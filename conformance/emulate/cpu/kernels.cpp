// What programs ask for of kernels and variables (kernels.h), of modules that are code of the host.
#include "kernels.h"

#include "incident.h"
#include "launch.h"
#include "module.h"
#include "modules.h"

namespace simt {

namespace {

// As the interpreter calls kernels: without parameters.
std::string name_in_source(const char *symbol) {
  std::string shown = demangled(symbol);
  if (shown.starts_with("void ")) shown.erase(0, 5);
  if (!shown.ends_with(')')) return shown;
  std::size_t at = shown.size();
  for (int depth = 0; at--;) {
    depth += (shown[at] == ')') - (shown[at] == '(');
    if (!depth) break;
  }
  return shown.substr(0, at);
}

}  // namespace

const bool managed_variables_are_pointers = false;

bool is_module(const void *module) { return modules().find(module) != nullptr; }
bool is_kernel(const void *kernel) { return modules().function(kernel) != nullptr; }

std::size_t kernel_count(const void *module) { return modules().find(module)->functions().size(); }

const void *kernel_in(const void *module, const std::string &name) { return modules().find(module)->function(name); }

bool variable_in(const void *handle, const std::string &name, Variable &found) {
  Module *const module = modules().find(handle);
  void *address = nullptr;
  if (!module->symbol(name.c_str()) || module->global(name.c_str(), &address, &found.bytes)) return false;
  found.address = static_cast<char *>(address);
  return true;
}

KernelFacts facts_of(const void *handle) {
  const Function &function = *modules().function(handle);
  const simt_kernel &kernel = *function.kernel;
  KernelFacts facts;
  facts.shown = name_in_source(kernel.name);
  if (function.most_threads && function.most_threads < facts.most_threads)
    facts.most_threads = static_cast<unsigned>(function.most_threads);
  facts.shared_bytes = function.static_shared_bytes();
  facts.registers = 32;  // what it takes of a GPU's is not known, and programs divide by it
  facts.shared_limit = SIMT_MAX_DYNAMIC_SHARED;
  for (unsigned n = 0; n < kernel.nargs; ++n) {
    const std::size_t align = kernel.aligns[n];
    const std::size_t offset = (facts.argument_bytes + align - 1) / align * align;
    facts.arguments.push_back({offset, kernel.sizes[n]});
    facts.argument_bytes = offset + kernel.sizes[n];
  }
  return facts;
}

Error launch_kernel(const void *kernel, Shape grid, Shape block, unsigned shared, void **params, void **extra) {
  return launch(*modules().function(kernel), {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared, params,
                extra);
}

Error load_library(const char *bundle, void **module, std::string &why) {
  Module *loaded = nullptr;
  const Error error = modules().load(bundle, &loaded);
  *module = loaded;
  if (error) {
    not_loaded("its library", error);
    why = last_message();
  }
  return error;
}

void unload_library(const void *module) {
  if (Module *const loaded = modules().find(module)) modules().unload(loaded);
}

}  // namespace simt
