// A libamdhip64.so without a GPU, for the ways of launching that the emulated library does not have.
#include <vector>

#include "stand_in.h"

namespace {

struct Dim3 {
  unsigned x, y, z;
};
std::vector<char> arguments;
char kernel;

}  // namespace

API int hipMalloc(void **address, std::size_t bytes) { return *address = allocate(bytes), 0; }
API int hipMemcpy(void *to, const void *from, std::size_t bytes, int) { return std::memcpy(to, from, bytes), 0; }
API int hipMemGetAddressRange(void **base, std::size_t *bytes, void *address) {
  *base = reinterpret_cast<void *>(allocation_of(reinterpret_cast<std::uintptr_t>(address), *bytes));
  return *base ? 0 : 1;
}
API int hipDeviceSynchronize() { return 0; }
API int hipModuleLoad(void **module, const char *) { return *module = &kernel, 0; }
API int hipModuleGetFunction(void **function, void *, const char *) { return *function = &kernel, 0; }
API int hipModuleLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                              void **params, void **) {
  return relu(params);
}

// What clang adds to a program with kernels.
API void **__hipRegisterFatBinary(const void *) {
  static void *handle = nullptr;
  return &handle;
}
API void __hipRegisterFunction(void **, const void *, char *, const char *, unsigned, void *, void *, void *, void *,
                               int *) {}

API int hipConfigureCall(Dim3, Dim3, std::size_t, void *) { return 0; }
API int hipSetupArgument(const void *argument, std::size_t bytes, std::size_t offset) {
  arguments.resize(std::max(arguments.size(), offset + bytes));
  std::memcpy(arguments.data() + offset, argument, bytes);
  return 0;
}
API int hipLaunchByPtr(const void *) {
  void *params[5];
  for (int n = 0; n < 5; ++n) params[n] = arguments.data() + 8 * n;
  return relu(params);
}
API int hipExtLaunchMultiKernelMultiDevice(void *, int, unsigned) { return 0; }
