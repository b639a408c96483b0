// fill_u32 as the specs have it: what a machine that can run kernels runs.
#include <hip/hip_runtime.h>

extern "C" __global__ void fill_u32(unsigned *buf, unsigned value, size_t numel) {
  const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
  for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < numel; i += step) buf[i] = value;
}
