// A launcher as a port would have it, and others that do what one must not do. The kernel is a template, which only the
// launch instantiates, and has shared memory of its own.
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>

struct Block {
  __half d, s;
  int8_t quants[32];
};

template <class T, int THREADS>
__global__ void quantize(const T *x, Block *y, int kx, int padded) {
  __shared__ float values[THREADS];
  const int column = blockIdx.x * THREADS + threadIdx.x;
  const float value = column < kx ? static_cast<float>(x[size_t(blockIdx.y) * kx + column]) : 0.0f;
  values[threadIdx.x] = value;
  __syncthreads();
  if (column >= padded || column % 32 != 0) return;
  float largest = 0.0f, sum = 0.0f;
  for (int i = 0; i < 32; ++i) {
    largest = fmaxf(largest, fabsf(values[threadIdx.x + i]));
    sum += values[threadIdx.x + i];
  }
  const float d = largest / 127;
  Block &block = y[(size_t(blockIdx.y) * padded + column) / 32];
  block.d = __float2half(d);
  block.s = __float2half(sum);
  for (int i = 0; i < 32; ++i) block.quants[i] = largest == 0.0f ? 0 : int8_t(roundf(values[threadIdx.x + i] / d));
}

__global__ void write_at(char *at, long offset) { at[offset] = 1; }

template <class T>
static void run(const void *x, void *vy, int kx, int padded, int rows, hipStream_t stream) {
  const dim3 grid((padded + 255) / 256, rows);
  quantize<T, 256><<<grid, 256, 0, stream>>>(static_cast<const T *>(x), static_cast<Block *>(vy), kx, padded);
}

// What the launcher for f32 does wrong, by the environment: one compilation serves every test.
enum Fault {
  RIGHT,
  CRASHES,
  HANGS,
  FREES_TWICE,
  FREES_TWICE_ON_HOST,
  FREES_ARGUMENT,
  NULL_STREAM,
  MEMSET,
  PENDING,
  WRITES_OUTSIDE,
  WRONG,
  FORBIDDEN,
  WAITS,  // for its stream, which is right
  LEAKS
};
static Fault fault() {
  const char *text = getenv("LAUNCHER_FAULT");
  return text == nullptr ? RIGHT : Fault(atoi(text));
}
// Whether it does so as the advice of the cause says.
static bool is_mended() { return getenv("LAUNCHER_MENDED") != nullptr; }

extern "C" void launch_mmvq_gguf_quantize_q8_1_f32(const void *x, void *vy, int kx, int kx_padded, int num_rows,
                                                   void *stream) {
  const Fault now = fault();
  const bool mended = is_mended();
  const hipStream_t s = static_cast<hipStream_t>(stream);
  char *const out = static_cast<char *>(vy);
  if (now == CRASHES) *reinterpret_cast<volatile int *>(8) = 1;
  for (volatile int turns = now == HANGS; turns;) {
  }
  if (now == MEMSET) (void)(mended ? hipMemsetAsync(out, 0xa5, 1, s) : hipMemset(out, 0xa5, 1));
  run<float>(x, vy, kx, kx_padded, num_rows, now == NULL_STREAM && !mended ? nullptr : s);
  if (now == FREES_TWICE) {
    void *room = nullptr;
    if (hipMalloc(&room, 64) == hipSuccess) (void)hipFree(room);
    if (!mended) (void)hipFree(room);
  }
  if (now == FREES_TWICE_ON_HOST) {
    void *volatile room = malloc(64);
    free(room);
    free(room);
  }
  if (now == FREES_ARGUMENT && !mended) (void)hipFree(vy);
  if (now == PENDING) {
    write_at<<<1, 2048, 0, s>>>(out, 0);  // more threads than a block has
    if (mended && hipGetLastError() != hipSuccess) run<float>(x, vy, kx, kx_padded, num_rows, s);
  }
  if (now == WRITES_OUTSIDE) {
    write_at<<<1, 1, 0, s>>>(out, 1 << 16);
    (void)hipGetLastError();
  }
  if (now == WRONG) (void)hipMemsetAsync(out, 0, 4, s);
  if (now == FORBIDDEN) (void)socket(AF_INET, SOCK_STREAM, 0);
  if (now == WAITS) (void)hipStreamSynchronize(s);
  if (now == LEAKS) {
    void *room = nullptr;
    (void)hipMalloc(&room, 64);
  }
}

// The other spelling of a launch, and facts about the device.
extern "C" void launch_mmvq_gguf_quantize_q8_1_f16(const void *x, void *vy, int kx, int kx_padded, int num_rows,
                                                   hipStream_t stream) {
  int lanes = 0;
  if (hipDeviceGetAttribute(&lanes, hipDeviceAttributeWarpSize, 0) != hipSuccess || lanes < 32) return;
  hipLaunchKernelGGL((quantize<__half, 256>), dim3((kx_padded + 255) / 256, num_rows), dim3(256), 0, stream,
                     static_cast<const __half *>(x), static_cast<Block *>(vy), kx, kx_padded);
}

// The scratch of a product in tiles is its caller's; what lies behind it is nobody's.
extern "C" void launch_mmq_gguf_q4_0(void *tmp_fixup, const void *, const void *, void *, long, long, long, long, long,
                                     int, int, long, int, void *stream) {
  const long bytes = 256l * 128 * 128 * 4;
  write_at<<<1, 1, 0, static_cast<hipStream_t>(stream)>>>(static_cast<char *>(tmp_fixup), bytes - is_mended());
}
