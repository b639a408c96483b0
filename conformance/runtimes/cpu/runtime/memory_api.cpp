// hipMalloc, hipMemcpy and related functions.
#include <cstring>

#include "api.h"
#include "hipcpu.h"
#include "launch.h"
#include "memory.h"

using namespace simt;
using Kind = Memory::Kind;

namespace {

Error move_bytes(const char *call, void *to, const void *from, std::size_t bytes, int kind) {
  if (kind < HostToHost || kind > AnyToAny)
    return fail(InvalidMemcpyDirection, "%s: %d is not a copy direction", call, kind);
  if (bytes == 0) return Success;
  const bool to_device = kind == HostToDevice || kind == DeviceToDevice;
  const bool from_device = kind == DeviceToHost || kind == DeviceToDevice;
  if (const Error error = memory().check_range(call, "destination", to, bytes, to_device)) return error;
  if (const Error error = memory().check_range(call, "source", from, bytes, from_device)) return error;
  const Memory::Opened opened;
  std::memmove(to, from, bytes);
  return Success;
}

// A copy that has ended when the call returns is on the null stream.
void note_blocking(const char *call, const void *to, const void *from, int kind) {
  if (kind == HostToHost) return;
  note_default_stream(call, memory().is_fresh(to) && memory().is_fresh(from));
  note_host_waits(nullptr);
}

Error copy_rows(const char *call, void *to, std::size_t to_pitch, const void *from, std::size_t from_pitch,
                std::size_t width, std::size_t height, int kind) {
  if (width > to_pitch || width > from_pitch)
    return fail(InvalidValue, "%s: rows of %zu bytes do not fit the pitch %zu or %zu", call, width, to_pitch,
                from_pitch);
  for (std::size_t row = 0; row < height; ++row) {
    const Error error = move_bytes(call, static_cast<char *>(to) + row * to_pitch,
                                   static_cast<const char *>(from) + row * from_pitch, width, kind);
    if (error) return error;
  }
  return Success;
}

template <class T>
Error fill(const char *call, void *to, T value, std::size_t count, bool on_default_stream = true) {
  if (on_default_stream) note_default_stream(call, memory().is_fresh(to));
  if (count == 0) return Success;
  if (const Error error = memory().check_range(call, "destination", to, count * sizeof(T), true)) return error;
  const Memory::Opened opened;
  if constexpr (sizeof(T) == 1) {
    std::memset(to, value, count);
  } else {
    char *p = static_cast<char *>(to);
    for (std::size_t i = 0; i < count; ++i, p += sizeof value) std::memcpy(p, &value, sizeof value);
  }
  return Success;
}

Error release(void *p) {
  const auto lock = lock_launches();
  const Error error = memory().release(p);
  if (error == InvalidValue) note_bad_free();
  return error;
}

}  // namespace

namespace simt {

int copy(const char *call, void *to, const void *from, std::size_t bytes, int kind) {
  note_blocking(call, to, from, kind);
  return move_bytes(call, to, from, bytes, kind);
}

int copy_async(const char *call, void *to, const void *from, std::size_t bytes, int kind, void *stream) {
  if (const Error error = check_stream(call, stream)) return error;
  if (is_captured(stream))
    return keeper->keep(stream, Keeper::Work::Copy, [=] { return move_bytes(call, to, from, bytes, kind); });
  return move_bytes(call, to, from, bytes, kind);
}

}  // namespace simt

SIMT_API int hipMalloc(void **p, std::size_t bytes) { return memory().allocate(bytes, Kind::Device, p); }
SIMT_API int hipMallocAsync(void **p, std::size_t bytes, void *stream) {
  const Error error = check_stream("hipMallocAsync", stream);
  return error ? error : memory().allocate(bytes, Kind::Device, p);
}
SIMT_API int hipMallocManaged(void **p, std::size_t bytes, unsigned) {
  return memory().allocate(bytes, Kind::Managed, p);
}
SIMT_API int hipHostMalloc(void **p, std::size_t bytes, unsigned) { return memory().allocate(bytes, Kind::Host, p); }
SIMT_API int hipHostAlloc(void **p, std::size_t bytes, unsigned) { return memory().allocate(bytes, Kind::Host, p); }
SIMT_API int hipMallocHost(void **p, std::size_t bytes) { return memory().allocate(bytes, Kind::Host, p); }
SIMT_API int hipFree(void *p) { return release(p); }
SIMT_API int hipFreeAsync(void *p, void *stream) {
  if (const Error error = check_stream("hipFreeAsync", stream)) return error;
  return is_captured(stream) ? Success : release(p);  // what a graph uses stays
}
SIMT_API int hipHostFree(void *p) { return release(p); }
SIMT_API int hipFreeHost(void *p) { return release(p); }

SIMT_API int hipMemcpyWithStream(void *to, const void *from, std::size_t bytes, int kind, void *stream) {
  return copy_async("hipMemcpyWithStream", to, from, bytes, kind, stream);
}
SIMT_API int hipMemcpy2D(void *to, std::size_t to_pitch, const void *from, std::size_t from_pitch, std::size_t width,
                         std::size_t height, int kind) {
  note_blocking("hipMemcpy2D", to, from, kind);
  return copy_rows("hipMemcpy2D", to, to_pitch, from, from_pitch, width, height, kind);
}
SIMT_API int hipMemcpy2DAsync(void *to, std::size_t to_pitch, const void *from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, int kind, void *stream) {
  if (const Error error = check_stream("hipMemcpy2DAsync", stream)) return error;
  const auto work = [=] { return copy_rows("hipMemcpy2DAsync", to, to_pitch, from, from_pitch, width, height, kind); };
  return is_captured(stream) ? keeper->keep(stream, Keeper::Work::Copy, work) : work();
}

SIMT_API int hipMemset(void *to, int value, std::size_t bytes) {
  return fill("hipMemset", to, static_cast<unsigned char>(value), bytes);
}
SIMT_API int hipMemsetAsync(void *to, int value, std::size_t bytes, void *stream) {
  if (const Error error = check_stream("hipMemsetAsync", stream)) return error;
  const auto work = [=] { return fill("hipMemsetAsync", to, static_cast<unsigned char>(value), bytes, false); };
  return is_captured(stream) ? keeper->keep(stream, Keeper::Work::Fill, work) : work();
}
SIMT_API int hipMemsetD8(void *to, unsigned char value, std::size_t count) {
  return fill("hipMemsetD8", to, value, count);
}
SIMT_API int hipMemsetD16(void *to, unsigned short value, std::size_t count) {
  return fill("hipMemsetD16", to, value, count);
}
SIMT_API int hipMemsetD32(void *to, int value, std::size_t count) { return fill("hipMemsetD32", to, value, count); }

SIMT_API int hipcpuReserve(void **p, unsigned long bytes, const unsigned long *pieces, unsigned count) {
  static_assert(sizeof(Memory::Piece) == 2 * sizeof(unsigned long));
  return memory().reserve(bytes, reinterpret_cast<const Memory::Piece *>(pieces), count, p);
}

SIMT_API int hipcpuCheckRange(const char *call, const char *role, const void *pointer, unsigned long bytes) {
  return memory().check_range(call, role, pointer, bytes, true);
}

SIMT_API int hipMemGetInfo(std::size_t *available, std::size_t *total) {
  const SystemMemory system = system_memory();
  if (available) *available = system.available;
  if (total) *total = system.total;
  return Success;
}

SIMT_API int hipMemGetAddressRange(void **base, std::size_t *bytes, void *p) {
  Memory::Range range;
  if (!memory().find(p, range))
    return fail(NotFound, "hipMemGetAddressRange: %s is not in a live allocation", pointer_text(p).c_str());
  if (base) *base = const_cast<char *>(range.base);
  if (bytes) *bytes = range.bytes;
  return Success;
}

SIMT_API int hipPointerGetAttributes(void *out, const void *p) {
  Memory::Range range;
  if (!out) return fail(InvalidValue, "hipPointerGetAttributes: the output pointer for the attributes is null");
  if (!memory().find(p, range))
    return fail(InvalidValue, "hipPointerGetAttributes: %s is not in a live allocation", pointer_text(p).c_str());
  const bool managed = range.kind == Kind::Managed;
  const PointerAttributes attributes{range.kind == Kind::Host ? 1
                                     : managed                ? 3
                                                              : 2,
                                     range.device,
                                     const_cast<void *>(p),
                                     range.kind == Kind::Device ? nullptr : const_cast<void *>(p),
                                     managed,
                                     0};
  std::memcpy(out, &attributes, sizeof attributes);
  return Success;
}

SIMT_API int hipHostGetDevicePointer(void **device, void *host, unsigned) {
  Memory::Range range;
  if (!device || !memory().find(host, range))
    return fail(InvalidValue, "hipHostGetDevicePointer: %s was not allocated by hipHostMalloc",
                pointer_text(host).c_str());
  *device = host;
  return Success;
}
