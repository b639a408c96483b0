// A program that is linked with launchers, whose kernels have names of C and names of C++, as Candle's have.
#include <hip/hip_runtime.h>

#include <cstdint>

namespace {

// Rows of `kx` floats to blocks of 32: scale and sum as float16, and 32 bytes. A thread makes a block.
__device__ void quantize(const float *x, void *vy, int kx, int kx_padded) {
  if (threadIdx.x % 32) return;
  const int first = blockIdx.x * blockDim.x + threadIdx.x;
  if (first >= kx_padded) return;
  auto *block = static_cast<unsigned char *>(vy) + 36 * ((blockIdx.y * kx_padded + first) / 32);
  float values[32], largest = 0, sum = 0;
  for (int n = 0; n < 32; ++n) {
    values[n] = first + n < kx ? x[blockIdx.y * kx + first + n] : 0.0f;
    largest = fmaxf(largest, fabsf(values[n]));
    sum += values[n];
  }
  const float scale = largest / 127.0f;
  const _Float16 head[] = {static_cast<_Float16>(scale), static_cast<_Float16>(sum)};
  __builtin_memcpy(block, head, sizeof head);
  for (int n = 0; n < 32; ++n)
    block[4 + n] = static_cast<unsigned char>(static_cast<int8_t>(largest == 0 ? 0 : roundf(values[n] / scale)));
#ifdef PLANTED
  block[35] += 1;
#endif
}

}  // namespace

extern "C" __global__ void mmvq_gguf_quantize_q8_1_f32(const float *x, void *vy, int kx, int kx_padded) {
  quantize(x, vy, kx, kx_padded);
}
__global__ void quantize_q8_1(const float *x, void *vy, int kx, int kx_padded) { quantize(x, vy, kx, kx_padded); }
template <class T, int by>
__global__ void scaled(T *values) {
  values[threadIdx.x] *= by;
}

extern "C" void launch_mmvq_gguf_quantize_q8_1_f32(const void *x, void *vy, int kx, int kx_padded, int num_rows,
                                                   void *stream) {
  mmvq_gguf_quantize_q8_1_f32<<<dim3((kx_padded + 255) / 256, num_rows), 256, 0, static_cast<hipStream_t>(stream)>>>(
      static_cast<const float *>(x), vy, kx, kx_padded);
}

int main() {
  constexpr int columns = 200, padded = 512, rows = 3;
  float values[rows * columns];
  for (int n = 0; n < rows * columns; ++n) values[n] = static_cast<float>(n * 37 % 101) / 50.0f - 1.0f;
  float *x = nullptr;
  void *y = nullptr;
  if (hipMalloc(&x, sizeof values) != hipSuccess || hipMalloc(&y, rows * padded / 32 * 36) != hipSuccess) return 1;
  if (hipMemcpy(x, values, sizeof values, hipMemcpyHostToDevice) != hipSuccess) return 1;
  launch_mmvq_gguf_quantize_q8_1_f32(x, y, columns, padded, rows, nullptr);
  quantize_q8_1<<<dim3(padded / 256, rows), 256>>>(x, y, columns, padded);
  scaled<float, 3><<<1, 64>>>(x);
  scaled<unsigned char, 5><<<1, 64>>>(static_cast<unsigned char *>(y));
  scaled<unsigned char, 5><<<1, 64>>>(static_cast<unsigned char *>(y));
  return hipDeviceSynchronize() != hipSuccess;
}
