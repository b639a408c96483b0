// A program with launches in its source: clang registers the kernel, and it is launched by its host function.
#include <hip/hip_runtime.h>

extern "C" __global__ void urelu_f32(size_t numel, size_t, const size_t *, const float *inp, float *out) {
  const size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i < numel) out[i] = fmaxf(inp[i], 0.0f);
}

int main() {
  constexpr size_t size = 1000;
  float *memory = nullptr;
  if (hipMalloc(&memory, 2 * size * sizeof(float)) != hipSuccess) return 1;
  if (hipMemset(memory, 0xbf, 2 * size * sizeof(float)) != hipSuccess) return 1;
  urelu_f32<<<1, 1024>>>(size, 1, nullptr, memory, memory + size);
  size_t elements = size, rank = 1;
  const size_t *info = nullptr;
  float *out = memory + size;
  void *arguments[] = {&elements, &rank, &info, &memory, &out};
  if (hipExtLaunchKernel(reinterpret_cast<void *>(urelu_f32), 1, 1024, arguments, 0, nullptr, nullptr, nullptr, 0))
    return 1;
  return hipDeviceSynchronize() != hipSuccess;
}
