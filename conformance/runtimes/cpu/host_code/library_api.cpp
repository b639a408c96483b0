// What shared libraries with host code call: clang's registration of their kernels, launches by the address of a
// kernel's host function, and variables by their host addresses.
#include <algorithm>
#include <cstring>
#include <vector>

#include "api.h"
#include "launch.h"
#include "memory.h"
#include "registered.h"

using namespace simt;

namespace {

// What `<<<>>>` sets and the kernel's host function takes (clang's CGCUDANV.cpp).
struct Configuration {
  Shape grid, block;
  std::size_t shared;
  void *stream;
};
std::vector<Configuration> &configurations() {
  thread_local std::vector<Configuration> all;
  return all;
}

struct FatBinary {
  unsigned magic, version;
  const char *bundle;
  void *unused;
};

std::size_t dynamic_limit(const KernelFacts &kernel) {
  return kernel.shared_limit - std::min(kernel.shared_bytes, kernel.shared_limit);
}
std::size_t attribute_of(const KernelFacts &kernel, int attribute) {
  enum { MaxThreadsPerBlock = 0, SharedBytes = 1, LocalBytes = 3, Registers = 4, MaxDynamicShared = 8 };
  return attribute == MaxThreadsPerBlock ? kernel.most_threads
         : attribute == SharedBytes      ? kernel.shared_bytes
         : attribute == LocalBytes       ? kernel.local_bytes
         : attribute == Registers        ? kernel.registers
         : attribute == MaxDynamicShared ? dynamic_limit(kernel)
                                         : 0;
}

using Copy = int (*)(const char *call, void *to, const void *from, std::size_t bytes, int kind, void *stream);

int copy_at_once(const char *call, void *to, const void *from, std::size_t bytes, int kind, void *) {
  return copy(call, to, from, bytes, kind);
}

int copy_symbol(const char *call, const void *symbol, const void *other, std::size_t bytes, std::size_t offset,
                int kind, bool to_symbol, Copy made = copy_at_once, void *stream = nullptr) {
  Variable variable;
  if (const Error error = registry().find(call, symbol, variable)) return error;
  if (offset > variable.bytes || bytes > variable.bytes - offset)
    return fail(InvalidValue, "%s: %zu bytes from byte %zu of a variable of %zu", call, bytes, offset, variable.bytes);
  char *at = variable.address + offset;
  return to_symbol ? made(call, at, other, bytes, kind, stream)
                   : made(call, const_cast<void *>(other), at, bytes, kind, stream);
}

}  // namespace

// ---- registration, by the constructor that clang adds to a library

SIMT_API void **__hipRegisterFatBinary(const FatBinary *binary) {
  return reinterpret_cast<void **>(registry().add(binary->bundle));
}
SIMT_API void __hipUnregisterFatBinary(const RegisteredCode *registered) {
  const auto lock = lock_launches();
  registry().remove(registered);
}
SIMT_API void __hipRegisterFunction(const RegisteredCode *registered, const void *host, const char *, const char *name,
                                    unsigned, void *, void *, void *, void *, int *) {
  registry().add_kernel(registered, host, name);
}
// Textures and surfaces, which are not emulated: a program that has some and uses none runs.
SIMT_API void __hipRegisterTexture(const RegisteredCode *, const void *, const char *, const char *, int, int, int) {}
SIMT_API void __hipRegisterSurface(const RegisteredCode *, const void *, const char *, const char *, int, int) {}
// A variable that host and device share: the host's pointer to it and the device's, which has its name, are set to
// memory that holds its first value.
SIMT_API void __hipRegisterManagedVar(const RegisteredCode *registered, void **pointer, const void *value,
                                      const char *name, std::size_t bytes, unsigned) {
  Variable variable;
  registry().add_variable(registered, pointer, name);
  const bool known = registry().find("__hipRegisterManagedVar", pointer, variable) == Success;
  if (known && !managed_variables_are_pointers)
    *pointer = variable.address;
  else if (memory().allocate(bytes, Memory::Kind::Managed, pointer))
    return;
  std::memcpy(*pointer, value, bytes);
  if (known && managed_variables_are_pointers) std::memcpy(variable.address, pointer, sizeof *pointer);
  clear_last_error();  // told when a kernel is launched that the library has no code for
}
SIMT_API void __hipRegisterVar(const RegisteredCode *registered, const void *host, const char *, const char *name, int,
                               std::size_t, int, int) {
  registry().add_variable(registered, host, name);
}

// ---- launches

SIMT_API int __hipPushCallConfiguration(Shape grid, Shape block, std::size_t shared, void *stream) {
  configurations().push_back({grid, block, shared, stream});
  return Success;
}
SIMT_API int __hipPopCallConfiguration(Shape *grid, Shape *block, std::size_t *shared, void **stream) {
  if (configurations().empty()) return fail(InvalidConfiguration, "a kernel's host function was called without <<<>>>");
  const Configuration last = configurations().back();
  configurations().pop_back();
  *grid = last.grid;
  *block = last.block;
  *shared = last.shared;
  *stream = last.stream;
  return Success;
}
SIMT_API int hipEventRecord(void *event, void *stream);
SIMT_API int hipLaunchKernel(const void *function, Shape grid, Shape block, void **params, std::size_t dynamic_bytes,
                             void *stream) {
  const void *kernel;
  Error error = registry().find("hipLaunchKernel", function, kernel);
  if (!error) error = check_stream(facts_of(kernel).shown.c_str(), stream);
  if (!error)
    error = launch_on(stream, kernel, grid, block, static_cast<unsigned>(std::min<std::size_t>(dynamic_bytes, ~0u)),
                      params, nullptr);
  note_fault(error);
  return error;
}
SIMT_API int hipExtLaunchKernel(const void *function, Shape grid, Shape block, void **params, std::size_t dynamic_bytes,
                                void *stream, void *start, void *stop, int) {
  if (start)
    if (const int error = hipEventRecord(start, stream)) return error;
  if (const int error = hipLaunchKernel(function, grid, block, params, dynamic_bytes, stream)) return error;
  return stop ? hipEventRecord(stop, stream) : +Success;
}

// ---- kernels by their host functions

SIMT_API int hipFuncGetAttribute(int *value, int attribute, void *function) {
  const void *kernel;
  if (const Error error = registry().find("hipFuncGetAttribute", function, kernel)) return error;
  if (!value) return fail(InvalidValue, "hipFuncGetAttribute: the output pointer for the value is null");
  *value = static_cast<int>(attribute_of(facts_of(kernel), attribute));
  return Success;
}
SIMT_API int hipFuncGetAttributes(void *out, const void *function) {
  // hipFuncAttributes, whose order is not that of the attributes' numbers.
  struct {
    int binary_version, cache_mode;
    std::size_t constant_bytes, local_bytes;
    int most_dynamic_shared, most_threads, registers, shared_carveout, ptx_version;
    std::size_t shared_bytes;
  } found{};
  const void *kernel;
  if (const Error error = registry().find("hipFuncGetAttributes", function, kernel)) return error;
  if (!out) return fail(InvalidValue, "hipFuncGetAttributes: the output pointer for the attributes is null");
  const KernelFacts facts = facts_of(kernel);
  found.local_bytes = facts.local_bytes;
  found.most_dynamic_shared = static_cast<int>(dynamic_limit(facts));
  found.most_threads = static_cast<int>(facts.most_threads);
  found.registers = static_cast<int>(facts.registers);
  found.shared_bytes = facts.shared_bytes;
  std::memcpy(out, &found, sizeof found);
  return Success;
}
SIMT_API int hipFuncSetAttribute(const void *function, int, int) {
  const void *kernel;
  return registry().find("hipFuncSetAttribute", function, kernel);
}
SIMT_API int hipFuncSetCacheConfig(const void *function, int) {
  const void *kernel;
  return registry().find("hipFuncSetCacheConfig", function, kernel);
}
SIMT_API int hipOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int, std::size_t) {
  const void *kernel;
  if (const Error error = registry().find("hipOccupancyMaxActiveBlocksPerMultiprocessor", function, kernel))
    return error;
  if (blocks) *blocks = 1;
  return Success;
}
SIMT_API int hipOccupancyMaxPotentialBlockSize(int *grid, int *block, const void *function, std::size_t, int limit) {
  const void *kernel;
  if (const Error error = registry().find("hipOccupancyMaxPotentialBlockSize", function, kernel)) return error;
  const int most = static_cast<int>(std::min(facts_of(kernel).most_threads, 1024u));
  if (grid) *grid = 1;
  if (block) *block = limit > 0 ? std::min(limit, most) : most;
  return Success;
}

// ---- variables

SIMT_API int hipGetSymbolAddress(void **address, const void *symbol) {
  Variable variable;
  if (const Error error = registry().find("hipGetSymbolAddress", symbol, variable)) return error;
  if (!address) return fail(InvalidValue, "hipGetSymbolAddress: the output pointer for the address is null");
  *address = variable.address;
  return Success;
}
SIMT_API int hipGetSymbolSize(std::size_t *bytes, const void *symbol) {
  Variable variable;
  if (const Error error = registry().find("hipGetSymbolSize", symbol, variable)) return error;
  if (!bytes) return fail(InvalidValue, "hipGetSymbolSize: the output pointer for the size is null");
  *bytes = variable.bytes;
  return Success;
}
SIMT_API int hipMemcpyToSymbol(const void *symbol, const void *from, std::size_t bytes, std::size_t offset, int kind) {
  return copy_symbol("hipMemcpyToSymbol", symbol, from, bytes, offset, kind, true);
}
SIMT_API int hipMemcpyFromSymbol(void *to, const void *symbol, std::size_t bytes, std::size_t offset, int kind) {
  return copy_symbol("hipMemcpyFromSymbol", symbol, to, bytes, offset, kind, false);
}
SIMT_API int hipMemcpyToSymbolAsync(const void *symbol, const void *from, std::size_t bytes, std::size_t offset,
                                    int kind, void *stream) {
  return copy_symbol("hipMemcpyToSymbolAsync", symbol, from, bytes, offset, kind, true, copy_async, stream);
}
SIMT_API int hipMemcpyFromSymbolAsync(void *to, const void *symbol, std::size_t bytes, std::size_t offset, int kind,
                                      void *stream) {
  return copy_symbol("hipMemcpyFromSymbolAsync", symbol, to, bytes, offset, kind, false, copy_async, stream);
}
