// What the entry points share: the calling thread's device, and CUresult as hipError_t.
#pragma once

#include <cstddef>
#include <cstdint>

#include "driver.h"
#include "error.h"

#define HIP_API extern "C" __attribute__((visibility("default")))

namespace cuda {

using simt::Error;

// ---- devices

int device_of_thread();  // as set by hipSetDevice, initially 0
// Whether `device` exists, else an error for `call`.
Error check_device(const Driver &cu, const char *call, int device);
Error use_device(const Driver &cu, const char *call, int device);
// Makes the primary context of the thread's device current.
Error enter(const Driver &cu, const char *call);
// Drops the context of a device that was reset: the next call retains a new one.
void remove_context(int device);
int attribute(const Driver &cu, int number, int device);  // 0 where the driver does not know it

// body(driver) -> Error. The driver is open; with `in_context`, the thread's device is current.
template <class Body>
int with_driver(const char *, Body body) {
  const Opened &opened = open_driver();
  if (opened.driver == nullptr) return simt::fail(static_cast<Error>(opened.code), "%s", opened.why.c_str());
  return body(*opened.driver);
}
template <class Body>
int in_context(const char *call, Body body) {
  return with_driver(call, [&](const Driver &cu) -> int {
    if (const Error error = enter(cu, call)) return error;
    return body(cu);
  });
}

// ---- results

Error hip_code(int result);  // of a CUresult
// Success, or the call's error with the driver's message. The message of a kernel's fault names the launch.
Error to_error(const Driver &cu, const char *call, int result);
// The same, with `what` in place of the call: "kernel f<<<...>>>".
Error to_error(const Driver &cu, const char *call, int result, const char *what);

// A function of the driver, with those arguments, on the thread's device: drive("hipFree", &Driver::cuMemFree_v2, p).
template <class Function, class... Arguments>
int drive(const char *call, Function Driver::*function, Arguments... arguments) {
  return in_context(call, [&](const Driver &cu) { return to_error(cu, call, (cu.*function)(arguments...)); });
}

// ---- launches, for the messages of faults

struct Launch {
  const char *kernel;  // lives as long as the process
  unsigned grid[3], block[3], dynamic_bytes;
};
std::string describe(const Launch &launch);
void note_launch(const Launch &launch);
void clear_pending_launches();  // after a synchronisation that reported no fault

}  // namespace cuda
