// Declarations shared by the files with HIP entry points. The HIP headers are not needed: the types in use are
// declared here. The cuda runtime includes it too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "error.h"

#define SIMT_API extern "C" __attribute__((visibility("default")))

namespace simt {

struct Shape {  // dim3
  unsigned x, y, z;
};

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

// Stream handles are validated and otherwise ignored, for every call is complete when it returns; but of a launcher it
// is watched which work is in order with its stream. A call puts work on `stream`:
Error check_stream(const char *call, const void *stream);
// A call that does not.
Error check_handle(const char *call, const void *stream);

// What keeps the work of captured streams for a graph instead of having it done: set by a layer above, which only
// programs have (conformance/emulate); null where nothing is captured.
struct Keeper {
  enum class Work { Copy, Fill, Call };  // what work is, to programs that ask

  bool (*captures)(const void *stream);
  Error (*keep)(const void *stream, Work kind, std::function<int()> work);
  Error (*keep_launch)(const void *kernel, Shape grid, Shape block, unsigned shared, void **params, void **extra,
                       const void *stream);
  // A captured stream records the event, or `stream` waits for an event that one has recorded: true.
  bool (*records)(const void *event, const void *stream);
  bool (*waits)(const void *stream, const void *event);
  // The stream is destroyed, which ends its capture: another one may get its address.
  void (*forgets)(const void *stream);
};
extern const Keeper *keeper;

inline bool is_captured(const void *stream) { return keeper && keeper->captures(stream); }

// Work on the null stream, by a call that takes no stream; `fresh` is as in stream_order.h.
void note_default_stream(const char *call, bool fresh);

// The host waits for a stream, and for all.
void note_host_waits(const void *stream);
void note_host_waits_for_all();

// hipFree and related functions were given what is not allocated; the last message says why.
void note_bad_free();

// The result of a launch by a launcher, which may never look at it: kept where the kernel faulted, or cannot be run.
void note_fault(Error error);

}  // namespace simt
