// The second source of two_sources.hip. Its kernel and its variable are called as others in the first.
#include "two_sources.h"

static __device__ int counter = 1;

static __global__ void same(int *x) { x[threadIdx.x] = 200 + counter; }

int launch_in_other_source(int *on_device) {
  fill<<<1, 1>>>(reinterpret_cast<float *>(on_device), 3.0f);
  same<<<1, 64>>>(on_device);
  CHECK(hipGetLastError());
  return 0;
}
