// Memory beyond what the harness's own runs ask for: pitches, three dimensions, pools, registered host memory, peers.
#include "memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>

#include "hip.h"
#include "host_device.h"

using namespace simt;
using Kind = Memory::Kind;

namespace {

constexpr std::size_t row_alignment = 256;  // bytes, of rows that HIP pads

struct PitchedPointer {
  void *pointer;
  std::size_t pitch, width, height;
};
struct Extent {
  std::size_t width, height, depth;
};
struct Position {
  std::size_t x, y, z;
};

// ---- host memory that the program has allocated, and has registered

class Registered {
 public:
  Error add(void *pointer, std::size_t bytes, unsigned flags) {
    if (!pointer || !bytes) return fail(InvalidValue, "hipHostRegister: there is no memory to register");
    const std::lock_guard lock(mutex_);
    if (!ranges_.try_emplace(static_cast<char *>(pointer), Range{bytes, flags}).second)
      return fail(HostMemoryAlreadyRegistered, "hipHostRegister: this memory has been registered already");
    memory().add_global(pointer, bytes, "registered host memory", Kind::Host);
    return Success;
  }
  Error remove(void *pointer) {
    const std::lock_guard lock(mutex_);
    if (!ranges_.erase(static_cast<char *>(pointer)))
      return fail(HostMemoryNotRegistered, "hipHostUnregister: this memory has not been registered");
    memory().remove_globals({pointer});
    return Success;
  }
  bool flags_of(void *pointer, unsigned &flags) {
    const std::lock_guard lock(mutex_);
    const auto it = ranges_.find(static_cast<char *>(pointer));
    if (it != ranges_.end()) flags = it->second.flags;
    return it != ranges_.end();
  }

 private:
  struct Range {
    std::size_t bytes;
    unsigned flags;
  };
  std::mutex mutex_;
  std::map<char *, Range> ranges_;
};
Registered &registered() {
  static Registered &instance = *new Registered;
  return instance;
}

// ---- pools: each allocation is one of its own, so that a pool is no more than what was set of it

struct Pool {
  std::map<int, std::uint64_t> attributes;
};
class Pools {
 public:
  Pool *create() {
    const std::lock_guard lock(mutex_);
    auto pool = std::make_unique<Pool>();
    Pool *raw = pool.get();
    pools_.emplace(raw, std::move(pool));
    return raw;
  }
  Pool *default_of(int device) {
    const std::lock_guard lock(mutex_);
    auto &pool = defaults_[device];
    if (!pool) pool = std::make_unique<Pool>();
    return pool.get();
  }
  // The pool that was set for the device.
  Pool *of_device(int device) {
    {
      const std::lock_guard lock(mutex_);
      const auto it = chosen_.find(device);
      if (it != chosen_.end()) return it->second;
    }
    return default_of(device);
  }
  void choose(int device, Pool *pool) {
    const std::lock_guard lock(mutex_);
    chosen_[device] = pool;
  }
  void set(Pool &pool, int attribute, std::uint64_t value) {
    const std::lock_guard lock(mutex_);
    pool.attributes[attribute] = value;
  }
  std::uint64_t get(Pool &pool, int attribute, std::uint64_t otherwise) {
    const std::lock_guard lock(mutex_);
    return pool.attributes.try_emplace(attribute, otherwise).first->second;
  }
  // Null where `handle` is no pool.
  Pool *find(const void *handle) {
    const std::lock_guard lock(mutex_);
    for (const auto &[device, pool] : defaults_)
      if (pool.get() == handle) return pool.get();
    const auto it = pools_.find(handle);
    return it == pools_.end() ? nullptr : it->second.get();
  }
  bool destroy(const void *handle) {
    const std::lock_guard lock(mutex_);
    std::erase_if(chosen_, [handle](const auto &row) { return row.second == handle; });
    return pools_.erase(handle) != 0;
  }

 private:
  std::mutex mutex_;
  std::map<const void *, std::unique_ptr<Pool>> pools_;
  std::map<int, std::unique_ptr<Pool>> defaults_;
  std::map<int, Pool *> chosen_;
};
Pools &pools() {
  static Pools &instance = *new Pools;
  return instance;
}

Error find_pool(const char *call, const void *handle, Pool *&pool) {
  pool = pools().find(handle);
  return pool ? Success : fail(InvalidValue, "%s: %s is not a pool", call, pointer_text(handle).c_str());
}

Error device_pool(const char *call, void **pool, int device, Pool *(Pools::*of)(int)) {
  if (const Error error = check_device(call, device)) return error;
  if (!pool) return fail(InvalidValue, "%s: the output pointer is null", call);
  *pool = (pools().*of)(device);
  return Success;
}

// hipMemPoolAttr: the first three are an int, the others 64 bits, of which some are counted by the device.
constexpr int int_attributes = 3, reserved_now = 5, used_high = 8;

// ---- rows

int pitched(const char *call, void **p, std::size_t *pitch, std::size_t width, std::size_t height) {
  if (!p || !pitch) return fail(InvalidValue, "%s: the output pointers must not be null", call);
  std::size_t padded, bytes;
  if (__builtin_add_overflow(width, row_alignment - 1, &padded)) return fail(OutOfMemory, "%s: %zu bytes", call, width);
  padded = padded / row_alignment * row_alignment;
  if (__builtin_mul_overflow(padded, height, &bytes))
    return fail(OutOfMemory, "%s: %zu rows of %zu bytes are more than there can be", call, height, padded);
  *pitch = padded;
  return hipMalloc(p, bytes);
}

template <class T>
int fill_rows(const char *call, void *to, std::size_t pitch, T value, std::size_t width, std::size_t height,
              int (*fill)(void *, T, std::size_t)) {
  if (width * sizeof(T) > pitch && height > 1)
    return fail(InvalidValue, "%s: rows of %zu bytes do not fit the pitch %zu", call, width * sizeof(T), pitch);
  for (std::size_t row = 0; row < height; ++row)
    if (const int error = fill(static_cast<char *>(to) + row * pitch, value, width)) return error;
  return Success;
}
int fill_bytes(void *to, unsigned char value, std::size_t count) { return hipMemset(to, value, count); }

template <class T>
int fill_async(const char *call, void *stream, void *to, T value, std::size_t count,
               int (*fill)(void *, T, std::size_t)) {
  return on_stream(call, stream, Keeper::Work::Fill, [=] { return fill(to, value, count); });
}

// hipMemcpy3DParms, without arrays.
struct Copy3D {
  void *from_array;
  Position from_at;
  PitchedPointer from;
  void *to_array;
  Position to_at;
  PitchedPointer to;
  Extent extent;
  int kind;
};
int copy_3d(const char *call, const Copy3D *given) {
  if (!given) return fail(InvalidValue, "%s: the parameters are null", call);
  const Copy3D &c = *given;
  if (c.from_array || c.to_array) return fail(NotSupported, "%s: arrays are not emulated by candle-parity", call);
  const auto row = [](const PitchedPointer &p, const Position &at, std::size_t z) {
    return static_cast<char *>(p.pointer) + ((at.z + z) * p.height + at.y) * p.pitch + at.x;
  };
  for (std::size_t z = 0; z < c.extent.depth; ++z)
    if (const int error = hipMemcpy2D(row(c.to, c.to_at, z), c.to.pitch, row(c.from, c.from_at, z), c.from.pitch,
                                      c.extent.width, c.extent.height, c.kind))
      return error;
  return Success;
}

// hip_Memcpy2D, without arrays.
struct End2D {
  std::size_t x, y;
  int type;
  void *host, *device, *array;
  std::size_t pitch;
};
struct Copy2D {
  End2D from, to;
  std::size_t width, height;
};
char *end_of(const End2D &end) {
  // What number stands for the host depends on the headers, so the pointer that is set decides.
  return static_cast<char *>(end.device ? end.device : end.host) + end.y * end.pitch + end.x;
}
int copy_2d(const char *call, const Copy2D *given) {
  if (!given) return fail(InvalidValue, "%s: the parameters are null", call);
  if (given->from.array || given->to.array)
    return fail(NotSupported, "%s: arrays are not emulated by candle-parity", call);
  return hipMemcpy2D(end_of(given->to), given->to.pitch, end_of(given->from), given->from.pitch, given->width,
                     given->height, AnyToAny);
}

int peer_copy(const char *call, void *to, int to_device, const void *from, int from_device, std::size_t bytes) {
  if (const Error error = check_device(call, to_device)) return error;
  if (const Error error = check_device(call, from_device)) return error;
  return copy(call, to, from, bytes, DeviceToDevice);
}

}  // namespace

// ---- allocation

SIMT_API int hipMallocPitch(void **p, std::size_t *pitch, std::size_t width, std::size_t height) {
  return pitched("hipMallocPitch", p, pitch, width, height);
}
SIMT_API int hipMemAllocPitch(void **p, std::size_t *pitch, std::size_t width, std::size_t height, unsigned) {
  return pitched("hipMemAllocPitch", p, pitch, width, height);
}
SIMT_API int hipMalloc3D(PitchedPointer *out, Extent extent) {
  if (!out) return fail(InvalidValue, "hipMalloc3D: the output pointer is null");
  *out = {nullptr, 0, extent.width, extent.height};
  return pitched("hipMalloc3D", &out->pointer, &out->pitch, extent.width, extent.height * extent.depth);
}
SIMT_API int hipMemAllocHost(void **p, std::size_t bytes) { return hipHostMalloc(p, bytes, 0); }
SIMT_API int hipExtMallocWithFlags(void **p, std::size_t bytes, unsigned) { return hipMalloc(p, bytes); }

SIMT_API int hipHostRegister(void *p, std::size_t bytes, unsigned flags) { return registered().add(p, bytes, flags); }
SIMT_API int hipHostUnregister(void *p) { return registered().remove(p); }
SIMT_API int hipHostGetFlags(unsigned *flags, void *p) {
  Memory::Range range;
  unsigned found = 0;
  if (!flags || (!registered().flags_of(p, found) && (!memory().find(p, range) || range.kind != Kind::Host)))
    return fail(InvalidValue, "hipHostGetFlags: %s is not pinned host memory", pointer_text(p).c_str());
  *flags = found;
  return Success;
}
SIMT_API int hipMemPtrGetInfo(void *p, std::size_t *bytes) {
  Memory::Range range;
  if (!bytes || !memory().find(p, range))
    return fail(InvalidValue, "hipMemPtrGetInfo: %s is not in a live allocation", pointer_text(p).c_str());
  *bytes = range.bytes;
  return Success;
}
SIMT_API int hipPointerGetAttribute(void *value, int attribute, void *p) {
  enum { MemoryType = 2, DevicePointer = 3, HostPointer = 4, IsManaged = 8, Ordinal = 9, Start = 11, Size = 12 };
  Memory::Range range;
  if (!value || !memory().find(p, range))
    return fail(InvalidValue, "hipPointerGetAttribute: %s is not in a live allocation", pointer_text(p).c_str());
  const auto give = [value](auto found) {
    std::memcpy(value, &found, sizeof found);
    return Success;
  };
  const bool managed = range.kind == Kind::Managed;
  switch (attribute) {
    case MemoryType:
      return give(range.kind == Kind::Host ? 1 : managed ? 3 : 2);
    case DevicePointer:
      return give(p);
    case HostPointer:
      return give(range.kind == Kind::Device ? nullptr : p);
    case IsManaged:
      return give(managed);
    case Ordinal:
      return give(range.device);
    case Start:
      return give(range.base);
    case Size:
      return give(range.bytes);
    default:
      return fail(NotSupported, "hipPointerGetAttribute: attribute %d is not emulated by candle-parity", attribute);
  }
}
SIMT_API int hipPointerSetAttribute(const void *, int, void *) { return Success; }
SIMT_API int hipMemAdvise(const void *, std::size_t, int, int device) {
  constexpr int host = -1;
  return device == host ? Success : check_device("hipMemAdvise", device);
}
SIMT_API int hipMemPrefetchAsync(const void *, std::size_t, int, void *stream) {
  return check_stream("hipMemPrefetchAsync", stream);
}
SIMT_API int hipStreamAttachMemAsync(void *stream, void *, std::size_t, unsigned) {
  return check_stream("hipStreamAttachMemAsync", stream);
}

// ---- pools

SIMT_API int hipDeviceGetDefaultMemPool(void **pool, int device) {
  return device_pool("hipDeviceGetDefaultMemPool", pool, device, &Pools::default_of);
}
SIMT_API int hipDeviceGetMemPool(void **pool, int device) {
  return device_pool("hipDeviceGetMemPool", pool, device, &Pools::of_device);
}
SIMT_API int hipDeviceSetMemPool(int device, void *handle) {
  Pool *pool;
  if (const Error error = check_device("hipDeviceSetMemPool", device)) return error;
  if (const Error error = find_pool("hipDeviceSetMemPool", handle, pool)) return error;
  pools().choose(device, pool);
  return Success;
}
SIMT_API int hipMemPoolCreate(void **pool, const void *properties) {
  constexpr std::size_t of_device = 12;  // where hipMemPoolProps has the device's number
  int device = 0;
  if (!pool || !properties) return fail(InvalidValue, "hipMemPoolCreate: properties and output pointer are null");
  std::memcpy(&device, static_cast<const char *>(properties) + of_device, sizeof device);
  if (const Error error = check_device("hipMemPoolCreate", device)) return error;
  *pool = pools().create();
  return Success;
}
SIMT_API int hipMemPoolDestroy(void *pool) {
  return pools().destroy(pool) ? Success
                               : fail(InvalidValue, "hipMemPoolDestroy: %s is not a pool of hipMemPoolCreate",
                                      pointer_text(pool).c_str());
}
SIMT_API int hipMemPoolTrimTo(void *handle, std::size_t) {
  Pool *pool;
  return find_pool("hipMemPoolTrimTo", handle, pool);
}
SIMT_API int hipMemPoolSetAttribute(void *handle, int attribute, void *value) {
  Pool *pool;
  if (const Error error = find_pool("hipMemPoolSetAttribute", handle, pool)) return error;
  if (!value) return fail(InvalidValue, "hipMemPoolSetAttribute: the value is null");
  std::uint64_t set = 0;
  std::memcpy(&set, value, attribute <= int_attributes ? sizeof(int) : sizeof set);
  pools().set(*pool, attribute, set);
  return Success;
}
SIMT_API int hipMemPoolGetAttribute(void *handle, int attribute, void *value) {
  Pool *pool;
  if (const Error error = find_pool("hipMemPoolGetAttribute", handle, pool)) return error;
  if (!value) return fail(InvalidValue, "hipMemPoolGetAttribute: the output pointer is null");
  const bool counted = attribute >= reserved_now && attribute <= used_high;
  const std::uint64_t found =
      counted ? memory().held(false).bytes : pools().get(*pool, attribute, attribute <= int_attributes);
  std::memcpy(value, &found, attribute <= int_attributes ? sizeof(int) : sizeof found);
  return Success;
}
SIMT_API int hipMemPoolSetAccess(void *handle, const void *, std::size_t) {
  Pool *pool;
  return find_pool("hipMemPoolSetAccess", handle, pool);
}
SIMT_API int hipMemPoolGetAccess(int *flags, void *handle, void *) {
  constexpr int read_and_write = 3;
  Pool *pool;
  if (const Error error = find_pool("hipMemPoolGetAccess", handle, pool)) return error;
  if (flags) *flags = read_and_write;
  return Success;
}
SIMT_API int hipMallocFromPoolAsync(void **p, std::size_t bytes, void *handle, void *stream) {
  Pool *pool;
  if (const Error error = find_pool("hipMallocFromPoolAsync", handle, pool)) return error;
  return hipMallocAsync(p, bytes, stream);
}

// ---- copies

SIMT_API int hipMemcpyHtoDAsync(void *to, const void *from, std::size_t bytes, void *stream) {
  return copy_async("hipMemcpyHtoDAsync", to, from, bytes, HostToDevice, stream);
}
SIMT_API int hipMemcpyDtoHAsync(void *to, const void *from, std::size_t bytes, void *stream) {
  return copy_async("hipMemcpyDtoHAsync", to, from, bytes, DeviceToHost, stream);
}
SIMT_API int hipMemcpyPeer(void *to, int to_device, const void *from, int from_device, std::size_t bytes) {
  return peer_copy("hipMemcpyPeer", to, to_device, from, from_device, bytes);
}
SIMT_API int hipMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, std::size_t bytes,
                                void *stream) {
  return on_stream("hipMemcpyPeerAsync", stream, Keeper::Work::Copy,
                   [=] { return peer_copy("hipMemcpyPeerAsync", to, to_device, from, from_device, bytes); });
}
SIMT_API int hipMemcpyParam2D(const Copy2D *copy) { return copy_2d("hipMemcpyParam2D", copy); }
SIMT_API int hipMemcpyParam2DAsync(const Copy2D *copy, void *stream) {
  if (!copy) return fail(InvalidValue, "hipMemcpyParam2DAsync: the parameters are null");
  return on_stream("hipMemcpyParam2DAsync", stream, Keeper::Work::Copy,
                   [given = *copy] { return copy_2d("hipMemcpyParam2DAsync", &given); });
}
SIMT_API int hipDrvMemcpy2DUnaligned(const Copy2D *copy) { return copy_2d("hipDrvMemcpy2DUnaligned", copy); }
SIMT_API int hipMemcpy3D(const Copy3D *copy) { return copy_3d("hipMemcpy3D", copy); }
SIMT_API int hipMemcpy3DAsync(const Copy3D *copy, void *stream) {
  if (!copy) return fail(InvalidValue, "hipMemcpy3DAsync: the parameters are null");
  return on_stream("hipMemcpy3DAsync", stream, Keeper::Work::Copy,
                   [given = *copy] { return copy_3d("hipMemcpy3DAsync", &given); });
}

// ---- fills

SIMT_API int hipMemsetD8Async(void *to, unsigned char value, std::size_t count, void *stream) {
  return fill_async("hipMemsetD8Async", stream, to, value, count, hipMemsetD8);
}
SIMT_API int hipMemsetD16Async(void *to, unsigned short value, std::size_t count, void *stream) {
  return fill_async("hipMemsetD16Async", stream, to, value, count, hipMemsetD16);
}
SIMT_API int hipMemsetD32Async(void *to, int value, std::size_t count, void *stream) {
  return fill_async("hipMemsetD32Async", stream, to, value, count, hipMemsetD32);
}
SIMT_API int hipMemset2D(void *to, std::size_t pitch, int value, std::size_t width, std::size_t height) {
  return fill_rows("hipMemset2D", to, pitch, static_cast<unsigned char>(value), width, height, fill_bytes);
}
SIMT_API int hipMemset2DAsync(void *to, std::size_t pitch, int value, std::size_t width, std::size_t height,
                              void *stream) {
  return on_stream("hipMemset2DAsync", stream, Keeper::Work::Fill,
                   [=] { return hipMemset2D(to, pitch, value, width, height); });
}
SIMT_API int hipMemset3D(PitchedPointer to, int value, Extent extent) {
  const auto byte = static_cast<unsigned char>(value);
  for (std::size_t z = 0; z < extent.depth; ++z) {
    char *const plane = static_cast<char *>(to.pointer) + z * to.height * to.pitch;
    if (const int error = fill_rows("hipMemset3D", plane, to.pitch, byte, extent.width, extent.height, fill_bytes))
      return error;
  }
  return Success;
}
SIMT_API int hipMemset3DAsync(PitchedPointer to, int value, Extent extent, void *stream) {
  return on_stream("hipMemset3DAsync", stream, Keeper::Work::Fill, [=] { return hipMemset3D(to, value, extent); });
}
SIMT_API int hipMemsetD2D8(void *to, std::size_t pitch, unsigned char value, std::size_t width, std::size_t height) {
  return fill_rows("hipMemsetD2D8", to, pitch, value, width, height, hipMemsetD8);
}
SIMT_API int hipMemsetD2D16(void *to, std::size_t pitch, unsigned short value, std::size_t width, std::size_t height) {
  return fill_rows("hipMemsetD2D16", to, pitch, value, width, height, hipMemsetD16);
}
SIMT_API int hipMemsetD2D32(void *to, std::size_t pitch, unsigned value, std::size_t width, std::size_t height) {
  return fill_rows("hipMemsetD2D32", to, pitch, static_cast<int>(value), width, height, hipMemsetD32);
}
SIMT_API int hipMemsetD2D8Async(void *to, std::size_t pitch, unsigned char value, std::size_t width, std::size_t height,
                                void *stream) {
  return on_stream("hipMemsetD2D8Async", stream, Keeper::Work::Fill,
                   [=] { return hipMemsetD2D8(to, pitch, value, width, height); });
}
SIMT_API int hipMemsetD2D16Async(void *to, std::size_t pitch, unsigned short value, std::size_t width,
                                 std::size_t height, void *stream) {
  return on_stream("hipMemsetD2D16Async", stream, Keeper::Work::Fill,
                   [=] { return hipMemsetD2D16(to, pitch, value, width, height); });
}
SIMT_API int hipMemsetD2D32Async(void *to, std::size_t pitch, unsigned value, std::size_t width, std::size_t height,
                                 void *stream) {
  return on_stream("hipMemsetD2D32Async", stream, Keeper::Work::Fill,
                   [=] { return hipMemsetD2D32(to, pitch, value, width, height); });
}
