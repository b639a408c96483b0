// Declarations shared by the files with HIP entry points. The HIP headers are not needed: the types in use are
// declared here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "error.h"

#define SIMT_API extern "C" __attribute__((visibility("default")))

namespace simt {

enum MemcpyKind : int { HostToHost = 0, HostToDevice = 1, DeviceToHost = 2, DeviceToDevice = 3, AnyToAny = 4 };

// Stream handles are validated and otherwise ignored: every call is complete when it returns.
Error check_stream(const char *call, const void *stream);

}  // namespace simt
