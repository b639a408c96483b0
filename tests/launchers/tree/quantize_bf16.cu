// A launcher in CUDA's dialect: names in namespaces, a > among the template arguments, facts from the host API.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>

namespace outer {
namespace inner {

template <class T, bool SUMS>
__global__ void quantize(const T *x, uint8_t *y, int kx, int padded) {
  extern __shared__ float values[];
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  values[threadIdx.x] = column < kx ? __bfloat162float(x[size_t(blockIdx.y) * kx + column]) : 0.0f;
  __syncthreads();
  if (column >= padded || column % 32 != 0) return;
  float largest = 0.0f, sum = 0.0f;
  for (int i = 0; i < 32; ++i) {
    largest = fmaxf(largest, fabsf(values[threadIdx.x + i]));
    sum += values[threadIdx.x + i];
  }
  uint8_t *block = y + (size_t(blockIdx.y) * padded + column) / 32 * 36;
  reinterpret_cast<half *>(block)[0] = __float2half(largest / 127);
  reinterpret_cast<half *>(block)[1] = __float2half(SUMS ? sum : 0.0f);
  for (int i = 0; i < 32; ++i)
    block[4 + i] = largest == 0.0f ? 0 : uint8_t(int8_t(roundf(values[threadIdx.x + i] / (largest / 127))));
}

}  // namespace inner
}  // namespace outer

extern "C" void launch_mmvq_gguf_quantize_q8_1_bf16(const void *x, void *vy, int kx, int kx_padded, int num_rows,
                                                    void *stream) {
  cudaDeviceProp about;
  if (cudaGetDeviceProperties(&about, 0) != cudaSuccess || about.warpSize < 32) return;
  const int threads = 4 * about.warpSize, bytes = threads * static_cast<int>(sizeof(float));
  cudaFuncSetAttribute(outer::inner::quantize<__nv_bfloat16, (2 > 1)>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       bytes);
  const dim3 grid((kx_padded + threads - 1) / threads, num_rows);
  outer::inner::quantize<__nv_bfloat16, (2 > 1)><<<grid, threads, bytes, static_cast<cudaStream_t>(stream)>>>(
      static_cast<const __nv_bfloat16 *>(x), static_cast<uint8_t *>(vy), kx, kx_padded);
}
