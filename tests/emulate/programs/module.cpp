// A program of HIP's module API: loads the code object of saxpy.hip from a file and launches it by name; with a second
// argument also by a graph, when the module is no longer there.
#include <hip/hip_runtime_api.h>

#include <cstdio>

#define CHECK(call)                                           \
  if (const hipError_t error = (call); error != hipSuccess) { \
    std::printf("%s: %s\n", #call, hipGetErrorName(error));   \
    return 1;                                                 \
  }

int main(int count, char **words) {
  float x[100], y[100];
  for (int i = 0; i < 100; ++i) x[i] = static_cast<float>(i), y[i] = 1.0f;
  hipModule_t module;
  hipFunction_t function;
  hipStream_t stream;
  void *on_device_x, *on_device_y;
  CHECK(hipInit(0));
  CHECK(hipStreamCreate(&stream));
  CHECK(hipModuleLoad(&module, words[1]));
  CHECK(hipModuleGetFunction(&function, module, "_Z5saxpyifPKfPf"));
  CHECK(hipMalloc(&on_device_x, sizeof x));
  CHECK(hipMalloc(&on_device_y, sizeof y));
  CHECK(hipMemcpyAsync(on_device_x, x, sizeof x, hipMemcpyHostToDevice, stream));
  CHECK(hipMemcpyAsync(on_device_y, y, sizeof y, hipMemcpyHostToDevice, stream));
  int size = 100;
  float a = 2.0f;
  void *arguments[] = {&size, &a, &on_device_x, &on_device_y};
  CHECK(hipModuleLaunchKernel(function, 2, 1, 1, 64, 1, 1, 0, stream, arguments, nullptr));
  CHECK(hipMemcpyAsync(y, on_device_y, sizeof y, hipMemcpyDeviceToHost, stream));
  CHECK(hipStreamSynchronize(stream));
  std::printf("%g %g\n", y[0], y[99]);
  if (count < 3) {
    CHECK(hipModuleUnload(module));
    return 0;
  }
  hipGraph_t graph;
  hipGraphExec_t executable;
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
  CHECK(hipModuleLaunchKernel(function, 2, 1, 1, 64, 1, 1, 0, stream, arguments, nullptr));
  CHECK(hipStreamEndCapture(stream, &graph));
  CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  CHECK(hipModuleUnload(module));
  CHECK(hipGraphLaunch(executable, stream));
  return 0;
}
