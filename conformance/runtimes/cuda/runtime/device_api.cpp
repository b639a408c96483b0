// The device and the process-wide calls.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <type_traits>

#include "functions.h"
#include "hipcuda.h"
#include "session.h"
#include "simt/properties.h"

using namespace cuda;
using simt::fail;
using simt::InvalidValue;
using simt::Success;

namespace {

struct Attribute {
  int hip, cuda;
};
// All others that HIP knows are 0 here.
constexpr Attribute attributes[] = {
#define FIELD(hip, cuda, field) {hip, cuda},
#define ALONE(hip, cuda, what) {hip, cuda},
#include "simt/attributes.inc"
#undef FIELD
#undef ALONE
};
constexpr int hip_total_memory = 84;

std::size_t total_memory(const Driver &cu, int device) {
  std::size_t bytes = 0;
  return cu.cuDeviceTotalMem_v2(&bytes, device) == 0 ? bytes : 0;
}

void fill(const Driver &cu, int device, simt::DeviceProperties &p) {
  constexpr int ecc = 32;  // a CUdevice_attribute
  const auto set = [&](auto &field, int number) {
    field = static_cast<std::remove_reference_t<decltype(field)>>(attribute(cu, number, device));
  };
#define FIELD(hip, cuda, field) set(p.field, cuda);
#define ALONE(hip, cuda, what)
#include "simt/attributes.inc"
#undef FIELD
#undef ALONE
  set(p.ECCEnabled, ecc);
  cu.cuDeviceGetName(p.name, sizeof p.name, device);
  cu.cuDeviceGetUuid_v2(p.uuid, device);
  std::snprintf(p.gcnArchName, sizeof p.gcnArchName, "sm_%d%d", p.major, p.minor);
  p.totalGlobalMem = total_memory(cu, device);
  p.clockInstructionRate = p.clockRate;
}

// body(driver), for an existing device and an output pointer that is not null.
template <class Body>
int about(const char *call, int device, const void *place, Body body) {
  return with_driver(call, [&](const Driver &cu) -> int {
    if (const Error error = check_device(cu, call, device)) return error;
    if (place == nullptr) return fail(InvalidValue, "%s: the output pointer is null", call);
    return body(cu);
  });
}

}  // namespace

// ---- devices

HIP_API int hipInit(unsigned) {
  return with_driver("hipInit", [](const Driver &) { return Success; });
}
HIP_API int hipGetDeviceCount(int *count) {
  if (!count) return fail(InvalidValue, "hipGetDeviceCount: the output pointer for the number is null");
  *count = 0;
  return with_driver("hipGetDeviceCount",
                     [&](const Driver &cu) { return to_error(cu, "hipGetDeviceCount", cu.cuDeviceGetCount(count)); });
}
HIP_API int hipSetDevice(int device) {
  return with_driver("hipSetDevice", [&](const Driver &cu) { return use_device(cu, "hipSetDevice", device); });
}
HIP_API int hipGetDevice(int *device) {
  if (!device) return fail(InvalidValue, "hipGetDevice: the output pointer for the number is null");
  *device = device_of_thread();
  return Success;
}
HIP_API int hipDeviceComputeCapability(int *major, int *minor, int device) {
  return about("hipDeviceComputeCapability", device, minor ? major : nullptr, [&](const Driver &cu) {
    constexpr int capability_major = 75, capability_minor = 76;  // CUdevice_attribute
    *major = attribute(cu, capability_major, device);
    *minor = attribute(cu, capability_minor, device);
    return Success;
  });
}
HIP_API int hipGetDevicePropertiesR0600(void *out, int device) {
  return about("hipGetDeviceProperties", device, out, [&](const Driver &cu) {
    simt::DeviceProperties p{};
    fill(cu, device, p);
    std::memcpy(out, &p, sizeof p);
    return Success;
  });
}
HIP_API int hipDeviceGetAttribute(int *value, int number, int device) {
  return about("hipDeviceGetAttribute", device, value, [&](const Driver &cu) {
    const auto *row = std::find_if(std::begin(attributes), std::end(attributes),
                                   [number](const auto &candidate) { return candidate.hip == number; });
    *value = number == hip_total_memory ? static_cast<int>(std::min<std::size_t>(total_memory(cu, device), 2147483647))
             : row != std::end(attributes) ? attribute(cu, row->cuda, device)
                                           : 0;
    return Success;
  });
}
HIP_API int hipDeviceSynchronize() {
  return in_context("hipDeviceSynchronize", [](const Driver &cu) {
    const Error error = to_error(cu, "hipDeviceSynchronize", cu.cuCtxSynchronize());
    if (!error) clear_pending_launches();
    return error;
  });
}
HIP_API int hipDeviceReset() {
  return with_driver("hipDeviceReset", [](const Driver &cu) {
    const int device = device_of_thread();
    const Error error = to_error(cu, "hipDeviceReset", cu.cuDevicePrimaryCtxReset_v2(device));
    functions().remove_device(device);
    remove_context(device);
    if (!error) simt::clear_last_error();
    return error;
  });
}

HIP_API const char *hipcudaLastMessage() { return simt::last_message(); }
HIP_API int hipcudaDriverVersion() {
  const Opened &opened = open_driver();
  return opened.driver != nullptr ? opened.driver->version : 0;
}
