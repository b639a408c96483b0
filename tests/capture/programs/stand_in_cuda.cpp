// A libcuda.so.1 without a GPU, enough for cuda_launcher.py. To wait for the device spoils what is captured meanwhile.
#include <string_view>

#include "stand_in.h"

namespace {

struct Config {
  unsigned grid[3], block[3], shared;
  void *stream, *attributes;
  unsigned attribute_count;
};
constexpr std::size_t sizes[] = {8, 8, 8, 8, 8};
char kernel;
bool captured = false, spoilt = false;  // the one stream there is
}  // namespace

API int cuInit(unsigned) { return 0; }
API int cuMemAlloc_v2(std::uint64_t *address, std::size_t bytes) {
  *address = reinterpret_cast<std::uint64_t>(allocate(bytes));
  return 0;
}
API int cuMemcpyHtoD_v2(std::uint64_t to, const void *from, std::size_t bytes) {
  std::memcpy(reinterpret_cast<void *>(to), from, bytes);
  return 0;
}
API int cuMemcpyDtoH_v2(void *to, std::uint64_t from, std::size_t bytes) {
  std::memcpy(to, reinterpret_cast<void *>(from), bytes);
  return 0;
}
API int cuMemGetAddressRange_v2(std::uint64_t *base, std::size_t *bytes, std::uint64_t address) {
  *base = allocation_of(address, *bytes);
  return *base ? 0 : 1;
}
API int cuCtxSynchronize() {
  spoilt = spoilt || captured;
  return captured ? 900 : 0;
}
API int cuStreamCreate(void **stream, unsigned) { return *stream = &captured, 0; }
API int cuGraphCreate(void **graph, unsigned) { return *graph = &spoilt, 0; }
API int cuStreamIsCapturing(void *stream, int *status) { return *status = stream && captured, 0; }
API int cuStreamBeginCaptureToGraph(void *, void *, const void *, const void *, std::size_t, int) {
  return captured = true, 0;
}
API int cuStreamEndCapture(void *, void **) {
  captured = false;
  return spoilt ? 901 : 0;
}
API int cuModuleLoad(void **module, const char *) { return *module = &kernel, 0; }
API int cuModuleGetFunction(void **function, void *, const char *) { return *function = &kernel, 0; }
API int cuFuncGetParamInfo(void *, std::size_t index, std::size_t *offset, std::size_t *bytes) {
  if (index >= std::size(sizes)) return 1;
  *offset = 8 * index;
  *bytes = sizes[index];
  return 0;
}
API int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                       void **params, void **) {
  return relu(params);
}
API int cuLaunchKernelEx(const Config *, void *, void **params, void **) { return relu(params); }
API int cuGetProcAddress_v2(const char *name, void **found, int, std::uint64_t, int *status) {
  if (status) *status = 0;
  if (std::string_view(name) == "cuLaunchKernel") *found = reinterpret_cast<void *>(&cuLaunchKernel);
  return 0;
}
