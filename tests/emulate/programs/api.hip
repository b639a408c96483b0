// Calls of HIP's API that programs make around their kernels: two devices, memory of every kind, streams, threads of
// the host, symbols, managed variables. Prints what was wrong, a line each; nothing where all is right.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#pragma clang diagnostic ignored "-Wdeprecated-declarations"  // of contexts, which programs still use

extern "C" hipError_t hipDeviceSetLimit(enum hipLimit_t limit, size_t value);  // not in the headers of HIP 5

namespace {

int wrong = 0;

void expect(bool right, const char *what, int line) {
  if (right) return;
  std::printf("line %d: %s\n", line, what);
  ++wrong;
}

}  // namespace

#define OK(call) expect((call) == hipSuccess, #call, __LINE__)
#define HOLDS(what) expect(what, #what, __LINE__)

__device__ int counter = 5;
__constant__ float factors[2];
__managed__ int shared_count = 40;

__global__ void add(int *x, int n, int by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += by;
}
__global__ void use_symbols(float *out) {
  out[0] = factors[0] * counter;
  atomicAdd(&shared_count, 2);
}

namespace {

void devices() {
  int count = 0, device = -1, can = 0, value = 0;
  OK(hipGetDeviceCount(&count));
  HOLDS(count == 2);
  HOLDS(hipSetDevice(2) == hipErrorInvalidDevice && hipGetLastError() == hipErrorInvalidDevice);
  OK(hipSetDevice(1));
  OK(hipGetDevice(&device));
  HOLDS(device == 1);
  hipDeviceProp_t properties;
  OK(hipGetDeviceProperties(&properties, 1));
  HOLDS(properties.pciBusID == 1 && properties.totalGlobalMem > 0 && properties.maxThreadsPerBlock == 1024);
  char name[64], id[32];
  OK(hipDeviceGetName(name, sizeof name, 0));
  HOLDS(std::strcmp(name, properties.name) == 0);
  OK(hipDeviceGetPCIBusId(id, sizeof id, 1));
  OK(hipDeviceGetByPCIBusId(&device, id));
  HOLDS(device == 1);
  OK(hipDeviceGetAttribute(&value, hipDeviceAttributeWarpSize, 0));
  HOLDS(value == properties.warpSize);
  OK(hipDeviceCanAccessPeer(&can, 0, 1));
  HOLDS(can == 1);
  HOLDS(hipDeviceDisablePeerAccess(0) == hipErrorPeerAccessNotEnabled);
  HOLDS(hipDeviceEnablePeerAccess(0, 1) == hipErrorInvalidValue);
  HOLDS(hipDeviceEnablePeerAccess(1, 0) == hipErrorInvalidDevice);
  OK(hipDeviceEnablePeerAccess(0, 0));
  HOLDS(hipDeviceEnablePeerAccess(0, 0) == hipErrorPeerAccessAlreadyEnabled);
  HOLDS(hipGetLastError() == hipErrorPeerAccessAlreadyEnabled);
  OK(hipDeviceDisablePeerAccess(0));
  OK(hipDeviceEnablePeerAccess(0, 0));
  hipCtx_t context;
  OK(hipDevicePrimaryCtxRetain(&context, 0));
  OK(hipCtxPushCurrent(context));
  OK(hipGetDevice(&device));
  HOLDS(device == 0);
  OK(hipCtxPopCurrent(&context));
  OK(hipGetDevice(&device));
  HOLDS(device == 1);
  std::thread([] {
    int other = -1;
    OK(hipGetDevice(&other));
    HOLDS(other == 0);  // each thread begins with the first
  }).join();

  int *here, *there;
  hipPointerAttribute_t attributes;
  OK(hipMalloc(reinterpret_cast<void **>(&here), 16));
  OK(hipPointerGetAttributes(&attributes, here));
  HOLDS(attributes.device == 1);
  OK(hipSetDevice(0));
  OK(hipMalloc(reinterpret_cast<void **>(&there), 16));
  OK(hipMemset(here, 7, 16));
  OK(hipMemcpyPeer(there, 0, here, 1, 16));
  int found[4];
  OK(hipMemcpy(found, there, 16, hipMemcpyDeviceToHost));
  HOLDS(found[3] == 0x07070707);
  OK(hipFree(here));
  OK(hipFree(there));
}

void memory_of_every_kind() {
  constexpr int n = 100;
  hipStream_t stream;
  OK(hipStreamCreateWithPriority(&stream, hipStreamNonBlocking, -1));
  int priority = 0, *pinned, *on_device, *managed;
  unsigned flags = 0;
  OK(hipStreamGetPriority(stream, &priority));
  OK(hipStreamGetFlags(stream, &flags));
  HOLDS(priority == -1 && flags == hipStreamNonBlocking);
  OK(hipHostMalloc(reinterpret_cast<void **>(&pinned), n * sizeof(int), 0));
  OK(hipMallocAsync(reinterpret_cast<void **>(&on_device), n * sizeof(int), stream));
  OK(hipMallocManaged(reinterpret_cast<void **>(&managed), n * sizeof(int)));
  for (int i = 0; i < n; ++i) pinned[i] = managed[i] = i;
  OK(hipMemcpyHtoDAsync(on_device, pinned, n * sizeof(int), stream));
  add<<<2, 64, 0, stream>>>(on_device, n, 3);
  add<<<2, 64, 0, stream>>>(pinned, n, 1);
  add<<<2, 64, 0, stream>>>(managed, n, 1);
  OK(hipGetLastError());
  std::vector<int> back(n);
  OK(hipMemcpyDtoHAsync(back.data(), on_device, n * sizeof(int), stream));
  OK(hipStreamSynchronize(stream));
  HOLDS(back[99] == 102 && pinned[99] == 100 && managed[99] == 100);

  OK(hipHostRegister(back.data(), n * sizeof(int), 0));
  int *mapped;
  OK(hipHostGetDevicePointer(reinterpret_cast<void **>(&mapped), back.data(), 0));
  add<<<2, 64>>>(mapped, n, 1);
  OK(hipDeviceSynchronize());
  HOLDS(back[0] == 4);
  OK(hipHostUnregister(back.data()));

  OK(hipMemsetD32Async(on_device, 0x01020304, n, stream));
  OK(hipMemcpyAsync(back.data(), on_device, n * sizeof(int), hipMemcpyDefault, stream));
  HOLDS(back[n - 1] == 0x01020304);

  void *rows;
  std::size_t pitch;
  OK(hipMallocPitch(&rows, &pitch, 10, 4));
  OK(hipMemset2D(rows, pitch, 5, 10, 4));
  char block[4][10] = {};
  OK(hipMemcpy2D(block, 10, rows, pitch, 10, 4, hipMemcpyDeviceToHost));
  HOLDS(pitch >= 10 && block[3][9] == 5);
  hipMemcpy3DParms copy = {};
  copy.srcPtr = make_hipPitchedPtr(rows, pitch, 10, 4);
  copy.dstPtr = make_hipPitchedPtr(block, 10, 10, 4);
  copy.extent = make_hipExtent(10, 4, 1);
  copy.kind = hipMemcpyDeviceToHost;
  std::memset(block, 0, sizeof block);
  OK(hipMemcpy3D(&copy));
  HOLDS(block[3][9] == 5);

  hipMemPool_t pool;
  std::uint64_t threshold = ~std::uint64_t{0}, got = 0;
  OK(hipDeviceGetDefaultMemPool(&pool, 0));
  OK(hipMemPoolSetAttribute(pool, hipMemPoolAttrReleaseThreshold, &threshold));
  OK(hipMemPoolGetAttribute(pool, hipMemPoolAttrReleaseThreshold, &got));
  HOLDS(got == threshold);
  hipMemPool_t other;
  hipMemPoolProps properties = {};
  properties.location.type = hipMemLocationTypeDevice;
  OK(hipMemPoolCreate(&other, &properties));
  OK(hipDeviceSetMemPool(0, other));
  OK(hipDeviceGetMemPool(&pool, 0));
  HOLDS(pool == other);
  OK(hipMemPoolDestroy(other));
  OK(hipDeviceGetMemPool(&pool, 0));
  HOLDS(pool != other);
  HOLDS(hipMallocPitch(&rows, &pitch, ~std::size_t{0}, 2) == hipErrorOutOfMemory);
  void *of_pool;
  OK(hipMallocFromPoolAsync(&of_pool, 64, pool, stream));
  OK(hipFreeAsync(of_pool, stream));
  OK(hipFreeAsync(on_device, stream));
  OK(hipFree(rows));
  OK(hipFree(managed));
  OK(hipHostFree(pinned));
  HOLDS(hipFree(block) == hipErrorInvalidValue);
  OK(hipStreamDestroy(stream));
}

void order() {
  hipStream_t one, two;
  hipEvent_t begin, end;
  OK(hipStreamCreate(&one));
  OK(hipStreamCreate(&two));
  OK(hipEventCreate(&begin));
  OK(hipEventCreateWithFlags(&end, hipEventBlockingSync));
  int *x, value = 0, called = 0;
  OK(hipMalloc(reinterpret_cast<void **>(&x), sizeof(int)));
  OK(hipMemsetAsync(x, 0, sizeof(int), one));
  OK(hipEventRecord(begin, one));
  add<<<1, 1, 0, one>>>(x, 1, 1);
  OK(hipEventRecord(end, one));
  OK(hipStreamWaitEvent(two, end, 0));
  add<<<1, 1, 0, two>>>(x, 1, 10);
  add<<<1, 1>>>(x, 1, 100);  // the null stream waits for both
  OK(hipStreamAddCallback(
      two, [](hipStream_t, hipError_t error, void *data) { *static_cast<int *>(data) = error == hipSuccess; }, &called,
      0));
  OK(hipMemcpy(&value, x, sizeof value, hipMemcpyDeviceToHost));
  HOLDS(value == 111 && called == 1);
  float milliseconds = -1;
  OK(hipEventSynchronize(end));
  OK(hipEventElapsedTime(&milliseconds, begin, end));
  HOLDS(milliseconds > 0);
  int by = 1, count = 1;
  void *arguments[] = {&x, &count, &by};
  OK(hipExtLaunchKernel(reinterpret_cast<const void *>(add), dim3(1), dim3(1), arguments, 0, one, begin, end, 0));
  float shorter = -1;
  OK(hipEventElapsedTime(&shorter, begin, end));
  HOLDS(shorter > 0 && shorter != milliseconds);
  HOLDS(hipStreamWriteValue32(one, &value, 1, 0) == hipErrorInvalidValue);  // no memory of the device
  OK(hipStreamWriteValue32(one, x, 1, 0));
  OK(hipStreamWaitValue32(one, x, 1, hipStreamWaitValueEq, 1));
  OK(hipEventQuery(end));
  OK(hipStreamQuery(two));
  HOLDS(hipStreamQuery(reinterpret_cast<hipStream_t>(&value)) == hipErrorInvalidHandle);
  HOLDS(hipGetLastError() == hipErrorInvalidHandle && hipGetLastError() == hipSuccess);
  OK(hipFree(x));
}

void symbols() {
  const float host[2] = {1.5f, 0};
  int five = 0;
  void *address;
  std::size_t bytes = 0;
  OK(hipMemcpyToSymbol(HIP_SYMBOL(factors), host, sizeof host));
  OK(hipMemcpyFromSymbol(&five, HIP_SYMBOL(counter), sizeof five));
  OK(hipGetSymbolAddress(&address, HIP_SYMBOL(counter)));
  OK(hipGetSymbolSize(&bytes, HIP_SYMBOL(factors)));
  HOLDS(five == 5 && bytes == sizeof host);
  OK(hipMemset(address, 0, sizeof(int)));
  float *out, got = -1;
  OK(hipMalloc(reinterpret_cast<void **>(&out), sizeof(float)));
  const int six = 6;
  OK(hipMemcpy(address, &six, sizeof six, hipMemcpyHostToDevice));
  use_symbols<<<1, 1>>>(out);
  OK(hipMemcpy(&got, out, sizeof got, hipMemcpyDeviceToHost));
  HOLDS(got == 9.0f);
  HOLDS(shared_count == 42);
  hipFuncAttributes attributes;
  OK(hipFuncGetAttributes(&attributes, reinterpret_cast<const void *>(add)));
  HOLDS(attributes.maxThreadsPerBlock == 1024 && attributes.numRegs > 0);
  int grid = 0, block = 0;
  OK(hipOccupancyMaxPotentialBlockSize(&grid, &block, add, 0, 0));
  HOLDS(grid > 0 && block == 1024);
  OK(hipFree(out));
}

// All blocks of a cooperative launch must have a place at once.
void cooperative() {
  int blocks = 0, multiprocessors = 0, most_shared = 0, *x, value = 0, n = 1, by = 1;
  OK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 32, 0));
  OK(hipDeviceGetAttribute(&multiprocessors, hipDeviceAttributeMultiprocessorCount, 0));
  OK(hipDeviceGetAttribute(&most_shared, hipDeviceAttributeMaxSharedMemoryPerBlock, 0));
  OK(hipMalloc(reinterpret_cast<void **>(&x), sizeof(int)));
  OK(hipMemset(x, 0, sizeof(int)));
  void *arguments[] = {&x, &n, &by};
  const auto launched = [&](unsigned places, unsigned shared) {
    return hipLaunchCooperativeKernel(reinterpret_cast<const void *>(add), dim3(places), dim3(32), arguments, shared,
                                      0);
  };
  const unsigned places = blocks * multiprocessors;
  OK(launched(places, 0));
  HOLDS(launched(places + 1, 0) == hipErrorCooperativeLaunchTooLarge);
  HOLDS(launched(1, most_shared + 1) == hipErrorCooperativeLaunchTooLarge);
  HOLDS(hipGetLastError() == hipErrorCooperativeLaunchTooLarge);
  OK(hipMemcpy(&value, x, sizeof value, hipMemcpyDeviceToHost));
  HOLDS(value == 1);
  OK(hipFree(x));
}

// The program's own kernels stay when the device is reset.
void reset() {
  int *x, value = 0;
  OK(hipDeviceSetLimit(hipLimitMallocHeapSize, 1 << 24));
  std::size_t heap = 0;
  OK(hipDeviceGetLimit(&heap, hipLimitMallocHeapSize));
  HOLDS(heap == 1 << 24);
  OK(hipDeviceReset());
  OK(hipMalloc(reinterpret_cast<void **>(&x), sizeof(int)));
  OK(hipMemset(x, 0, sizeof(int)));
  add<<<1, 1>>>(x, 1, 5);
  OK(hipGetLastError());
  OK(hipMemcpy(&value, x, sizeof value, hipMemcpyDeviceToHost));
  HOLDS(value == 5);
  OK(hipFree(x));
}

void threads() {
  constexpr int count = 4, launches = 20;
  std::vector<std::thread> all;
  std::vector<int> sums(count);
  for (int t = 0; t < count; ++t)
    all.emplace_back([t, &sums] {
      OK(hipSetDevice(t % 2));
      hipStream_t stream;
      OK(hipStreamCreate(&stream));
      int *x;
      OK(hipMalloc(reinterpret_cast<void **>(&x), sizeof(int)));
      OK(hipMemsetAsync(x, 0, sizeof(int), stream));
      for (int i = 0; i < launches; ++i) add<<<1, 32, 0, stream>>>(x, 1, t);
      OK(hipGetLastError());
      OK(hipMemcpyAsync(&sums[t], x, sizeof(int), hipMemcpyDeviceToHost, stream));
      OK(hipStreamSynchronize(stream));
      OK(hipFree(x));
      OK(hipStreamDestroy(stream));
    });
  for (std::thread &thread : all) thread.join();
  for (int t = 0; t < count; ++t) HOLDS(sums[t] == launches * t);
}

}  // namespace

int main() {
  devices();
  memory_of_every_kind();
  order();
  symbols();
  cooperative();
  threads();
  reset();
  return wrong != 0;
}
