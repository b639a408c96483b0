// What host code next to kernels may call, for sources that are compiled with their launchers (-DSIMT_LAUNCHERS): types
// and functions of HIP's host API, and launches. hipcc compiles host and device code in two passes; here both are one.
#pragma once
#pragma GCC system_header

#include "abi.h"
#include "entry.h"
#include "properties.h"
#include "thread.h"

#if defined(SIMT_PROGRAM)

// A program has HIP's own header, which the prelude has included; its host code is compiled by another compiler, and
// what this one makes of it is thrown away (hiprtc/host_code.h).
#define HIP_SYMBOL(x) x
extern "C" int hipcpuLaunch(const simt_kernel *rows, const simt_kernel *row, simt_index grid, simt_index block,
                            size_t shared, void *stream, void **arguments);

#else

typedef enum hipError_t {
  hipSuccess = 0,
#define HIP_ERROR(name, number, text) hipError##name = number,
#include "errors.inc"
#undef HIP_ERROR
  hipErrorMemoryAllocation = hipErrorOutOfMemory,
  hipErrorInvalidResourceHandle = hipErrorInvalidHandle
} hipError_t;

typedef enum hipMemcpyKind {
  hipMemcpyHostToHost = 0,
  hipMemcpyHostToDevice = 1,
  hipMemcpyDeviceToHost = 2,
  hipMemcpyDeviceToDevice = 3,
  hipMemcpyDefault = 4
} hipMemcpyKind;

typedef enum hipDeviceAttribute_t {
  hipDeviceAttributeComputeCapabilityMajor = 23,
  hipDeviceAttributeIntegrated = 16,
  hipDeviceAttributeMaxBlockDimX = 26,
  hipDeviceAttributeMaxBlockDimY = 27,
  hipDeviceAttributeMaxBlockDimZ = 28,
  hipDeviceAttributeMaxGridDimX = 29,
  hipDeviceAttributeMaxGridDimY = 30,
  hipDeviceAttributeMaxGridDimZ = 31,
  hipDeviceAttributeMaxThreadsPerBlock = 56,
  hipDeviceAttributeMaxThreadsPerMultiProcessor = 57,
  hipDeviceAttributeComputeCapabilityMinor = 61,
  hipDeviceAttributeMultiprocessorCount = 63,
  hipDeviceAttributeMaxSharedMemoryPerBlock = 74,
  hipDeviceAttributeSharedMemPerBlockOptin = 75,
  hipDeviceAttributeSharedMemPerMultiprocessor = 76,
  hipDeviceAttributeWarpSize = 87,
  hipDeviceAttributeMaxSharedMemoryPerMultiprocessor = 10002
} hipDeviceAttribute_t;

typedef enum hipFuncAttribute {
  hipFuncAttributeMaxDynamicSharedMemorySize = 8,
  hipFuncAttributePreferredSharedMemoryCarveout = 9
} hipFuncAttribute;

typedef struct hipFuncAttributes {
  int binaryVersion, cacheModeCA;
  size_t constSizeBytes, localSizeBytes;
  int maxDynamicSharedSizeBytes, maxThreadsPerBlock, numRegs, preferredShmemCarveout, ptxVersion;
  size_t sharedSizeBytes;
} hipFuncAttributes;

typedef struct ihipStream_t *hipStream_t;
typedef struct ihipEvent_t *hipEvent_t;
typedef simt::DeviceProperties hipDeviceProp_t;
#define hipStreamDefault 0x0
#define hipStreamNonBlocking 0x1
#define hipEventDefault 0x0
#define hipEventDisableTiming 0x2
#define hipMemAttachGlobal 0x1
#define HIP_SYMBOL(x) x

extern "C" {
hipError_t hipGetLastError();
hipError_t hipPeekAtLastError();
const char *hipGetErrorName(hipError_t error);
const char *hipGetErrorString(hipError_t error);

hipError_t hipGetDevice(int *device);
hipError_t hipSetDevice(int device);
hipError_t hipGetDeviceCount(int *count);
hipError_t hipDeviceGetAttribute(int *value, hipDeviceAttribute_t attribute, int device);
hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_t *properties, int device);
hipError_t hipDeviceSynchronize();

hipError_t hipFree(void *pointer);
hipError_t hipFreeAsync(void *pointer, hipStream_t stream);
hipError_t hipHostFree(void *pointer);
hipError_t hipMemcpy(void *to, const void *from, size_t bytes, hipMemcpyKind kind);
hipError_t hipMemcpyAsync(void *to, const void *from, size_t bytes, hipMemcpyKind kind, hipStream_t stream = nullptr);
hipError_t hipMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                            hipMemcpyKind kind, hipStream_t stream = nullptr);
hipError_t hipMemset(void *to, int value, size_t bytes);
hipError_t hipMemsetAsync(void *to, int value, size_t bytes, hipStream_t stream = nullptr);

hipError_t hipStreamCreate(hipStream_t *stream);
hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned flags);
hipError_t hipStreamCreateWithPriority(hipStream_t *stream, unsigned flags, int priority);
hipError_t hipStreamDestroy(hipStream_t stream);
hipError_t hipStreamSynchronize(hipStream_t stream);
hipError_t hipStreamQuery(hipStream_t stream);
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags);
hipError_t hipEventCreate(hipEvent_t *event);
hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned flags);
hipError_t hipEventDestroy(hipEvent_t event);
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream);
hipError_t hipEventSynchronize(hipEvent_t event);
hipError_t hipEventQuery(hipEvent_t event);
hipError_t hipEventElapsedTime(float *milliseconds, hipEvent_t from, hipEvent_t to);

// The runtime's own (runtime/hipcpu.h).
int hipcpuLaunch(const simt_kernel *rows, const simt_kernel *row, simt_index grid, simt_index block, size_t shared,
                 void *stream, void **arguments);
int hipcpuSetKernelAttribute(const void *kernel, int attribute, int value);

// Typed below.
int simt_malloc(void **pointer, size_t bytes) __asm__("hipMalloc");
int simt_malloc_async(void **pointer, size_t bytes, hipStream_t stream) __asm__("hipMallocAsync");
int simt_malloc_managed(void **pointer, size_t bytes, unsigned flags) __asm__("hipMallocManaged");
int simt_host_malloc(void **pointer, size_t bytes, unsigned flags) __asm__("hipHostMalloc");
}

template <class T>
SIMT_INLINE hipError_t hipMalloc(T **pointer, size_t bytes) {
  return static_cast<hipError_t>(simt_malloc(reinterpret_cast<void **>(pointer), bytes));
}
template <class T>
SIMT_INLINE hipError_t hipMallocAsync(T **pointer, size_t bytes, hipStream_t stream) {
  return static_cast<hipError_t>(simt_malloc_async(reinterpret_cast<void **>(pointer), bytes, stream));
}
template <class T>
SIMT_INLINE hipError_t hipHostMalloc(T **pointer, size_t bytes, unsigned flags = 0) {
  return static_cast<hipError_t>(simt_host_malloc(reinterpret_cast<void **>(pointer), bytes, flags));
}
namespace simt {
template <class T>
SIMT_INLINE char *bytes_of(const T &variable) {
  return const_cast<char *>(reinterpret_cast<const volatile char *>(&variable));
}
}  // namespace simt

template <class T>
SIMT_INLINE hipError_t hipMallocManaged(T **pointer, size_t bytes, unsigned flags = hipMemAttachGlobal) {
  return static_cast<hipError_t>(simt_malloc_managed(reinterpret_cast<void **>(pointer), bytes, flags));
}

// Variables of the source lie where its host code finds them, too: copies need no direction.
template <class T>
SIMT_INLINE hipError_t hipGetSymbolAddress(void **address, const T &symbol) {
  *address = simt::bytes_of(symbol);
  return hipSuccess;
}
template <class T>
SIMT_INLINE hipError_t hipMemcpyToSymbolAsync(const T &symbol, const void *from, size_t bytes, size_t offset,
                                              hipMemcpyKind, hipStream_t stream = nullptr) {
  char *to = simt::bytes_of(symbol) + offset;
  return hipMemcpyAsync(to, from, bytes, hipMemcpyDefault, stream);
}
template <class T>
SIMT_INLINE hipError_t hipMemcpyToSymbol(const T &symbol, const void *from, size_t bytes, size_t offset = 0,
                                         hipMemcpyKind = hipMemcpyHostToDevice) {
  char *to = simt::bytes_of(symbol) + offset;
  return hipMemcpy(to, from, bytes, hipMemcpyDefault);
}
template <class T>
SIMT_INLINE hipError_t hipMemcpyFromSymbolAsync(void *to, const T &symbol, size_t bytes, size_t offset, hipMemcpyKind,
                                                hipStream_t stream = nullptr) {
  return hipMemcpyAsync(to, simt::bytes_of(symbol) + offset, bytes, hipMemcpyDefault, stream);
}
template <class T>
SIMT_INLINE hipError_t hipMemcpyFromSymbol(void *to, const T &symbol, size_t bytes, size_t offset = 0,
                                           hipMemcpyKind = hipMemcpyDeviceToHost) {
  return hipMemcpy(to, simt::bytes_of(symbol) + offset, bytes, hipMemcpyDefault);
}

// Two blocks of the largest size fit a multiprocessor, as in device_api.cpp.
template <class F>
SIMT_INLINE hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, F, int threads, size_t) {
  if (threads < 1 || threads > SIMT_MAX_THREADS) return hipErrorInvalidValue;
  *blocks = 2 * SIMT_MAX_THREADS / threads;
  return hipSuccess;
}
template <class F>
SIMT_INLINE hipError_t hipOccupancyMaxPotentialBlockSize(int *grid, int *block, F, size_t, int limit = 0) {
  *grid = 2;
  *block = limit > 0 && limit < SIMT_MAX_THREADS ? limit : SIMT_MAX_THREADS;
  return hipSuccess;
}
template <class F>
SIMT_INLINE hipError_t hipFuncGetAttributes(hipFuncAttributes *found, F) {
  *found = {};
  found->maxDynamicSharedSizeBytes = SIMT_MAX_DYNAMIC_SHARED;
  found->maxThreadsPerBlock = SIMT_MAX_THREADS;
  return hipSuccess;
}

SIMT_INLINE hipError_t hipGetDeviceProperties(hipDeviceProp_t *properties, int device) {
  return hipGetDevicePropertiesR0600(properties, device);
}
SIMT_INLINE hipError_t hipFuncSetAttribute(const void *kernel, hipFuncAttribute attribute, int value) {
  return static_cast<hipError_t>(hipcpuSetKernelAttribute(kernel, attribute, value));
}
template <class... A>
SIMT_INLINE hipError_t hipFuncSetAttribute(void (*kernel)(A...), hipFuncAttribute attribute, int value) {
  return hipFuncSetAttribute(reinterpret_cast<const void *>(kernel), attribute, value);
}

#endif

namespace simt {

// The compiler's spelling of a kernel, for messages.
template <auto Kernel>
constexpr auto spelled_kernel() {
  constexpr unsigned size = sizeof(__PRETTY_FUNCTION__) - 1;
  constexpr auto first = [](const char *p) {
    unsigned at = 0;
    while (!(p[at] == 'K' && p[at + 1] == 'e' && p[at + 6] == ' ' && p[at + 7] == '=')) ++at;
    return at + (p[at + 9] == '&' ? 10 : 9);
  };
  constexpr unsigned begin = first(__PRETTY_FUNCTION__);
  text<size - 1 - begin> result;
  for (unsigned i = begin; i < size - 1; ++i) result.s[i - begin] = __PRETTY_FUNCTION__[i];
  return result;
}

/// `kernel<<<grid, block, shared, stream>>>(arguments)` becomes `launched<&kernel>(grid, block, shared,
/// stream)(arguments)`: the arguments are converted to the kernel's parameters as those of any call.
template <auto Kernel>
struct launched;

template <class... A, void (*Kernel)(A...)>
struct launched<Kernel> {
  static constexpr auto name = spelled_kernel<Kernel>();
  static constexpr simt_kernel row = simt::row<Kernel>(name.s, "", 0);

  dim3 grid, block;
  size_t shared;
  void *stream;

  launched(dim3 grid_, dim3 block_, size_t shared_ = 0, hipStream_t stream_ = nullptr)
      : grid(grid_), block(block_), shared(shared_), stream(stream_) {}

  void operator()(A... arguments) const {
    void *pointers[] = {const_cast<void *>(reinterpret_cast<const volatile void *>(&arguments))..., nullptr};
    hipcpuLaunch(simt_kernels, &row, {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared, stream, pointers);
  }
};

}  // namespace simt

#if defined(SIMT_PROGRAM)

namespace simt {
// What a launch evaluates. The call of the kernel behind it has the compiler find the instance of a template.
SIMT_INLINE void configured(dim3, dim3, size_t = 0, hipStream_t = nullptr) {}
}  // namespace simt

#define hipLaunchKernelGGL(kernel, grid, block, shared, stream, ...) \
  (::simt::configured(grid, block, shared, stream), kernel(__VA_ARGS__))

#else

#define hipLaunchKernelGGL(kernel, grid, block, shared, stream, ...) \
  ::simt::launched<&kernel>(grid, block, shared, stream)(__VA_ARGS__)
#endif
#define hipExtLaunchKernelGGL(kernel, grid, block, shared, stream, begin, end, flags, ...) \
  hipLaunchKernelGGL(kernel, grid, block, shared, stream, __VA_ARGS__)
