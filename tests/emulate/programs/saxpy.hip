// An ordinary HIP program: allocates, copies, launches with <<<>>>, checks what comes back.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                           \
  if (const hipError_t error = (call); error != hipSuccess) { \
    std::printf("%s: %s\n", #call, hipGetErrorName(error));   \
    return 1;                                                 \
  }

__global__ void saxpy(int size, float a, const float *x, float *y) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += gridDim.x * blockDim.x) y[i] = a * x[i] + y[i];
}

int main(int count, char **words) {
  const int size = 1000, launched = count > 1 ? std::atoi(words[1]) : size;
  hipDeviceProp_t device;
  CHECK(hipGetDeviceProperties(&device, 0));
  std::vector<float> x(size), y(size, 1.0f);
  for (int i = 0; i < size; ++i) x[i] = static_cast<float>(i);
  float *on_device_x, *on_device_y;
  CHECK(hipMalloc(&on_device_x, size * sizeof(float)));
  CHECK(hipMalloc(&on_device_y, size * sizeof(float)));
  CHECK(hipMemcpy(on_device_x, x.data(), size * sizeof(float), hipMemcpyHostToDevice));
  CHECK(hipMemcpy(on_device_y, y.data(), size * sizeof(float), hipMemcpyHostToDevice));
  saxpy<<<4, 64>>>(launched, 2.0f, on_device_x, on_device_y);
  CHECK(hipGetLastError());
  CHECK(hipMemcpy(y.data(), on_device_y, size * sizeof(float), hipMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < size; ++i) wrong += y[i] != 2.0f * x[i] + 1.0f;
  std::printf("%s %d lanes: %d of %d wrong\n", device.gcnArchName, device.warpSize, wrong, size);
  return wrong != 0;
}
