#include <hip/hip_runtime.h>

#define FIRST (size_t(blockIdx.x) * blockDim.x + threadIdx.x)
#define STEP (size_t(blockDim.x) * gridDim.x)

#define FILL(NAME, T)                                                    \
  extern "C" __global__ void NAME(T *buf, T value, const size_t numel) { \
    for (size_t i = FIRST; i < numel; i += STEP) buf[i] = value;         \
  }
FILL(fill_u8, unsigned char)
FILL(fill_u32, unsigned)
FILL(fill_f32, float)
