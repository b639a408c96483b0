// Devices and contexts. All devices are the host, so that each can access the memory of every other; a context is a
// device.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "hip.h"
#include "host_device.h"
#include "memory.h"
#include "simt/properties.h"

using namespace simt;

namespace {

// hipDeviceGetLimit: nothing here needs them, so that a program gets back what it has set.
struct Limit {
  int number;
  std::atomic<std::size_t> bytes;
};
Limit limits[] = {{0, 1024}, {2, 8 << 20}};  // of a thread's stack, of the heap of malloc in kernels
Limit *limit_of(int number) {
  Limit *const found = std::find_if(std::begin(limits), std::end(limits),
                                    [number](const Limit &limit) { return limit.number == number; });
  return found == std::end(limits) ? nullptr : found;
}

constexpr unsigned schedule_auto = 0;
constexpr unsigned api_version = 3020;  // what AMD's runtime calls its contexts' version

struct Context {
  int device;
};
// The primary context of each device, which every context of it is.
Context contexts[most_devices] = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10}, {11}, {12}, {13}, {14}, {15}};

bool is_context(const Context *context) { return context >= std::begin(contexts) && context < std::end(contexts); }

// Devices whose contexts the thread has pushed on top of those that were current.
std::vector<int> &pushed() {
  thread_local std::vector<int> devices;
  return devices;
}

thread_local unsigned device_flags = schedule_auto;

template <class T>
Error set(const char *call, T *out, T value) {
  if (!out) return fail(InvalidValue, "%s: the output pointer is null", call);
  *out = value;
  return Success;
}

// Whether the first device has been given access to the memory of the second. All memory can be accessed in any case:
// programs only ask what has been enabled.
std::atomic<bool> peers[most_devices][most_devices];

// The current device's access to `peer`, which must be another one.
Error peer_access(const char *call, int peer, std::atomic<bool> *&enabled) {
  if (const Error error = check_device(call, peer)) return error;
  if (peer == current_device()) return fail(InvalidDevice, "%s: device %d is the current one", call, peer);
  enabled = &peers[current_device()][peer];
  return Success;
}

Error check_pair(const char *call, int device, int peer) {
  if (const Error error = check_device(call, device)) return error;
  return check_device(call, peer);
}

}  // namespace

// ---- devices

SIMT_API int hipDeviceGet(int *device, int ordinal) {
  if (const Error error = check_device("hipDeviceGet", ordinal)) return error;
  return set("hipDeviceGet", device, ordinal);
}
SIMT_API int hipDeviceGetName(char *name, int bytes, int device) {
  if (const Error error = check_device("hipDeviceGetName", device)) return error;
  if (!name || bytes <= 0) return fail(InvalidValue, "hipDeviceGetName: there is no room for the name");
  std::snprintf(name, static_cast<std::size_t>(bytes), "%s", host_device().name.c_str());
  return Success;
}
SIMT_API int hipDeviceGetUuid(char *uuid, int device) {
  constexpr std::size_t bytes = 16;
  if (const Error error = check_device("hipDeviceGetUuid", device)) return error;
  if (!uuid) return fail(InvalidValue, "hipDeviceGetUuid: the output pointer is null");
  std::memset(uuid, 0, bytes);
  std::snprintf(uuid, bytes, "emulated-%d", device);
  return Success;
}
SIMT_API int hipDeviceTotalMem(std::size_t *bytes, int device) {
  if (const Error error = check_device("hipDeviceTotalMem", device)) return error;
  return set("hipDeviceTotalMem", bytes, system_memory().total);
}
SIMT_API int hipDeviceGetPCIBusId(char *id, int bytes, int device) {
  if (const Error error = check_device("hipDeviceGetPCIBusId", device)) return error;
  if (!id || bytes <= 0) return fail(InvalidValue, "hipDeviceGetPCIBusId: there is no room for the name");
  std::snprintf(id, static_cast<std::size_t>(bytes), "0000:%02x:00.0", static_cast<unsigned>(device));
  return Success;
}
SIMT_API int hipDeviceGetByPCIBusId(int *device, const char *id) {
  unsigned domain, bus;
  if (!id || std::sscanf(id, "%x:%x", &domain, &bus) != 2)
    return fail(InvalidValue, "hipDeviceGetByPCIBusId: '%s' is not domain:bus:device.function", id ? id : "(null)");
  if (const Error error = check_device("hipDeviceGetByPCIBusId", static_cast<int>(bus))) return error;
  return set("hipDeviceGetByPCIBusId", device, static_cast<int>(bus));
}
SIMT_API int hipChooseDevice(int *device, const void *) { return set("hipChooseDevice", device, 0); }
SIMT_API int hipChooseDeviceR0600(int *device, const void *wanted) { return hipChooseDevice(device, wanted); }
SIMT_API int hipSetValidDevices(int *, int) { return Success; }
SIMT_API int hipGetDeviceFlags(unsigned *flags) { return set("hipGetDeviceFlags", flags, device_flags); }
SIMT_API int hipSetDeviceFlags(unsigned flags) {
  device_flags = flags;
  return Success;
}
SIMT_API int hipDeviceGetStreamPriorityRange(int *least, int *greatest) {
  if (least) *least = 1;
  if (greatest) *greatest = -1;
  return Success;
}
SIMT_API int hipDeviceGetLimit(std::size_t *value, int limit) {
  const Limit *const found = limit_of(limit);
  if (!found) return fail(NotSupported, "hipDeviceGetLimit: limit %d is not emulated by candle-parity", limit);
  return set("hipDeviceGetLimit", value, found->bytes.load());
}
SIMT_API int hipDeviceSetLimit(int limit, std::size_t bytes) {
  Limit *const found = limit_of(limit);
  if (!found) return fail(NotSupported, "hipDeviceSetLimit: limit %d is not emulated by candle-parity", limit);
  found->bytes = bytes;
  return Success;
}
SIMT_API int hipDeviceGetCacheConfig(int *config) { return set("hipDeviceGetCacheConfig", config, 0); }
SIMT_API int hipDeviceSetCacheConfig(int) { return Success; }
SIMT_API int hipDeviceGetSharedMemConfig(int *config) { return set("hipDeviceGetSharedMemConfig", config, 0); }
SIMT_API int hipDeviceSetSharedMemConfig(int) { return Success; }
SIMT_API int hipFuncSetSharedMemConfig(const void *, int) { return Success; }
SIMT_API int hipProfilerStart() { return Success; }
SIMT_API int hipProfilerStop() { return Success; }

// ---- peers

SIMT_API int hipDeviceCanAccessPeer(int *can, int device, int peer) {
  if (const Error error = check_pair("hipDeviceCanAccessPeer", device, peer)) return error;
  return set("hipDeviceCanAccessPeer", can, static_cast<int>(device != peer));
}
SIMT_API int hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  std::atomic<bool> *enabled;
  if (flags != 0) return fail(InvalidValue, "hipDeviceEnablePeerAccess: flags are %u, and must be 0", flags);
  if (const Error error = peer_access("hipDeviceEnablePeerAccess", peer, enabled)) return error;
  if (!enabled->exchange(true)) return Success;
  return fail(PeerAccessAlreadyEnabled, "hipDeviceEnablePeerAccess: device %d has access to device %d already",
              current_device(), peer);
}
SIMT_API int hipDeviceDisablePeerAccess(int peer) {
  std::atomic<bool> *enabled;
  if (const Error error = peer_access("hipDeviceDisablePeerAccess", peer, enabled)) return error;
  if (enabled->exchange(false)) return Success;
  return fail(PeerAccessNotEnabled, "hipDeviceDisablePeerAccess: device %d has not been given access to device %d",
              current_device(), peer);
}
SIMT_API int hipDeviceGetP2PAttribute(int *value, int attribute, int from, int to) {
  enum { PerformanceRank = 0 };
  if (const Error error = check_pair("hipDeviceGetP2PAttribute", from, to)) return error;
  return set("hipDeviceGetP2PAttribute", value, static_cast<int>(attribute != PerformanceRank && from != to));
}
SIMT_API int hipExtGetLinkTypeAndHopCount(int from, int to, unsigned *type, unsigned *hops) {
  constexpr unsigned pci_express = 2;
  if (const Error error = check_pair("hipExtGetLinkTypeAndHopCount", from, to)) return error;
  if (type) *type = pci_express;
  if (hops) *hops = 1;
  return Success;
}

// ---- contexts

SIMT_API int hipCtxGetCurrent(Context **context) {
  return set("hipCtxGetCurrent", context, &contexts[current_device()]);
}
SIMT_API int hipCtxSetCurrent(const Context *context) {
  if (!context) return Success;
  if (!is_context(context)) return fail(InvalidContext, "hipCtxSetCurrent: this is not a context");
  return hipSetDevice(context->device);
}
SIMT_API int hipCtxPushCurrent(const Context *context) {
  const int before = current_device();
  if (!is_context(context)) return fail(InvalidContext, "hipCtxPushCurrent: this is not a context");
  if (const int error = hipSetDevice(context->device)) return error;
  pushed().push_back(before);
  return Success;
}
SIMT_API int hipCtxPopCurrent(Context **context) {
  if (pushed().empty()) return fail(InvalidContext, "hipCtxPopCurrent: no context has been pushed");
  if (context) *context = &contexts[current_device()];
  const int before = pushed().back();
  pushed().pop_back();
  return hipSetDevice(before);
}
SIMT_API int hipCtxCreate(Context **context, unsigned, int device) {
  if (const Error error = check_device("hipCtxCreate", device)) return error;
  if (const Error error = set("hipCtxCreate", context, &contexts[device])) return error;
  return hipCtxPushCurrent(*context);
}
SIMT_API int hipCtxDestroy(const Context *context) {
  if (!is_context(context)) return fail(InvalidContext, "hipCtxDestroy: this is not a context");
  if (context->device == current_device() && !pushed().empty()) return hipCtxPopCurrent(nullptr);
  return Success;
}
SIMT_API int hipCtxGetDevice(int *device) { return set("hipCtxGetDevice", device, current_device()); }
SIMT_API int hipCtxGetApiVersion(const Context *, unsigned *version) {
  return set("hipCtxGetApiVersion", version, api_version);
}
SIMT_API int hipCtxGetFlags(unsigned *flags) { return set("hipCtxGetFlags", flags, device_flags); }
SIMT_API int hipCtxSynchronize() { return hipDeviceSynchronize(); }
SIMT_API int hipCtxGetCacheConfig(int *config) { return set("hipCtxGetCacheConfig", config, 0); }
SIMT_API int hipCtxSetCacheConfig(int) { return Success; }
SIMT_API int hipCtxGetSharedMemConfig(int *config) { return set("hipCtxGetSharedMemConfig", config, 0); }
SIMT_API int hipCtxSetSharedMemConfig(int) { return Success; }
SIMT_API int hipCtxEnablePeerAccess(const Context *context, unsigned) {
  return is_context(context) ? Success : fail(InvalidContext, "hipCtxEnablePeerAccess: this is not a context");
}
SIMT_API int hipCtxDisablePeerAccess(const Context *context) { return hipCtxEnablePeerAccess(context, 0); }

SIMT_API int hipDevicePrimaryCtxRetain(Context **context, int device) {
  if (const Error error = check_device("hipDevicePrimaryCtxRetain", device)) return error;
  return set("hipDevicePrimaryCtxRetain", context, &contexts[device]);
}
SIMT_API int hipDevicePrimaryCtxRelease(int device) { return check_device("hipDevicePrimaryCtxRelease", device); }
SIMT_API int hipDevicePrimaryCtxReset(int device) {
  if (const Error error = check_device("hipDevicePrimaryCtxReset", device)) return error;
  const int before = current_device();
  hipSetDevice(device);
  const int error = hipDeviceReset();
  hipSetDevice(before);
  return error;
}
SIMT_API int hipDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
  if (const Error error = check_device("hipDevicePrimaryCtxGetState", device)) return error;
  if (flags) *flags = device_flags;
  if (active) *active = 1;
  return Success;
}
SIMT_API int hipDevicePrimaryCtxSetFlags(int device, unsigned) {
  return check_device("hipDevicePrimaryCtxSetFlags", device);
}

// ---- errors

SIMT_API int hipDrvGetErrorName(int code, const char **name) {
  return set("hipDrvGetErrorName", name, error_name(code));
}
SIMT_API int hipDrvGetErrorString(int code, const char **text) {
  return set("hipDrvGetErrorString", text, error_string(code));
}
SIMT_API int hipExtGetLastError() { return clear_last_error(); }
