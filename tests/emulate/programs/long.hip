// A launch of two blocks, of which the first takes seconds to interpret.
#include <hip/hip_runtime.h>

__global__ void wait(unsigned *x) {
  unsigned value = x[blockIdx.x];
  const int count = blockIdx.x ? 1 : 50000000;
  for (int i = 0; i < count; ++i) value = value * value + 1;
  x[blockIdx.x] = value;
}

int main() {
  unsigned *x;
  if (hipMalloc(reinterpret_cast<void **>(&x), 2 * sizeof *x) != hipSuccess) return 1;
  wait<<<2, 1>>>(x);
  return hipDeviceSynchronize() != hipSuccess;
}
