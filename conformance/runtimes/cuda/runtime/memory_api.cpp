// hipMalloc, hipMemcpy and related functions.
#include <cstring>

#include "api.h"
#include "session.h"

using namespace cuda;
using namespace simt;

namespace {

enum MemoryType : int { Host = 1, Device = 2, Unified = 4 };

std::uint64_t number(const void *p) { return reinterpret_cast<std::uintptr_t>(p); }

// The error of an allocation; out of memory with how much is free.
Error allocated(const Driver &cu, const char *call, std::size_t bytes, int result) {
  if (result != OutOfMemory) return to_error(cu, call, result);
  std::size_t available = 0, total = 0;
  cu.cuMemGetInfo_v2(&available, &total);
  return fail(OutOfMemory, "%s: %zu bytes do not fit on device %d, where %zu of %zu bytes are free", call, bytes,
              device_of_thread(), available, total);
}

// `bytes` of device memory by a function of the driver that takes where the address goes, the size and `further`; none
// for 0 bytes, as in HIP.
template <class Function, class... Further>
int allocate(const char *call, Function Driver::*function, void **p, std::size_t bytes, Further... further) {
  if (!p) return fail(InvalidValue, "%s: the output pointer for the pointer is null", call);
  *p = nullptr;
  if (bytes == 0) return Success;
  return in_context(call, [&](const Driver &cu) {
    std::uint64_t address = 0;
    const Error error = allocated(cu, call, bytes, (cu.*function)(&address, bytes, further...));
    if (!error) *p = reinterpret_cast<void *>(address);
    return error;
  });
}

int allocate_host(const char *call, void **p, std::size_t bytes, unsigned flags) {
  constexpr unsigned known_flags = 7;  // portable, mapped, write-combined: the others exist in HIP only
  if (!p) return fail(InvalidValue, "%s: the output pointer for the pointer is null", call);
  *p = nullptr;
  if (bytes == 0) return Success;
  return in_context(call, [&](const Driver &cu) {
    const int result = cu.cuMemHostAlloc(p, bytes, flags & known_flags);
    if (result == OutOfMemory) return fail(OutOfMemory, "%s: %zu bytes of host memory are not available", call, bytes);
    return to_error(cu, call, result);
  });
}

int release_host(const char *call, void *p) { return p ? drive(call, &Driver::cuMemFreeHost, p) : Success; }

Error check_kind(const char *call, int kind) {
  if (kind >= HostToHost && kind <= AnyToAny) return Success;
  return fail(InvalidMemcpyDirection, "%s: %d is not a copy direction", call, kind);
}

// Rows of `width` bytes, by a function of the driver that takes the copy and perhaps a stream.
template <class Function, class... Stream>
int copy_rows(const char *call, Function Driver::*function, void *to, std::size_t to_pitch, const void *from,
              std::size_t from_pitch, std::size_t width, std::size_t height, int kind, Stream... stream) {
  if (const Error error = check_kind(call, kind)) return error;
  if (width > to_pitch || width > from_pitch)
    return fail(InvalidValue, "%s: rows of %zu bytes do not fit the pitch %zu or %zu", call, width, to_pitch,
                from_pitch);
  if (width == 0 || height == 0) return Success;
  Copy2D rows{};
  rows.from_type = kind == AnyToAny ? Unified : kind == HostToHost || kind == HostToDevice ? Host : Device;
  rows.to_type = kind == AnyToAny ? Unified : kind == HostToHost || kind == DeviceToHost ? Host : Device;
  if (rows.from_type == Host)
    rows.from_host = from;
  else
    rows.from_device = number(from);
  if (rows.to_type == Host)
    rows.to_host = to;
  else
    rows.to_device = number(to);
  rows.from_pitch = from_pitch;
  rows.to_pitch = to_pitch;
  rows.width = width;
  rows.height = height;
  return drive(call, function, &rows, stream...);
}

// Likewise, `count` values.
template <class Function, class T, class... Stream>
int fill(const char *call, Function Driver::*function, void *to, T value, std::size_t count, Stream... stream) {
  return count ? drive(call, function, number(to), value, count, stream...) : Success;
}

// CUpointer_attribute
enum { memory_type = 2, device_pointer = 3, host_pointer = 4, is_managed = 8, device_ordinal = 9 };

}  // namespace

namespace simt {

int copy(const char *call, void *to, const void *from, std::size_t bytes, int kind) {
  if (const Error error = check_kind(call, kind)) return error;
  if (bytes == 0) return Success;
  if (!to || !from) return fail(InvalidValue, "%s: the %s is null", call, to ? "source" : "destination");
  return in_context(call, [&](const Driver &cu) -> int {
    switch (kind) {
      case HostToHost:
        std::memmove(to, from, bytes);
        return Success;
      case HostToDevice:
        return to_error(cu, call, cu.cuMemcpyHtoD_v2(number(to), from, bytes));
      case DeviceToHost:
        return to_error(cu, call, cu.cuMemcpyDtoH_v2(to, number(from), bytes));
      case DeviceToDevice:
        return to_error(cu, call, cu.cuMemcpyDtoD_v2(number(to), number(from), bytes));
      default:
        return to_error(cu, call, cu.cuMemcpy(number(to), number(from), bytes));
    }
  });
}

int copy_async(const char *call, void *to, const void *from, std::size_t bytes, int kind, void *stream) {
  if (const Error error = check_kind(call, kind)) return error;
  if (bytes == 0) return Success;
  if (!to || !from) return fail(InvalidValue, "%s: the %s is null", call, to ? "source" : "destination");
  return in_context(call, [&](const Driver &cu) {
    switch (kind) {
      case HostToDevice:
        return to_error(cu, call, cu.cuMemcpyHtoDAsync_v2(number(to), from, bytes, stream));
      case DeviceToHost:
        return to_error(cu, call, cu.cuMemcpyDtoHAsync_v2(to, number(from), bytes, stream));
      case DeviceToDevice:
        return to_error(cu, call, cu.cuMemcpyDtoDAsync_v2(number(to), number(from), bytes, stream));
      default:
        return to_error(cu, call, cu.cuMemcpyAsync(number(to), number(from), bytes, stream));
    }
  });
}

}  // namespace simt

HIP_API int hipMalloc(void **p, std::size_t bytes) { return allocate("hipMalloc", &Driver::cuMemAlloc_v2, p, bytes); }
HIP_API int hipMallocAsync(void **p, std::size_t bytes, void *stream) {
  return allocate("hipMallocAsync", &Driver::cuMemAllocAsync, p, bytes, stream);
}
HIP_API int hipMallocManaged(void **p, std::size_t bytes, unsigned flags) {
  constexpr unsigned from_anywhere = 1, host_only = 2;
  const unsigned known = flags == host_only ? host_only : from_anywhere;
  return allocate("hipMallocManaged", &Driver::cuMemAllocManaged, p, bytes, known);
}
HIP_API int hipHostMalloc(void **p, std::size_t bytes, unsigned flags) {
  return allocate_host("hipHostMalloc", p, bytes, flags);
}
HIP_API int hipHostAlloc(void **p, std::size_t bytes, unsigned flags) {
  return allocate_host("hipHostAlloc", p, bytes, flags);
}
HIP_API int hipMallocHost(void **p, std::size_t bytes) { return allocate_host("hipMallocHost", p, bytes, 0); }
HIP_API int hipFree(void *p) { return p ? drive("hipFree", &Driver::cuMemFree_v2, number(p)) : Success; }
HIP_API int hipFreeAsync(void *p, void *stream) {
  return p ? drive("hipFreeAsync", &Driver::cuMemFreeAsync, number(p), stream) : Success;
}
HIP_API int hipHostFree(void *p) { return release_host("hipHostFree", p); }
HIP_API int hipFreeHost(void *p) { return release_host("hipFreeHost", p); }

HIP_API int hipMemcpyWithStream(void *to, const void *from, std::size_t bytes, int kind, void *stream) {
  if (const int error = copy_async("hipMemcpyWithStream", to, from, bytes, kind, stream)) return error;
  return drive("hipMemcpyWithStream", &Driver::cuStreamSynchronize, stream);
}
HIP_API int hipMemcpy2D(void *to, std::size_t to_pitch, const void *from, std::size_t from_pitch, std::size_t width,
                        std::size_t height, int kind) {
  return copy_rows("hipMemcpy2D", &Driver::cuMemcpy2DUnaligned_v2, to, to_pitch, from, from_pitch, width, height, kind);
}
HIP_API int hipMemcpy2DAsync(void *to, std::size_t to_pitch, const void *from, std::size_t from_pitch,
                             std::size_t width, std::size_t height, int kind, void *stream) {
  return copy_rows("hipMemcpy2DAsync", &Driver::cuMemcpy2DAsync_v2, to, to_pitch, from, from_pitch, width, height, kind,
                   stream);
}

HIP_API int hipMemset(void *to, int value, std::size_t bytes) {
  return fill("hipMemset", &Driver::cuMemsetD8_v2, to, static_cast<unsigned char>(value), bytes);
}
HIP_API int hipMemsetAsync(void *to, int value, std::size_t bytes, void *stream) {
  return fill("hipMemsetAsync", &Driver::cuMemsetD8Async, to, static_cast<unsigned char>(value), bytes, stream);
}
HIP_API int hipMemsetD8(void *to, unsigned char value, std::size_t count) {
  return fill("hipMemsetD8", &Driver::cuMemsetD8_v2, to, value, count);
}
HIP_API int hipMemsetD16(void *to, unsigned short value, std::size_t count) {
  return fill("hipMemsetD16", &Driver::cuMemsetD16_v2, to, value, count);
}
HIP_API int hipMemsetD32(void *to, int value, std::size_t count) {
  return fill("hipMemsetD32", &Driver::cuMemsetD32_v2, to, static_cast<unsigned>(value), count);
}
HIP_API int hipMemsetD8Async(void *to, unsigned char value, std::size_t count, void *stream) {
  return fill("hipMemsetD8Async", &Driver::cuMemsetD8Async, to, value, count, stream);
}
HIP_API int hipMemsetD16Async(void *to, unsigned short value, std::size_t count, void *stream) {
  return fill("hipMemsetD16Async", &Driver::cuMemsetD16Async, to, value, count, stream);
}
HIP_API int hipMemsetD32Async(void *to, int value, std::size_t count, void *stream) {
  return fill("hipMemsetD32Async", &Driver::cuMemsetD32Async, to, static_cast<unsigned>(value), count, stream);
}

HIP_API int hipMemGetInfo(std::size_t *available, std::size_t *total) {
  std::size_t a = 0, t = 0;
  return in_context("hipMemGetInfo", [&](const Driver &cu) {
    const Error error = to_error(cu, "hipMemGetInfo", cu.cuMemGetInfo_v2(&a, &t));
    if (available) *available = a;
    if (total) *total = t;
    return error;
  });
}
HIP_API int hipMemGetAddressRange(void **base, std::size_t *bytes, void *p) {
  return in_context("hipMemGetAddressRange", [&](const Driver &cu) {
    std::uint64_t start = 0;
    std::size_t size = 0;
    const Error error = to_error(cu, "hipMemGetAddressRange", cu.cuMemGetAddressRange_v2(&start, &size, number(p)));
    if (!error && base) *base = reinterpret_cast<void *>(start);
    if (!error && bytes) *bytes = size;
    return error;
  });
}
HIP_API int hipPointerGetAttributes(void *out, const void *p) {
  constexpr char call[] = "hipPointerGetAttributes";
  if (!out) return fail(InvalidValue, "%s: the output pointer for the attributes is null", call);
  return in_context(call, [&](const Driver &cu) -> int {
    int type = 0, managed = 0, device = 0;
    std::uint64_t on_device = 0;
    void *on_host = nullptr;
    if (const Error error = to_error(cu, call, cu.cuPointerGetAttribute(&type, memory_type, number(p)))) return error;
    cu.cuPointerGetAttribute(&managed, is_managed, number(p));
    cu.cuPointerGetAttribute(&device, device_ordinal, number(p));
    cu.cuPointerGetAttribute(&on_device, device_pointer, number(p));
    if (type == Host || managed) cu.cuPointerGetAttribute(&on_host, host_pointer, number(p));
    const PointerAttributes attributes{
        managed ? 3 : type, device, reinterpret_cast<void *>(on_device), on_host, managed, 0};
    std::memcpy(out, &attributes, sizeof attributes);
    return Success;
  });
}
HIP_API int hipHostGetDevicePointer(void **device, void *host, unsigned) {
  if (!device) return fail(InvalidValue, "hipHostGetDevicePointer: the output pointer for the pointer is null");
  return in_context("hipHostGetDevicePointer", [&](const Driver &cu) {
    std::uint64_t address = 0;
    const Error error = to_error(cu, "hipHostGetDevicePointer", cu.cuMemHostGetDevicePointer_v2(&address, host, 0));
    if (!error) *device = reinterpret_cast<void *>(address);
    return error;
  });
}
