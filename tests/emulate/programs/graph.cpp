// Calls a function of HIP that is not emulated.
#include <hip/hip_runtime_api.h>

#include <cstdio>

int main() {
  hipGraph_t graph;
  for (int i = 0; i < 2; ++i) std::printf("%s\n", hipGetErrorName(hipGraphCreate(&graph, 0)));
  return 3;
}
