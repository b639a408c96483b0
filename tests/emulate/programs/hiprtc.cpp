// Has a source compiled while it runs: templates by name expressions, a header in memory, constant memory, a wrong
// source.
#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#define CHECK(call)                                           \
  if (const hipError_t error = (call); error != hipSuccess) { \
    std::printf("%s: %s\n", #call, hipGetErrorName(error));   \
    return 1;                                                 \
  }
#define CHECK_RTC(call)                                             \
  if (const hiprtcResult error = (call); error != HIPRTC_SUCCESS) { \
    std::printf("%s: %s\n", #call, hiprtcGetErrorString(error));    \
    return 1;                                                       \
  }

extern "C" int hiprtcLinkComplete(void *, void **, std::size_t *);  // HIP 5.2 has it in no header

namespace {

constexpr const char *source = R"(
#include "offset.h"
namespace ours {
template <typename T> __global__ void scale(T *x, T by, int size) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size) x[i] = x[i] * by + offset(i) + (T)ADDED;
}
}
__constant__ int table[4];
extern "C" __global__ void looked_up(int *out, __half *halves) {
  out[threadIdx.x] = table[threadIdx.x];
  halves[threadIdx.x] = __float2half(1.5f) * __float2half(2.0f);
}
)";
constexpr const char *header = "__device__ inline int offset(int i) { return i % 2; }\n";

std::string log_of(hiprtcProgram program) {
  std::size_t bytes = 0;
  if (hiprtcGetProgramLogSize(program, &bytes) != HIPRTC_SUCCESS) return "";
  std::string text(bytes, '\0');
  return hiprtcGetProgramLog(program, text.data()) == HIPRTC_SUCCESS ? text.c_str() : "";
}

int run_right() {
  hiprtcProgram program;
  const char *names[] = {"offset.h"}, *texts[] = {header};
  CHECK_RTC(hiprtcCreateProgram(&program, source, "scale.hip", 1, texts, names));
  CHECK_RTC(hiprtcAddNameExpression(program, "ours::scale<float>"));
  CHECK_RTC(hiprtcAddNameExpression(program, "&table"));
  hipDeviceProp_t device;
  CHECK(hipGetDeviceProperties(&device, 0));
  const std::string target = std::string("--gpu-architecture=") + device.gcnArchName;
  const char *options[] = {target.c_str(), "-DADDED=10", "-std=c++17", "-I", "/nonexistent"};
  if (hiprtcCompileProgram(program, 5, options) != HIPRTC_SUCCESS) {
    std::printf("%s\n", log_of(program).c_str());
    return 1;
  }
  std::size_t bytes;
  CHECK_RTC(hiprtcGetCodeSize(program, &bytes));
  std::vector<char> code(bytes);
  CHECK_RTC(hiprtcGetCode(program, code.data()));
  const char *kernel, *variable;
  CHECK_RTC(hiprtcGetLoweredName(program, "ours::scale<float>", &kernel));
  CHECK_RTC(hiprtcGetLoweredName(program, "&table", &variable));
  std::printf("%s %s\n", kernel, variable);

  hipModule_t module;
  hipFunction_t function;
  CHECK(hipModuleLoadData(&module, code.data()));
  CHECK(hipModuleGetFunction(&function, module, kernel));
  CHECK_RTC(hiprtcDestroyProgram(&program));
  float x[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  void *on_device;
  CHECK(hipMalloc(&on_device, sizeof x));
  CHECK(hipMemcpy(on_device, x, sizeof x, hipMemcpyHostToDevice));
  float by = 2.0f;
  int size = 8;
  void *arguments[] = {&on_device, &by, &size};
  CHECK(hipModuleLaunchKernel(function, 2, 1, 1, 4, 1, 1, 0, nullptr, arguments, nullptr));
  CHECK(hipMemcpy(x, on_device, sizeof x, hipMemcpyDeviceToHost));
  for (const float value : x) std::printf("%g ", value);

  const int table[4] = {9, 8, 7, 6};
  hipDeviceptr_t address;
  CHECK(hipModuleGetGlobal(&address, &bytes, module, "table"));
  CHECK(hipMemcpy(address, table, sizeof table, hipMemcpyHostToDevice));
  CHECK(hipModuleGetFunction(&function, module, "looked_up"));
  void *halves;
  CHECK(hipMalloc(&halves, 8));
  void *pointers[] = {&on_device, &halves};
  CHECK(hipModuleLaunchKernel(function, 1, 1, 1, 4, 1, 1, 0, nullptr, pointers, nullptr));
  int found[4];
  unsigned short half;
  CHECK(hipMemcpy(found, on_device, sizeof found, hipMemcpyDeviceToHost));
  CHECK(hipMemcpy(&half, halves, sizeof half, hipMemcpyDeviceToHost));
  std::printf("%d %d %#x\n", found[0], found[3], half);
  return 0;
}

int run_wrong() {
  hiprtcProgram program;
  CHECK_RTC(hiprtcCreateProgram(&program, "__global__ void wrong(int *x) {\n  *x = undeclared;\n}\n", "wrong.hip", 0,
                                nullptr, nullptr));
  const hiprtcResult result = hiprtcCompileProgram(program, 0, nullptr);
  const std::string log = log_of(program);
  std::printf("%s\n%s\n", hiprtcGetErrorString(result), log.substr(0, log.find('\n')).c_str());
  std::printf("%d\n", hiprtcLinkComplete(nullptr, nullptr, nullptr));
  CHECK_RTC(hiprtcDestroyProgram(&program));
  return 0;
}

}  // namespace

int main() { return run_right() || run_wrong(); }
