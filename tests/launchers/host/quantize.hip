// A launcher whose host code does what is wrong on a GPU alone, or looks wrong and is right, by the environment.
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <stdexcept>
#include <vector>

struct Block {
  __half d, s;
  int8_t quants[32];
};

__global__ void quantize(const float *x, Block *y, int kx, int padded) {
  const int first = 32 * threadIdx.x;
  float values[32], largest = 0.0f, sum = 0.0f;
  for (int i = 0; i < 32; ++i) {
    values[i] = first + i < kx ? x[size_t(blockIdx.x) * kx + first + i] : 0.0f;
    largest = fmaxf(largest, fabsf(values[i]));
    sum += values[i];
  }
  const float d = largest / 127;
  Block &block = y[size_t(blockIdx.x) * (padded / 32) + threadIdx.x];
  block.d = __float2half(d);
  block.s = __float2half(sum);
  for (int i = 0; i < 32; ++i) block.quants[i] = largest == 0.0f ? 0 : int8_t(roundf(values[i] / d));
}

__global__ void read(const int *from, char *to) {
  if (*from != 3) *to = 0;
}

__global__ void read_value(int value, char *to) {
  if (value != 3) *to = 0;
}

__constant__ int three;

enum Doing {
  RIGHT,
  FREES_TWICE,
  READS_DEVICE,
  WRITES_DEVICE,
  WRITES_OWN,
  PASSES_HEAP,
  PASSES_STACK,
  COPIES,
  LEAVES_EARLY,
  STARTS_EARLY,
  INDEX,
  FORKS,  // from here on it is right
  COPIES_LATER,
  PRINTS,
  CATCHES,
  ASKS,
  UPLOADS,
};

static void check(bool good) {
  if (!good) throw std::runtime_error("a call failed");
}

// Another stream between two events, both of which a right launcher waits for.
static hipStream_t forked(hipStream_t from, bool waits) {
  hipStream_t to = nullptr;
  hipEvent_t event = nullptr;
  check(hipStreamCreateWithFlags(&to, hipStreamNonBlocking) == hipSuccess);
  check(hipEventCreateWithFlags(&event, hipEventDisableTiming) == hipSuccess);
  check(hipEventRecord(event, from) == hipSuccess);
  if (waits) check(hipStreamWaitEvent(to, event, 0) == hipSuccess);
  check(hipEventDestroy(event) == hipSuccess);
  return to;
}
static void join(hipStream_t to, hipStream_t from, bool waits) {
  hipEvent_t event = nullptr;
  check(hipEventCreateWithFlags(&event, hipEventDisableTiming) == hipSuccess);
  check(hipEventRecord(event, from) == hipSuccess);
  if (waits) check(hipStreamWaitEvent(to, event, 0) == hipSuccess);
  check(hipEventDestroy(event) == hipSuccess);
  check(hipStreamDestroy(from) == hipSuccess);
}

extern "C" void launch_mmvq_gguf_quantize_q8_1_f32(const void *x, void *vy, int kx, int kx_padded, int num_rows,
                                                   void *stream) {
  const char *text = getenv("LAUNCHER_DOING");
  const Doing now = text == nullptr ? RIGHT : Doing(atoi(text));
  const bool mended = getenv("LAUNCHER_MENDED") != nullptr;  // as the advice of the cause says
  const hipStream_t given = static_cast<hipStream_t>(stream);
  const bool forks = now == FORKS || now == LEAVES_EARLY || now == STARTS_EARLY;
  const hipStream_t s = forks ? forked(given, mended || now != STARTS_EARLY) : given;
  quantize<<<num_rows, kx_padded / 32, 0, s>>>(static_cast<const float *>(x), static_cast<Block *>(vy), kx, kx_padded);
  if (forks) join(given, s, mended || now != LEAVES_EARLY);
  char *const out = static_cast<char *>(vy);
  if (now == FREES_TWICE) {
    void *room = nullptr;
    check(hipMalloc(&room, 64) == hipSuccess && hipFree(room) == hipSuccess);
    if (!mended) (void)hipFree(room);
    (void)hipGetLastError();
  }
  if (mended && (now == READS_DEVICE || now == COPIES)) {
    float first = 0;
    check(hipMemcpyAsync(&first, x, 4, hipMemcpyDeviceToHost, s) == hipSuccess);
    check(hipStreamSynchronize(s) == hipSuccess && first != 12345.0f);
  }
  if (now == READS_DEVICE && !mended && *static_cast<const volatile float *>(x) == 12345.0f) abort();
  if (now == WRITES_DEVICE) *static_cast<volatile char *>(vy) = 0;
  if (now == WRITES_OWN) {
    void *room = nullptr;
    check(hipMalloc(&room, 64) == hipSuccess);
    if (mended) read_value<<<1, 1, 0, s>>>(0, static_cast<char *>(room));
    if (!mended) *static_cast<volatile char *>(room) = 0;
  }
  const std::vector<int> heap(1000, 3);
  const int stack = 3;
  if (now == PASSES_HEAP && !mended) read<<<1, 1, 0, s>>>(heap.data(), out);
  if (now == PASSES_STACK && mended) read_value<<<1, 1, 0, s>>>(stack, out);
  if (now == PASSES_STACK && !mended) read<<<1, 1, 0, s>>>(&stack, out);
  int word = 0;
  if (now == COPIES_LATER) check(hipStreamSynchronize(given) == hipSuccess);
  const bool copies = now == COPIES && !mended;
  if (copies || now == COPIES_LATER) check(hipMemcpy(&word, x, 4, hipMemcpyDeviceToHost) == hipSuccess);
  volatile int beyond = 9;
  const int few[4] = {kx};
  if (now == INDEX && few[beyond] == 12345) abort();
  if (now == PRINTS) printf("a launcher prints\n");
  if (now == ASKS) {
    int blocks = 0;
    hipFuncAttributes attributes;
    void *address = nullptr;
    check(hipMemcpyToSymbolAsync(HIP_SYMBOL(three), &stack, sizeof stack, 0, hipMemcpyHostToDevice, s) == hipSuccess);
    check(hipGetSymbolAddress(&address, HIP_SYMBOL(three)) == hipSuccess);
    check(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, quantize, 64, 0) == hipSuccess && blocks > 0);
    check(hipFuncGetAttributes(&attributes, reinterpret_cast<const void *>(&quantize)) == hipSuccess);
    check(attributes.maxThreadsPerBlock >= 64);
    read<<<1, 1, 0, s>>>(static_cast<const int *>(address), out);
  }
  if (now == UPLOADS || (now == PASSES_HEAP && mended)) {
    int *room = nullptr;
    const int *const from = now == UPLOADS ? &stack : heap.data();
    check(hipMalloc(&room, 4) == hipSuccess);
    check(hipMemcpy(room, from, 4, hipMemcpyHostToDevice) == hipSuccess);
    read<<<1, 1, 0, s>>>(room, out);
    check(hipFreeAsync(room, s) == hipSuccess);
  }
  if (now == CATCHES) {
    try {
      check(false);
    } catch (const std::exception &error) {
      if (error.what()[0] != 'a') abort();
    }
  }
}
