// Declarations shared by the files with HIP entry points. The HIP headers are not needed: the types in use are
// declared here. The cuda runtime includes it too.
#pragma once

#include <cstddef>
#include <cstdint>

#include "error.h"

#define SIMT_API extern "C" __attribute__((visibility("default")))

namespace simt {

enum MemcpyKind : int { HostToHost = 0, HostToDevice = 1, DeviceToHost = 2, DeviceToDevice = 3, AnyToAny = 4 };

// A copy as each runtime makes it, `kind` unchecked; common_api.cpp has the entry points over them.
int copy(const char *call, void *to, const void *from, std::size_t bytes, int kind);
int copy_async(const char *call, void *to, const void *from, std::size_t bytes, int kind, void *stream);

// hipPointerAttribute_t as of HIP 6.0.
struct PointerAttributes {
  int type;  // hipMemoryType: 0 unregistered, 1 host, 2 device, 3 managed
  int device;
  void *device_pointer, *host_pointer;
  int is_managed;
  unsigned flags;
};

// Stream handles are validated and otherwise ignored: every call is complete when it returns.
Error check_stream(const char *call, const void *stream);

// Work on the null stream, by a call that takes no stream.
void note_default_stream(const char *call);

// The result of a launch by a launcher, which may never look at it: kept where the kernel faulted, or cannot be run.
void note_fault(Error error);

}  // namespace simt
