// What the files with HIP entry points share. The HIP headers are not needed: types are declared as far as they are
// used.
#pragma once

#include <cstddef>
#include <cstdint>

#include "error.h"

#define SIMT_API extern "C" __attribute__((visibility("default")))

namespace simt {

enum MemcpyKind : int { HostToHost = 0, HostToDevice = 1, DeviceToHost = 2, DeviceToDevice = 3, AnyToAny = 4 };

// Streams are checked handles with nothing behind them: every call is complete when it returns.
Error check_stream(const char *call, const void *stream);

}  // namespace simt
