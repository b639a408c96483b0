// Streams and events. Handles are CUDA's own; null, hipStreamLegacy and hipStreamPerThread have CUDA's numbers.
#include "session.h"

using namespace cuda;
using simt::fail;
using simt::InvalidValue;
using simt::NotReady;
using simt::Success;

namespace {

constexpr unsigned stream_flags = 1;  // non-blocking
constexpr unsigned event_flags = 7;   // blocking-sync, disable-timing, interprocess: the others exist in HIP only

template <class Create>
int create(const char *call, void **out, Create make) {
  if (!out) return fail(InvalidValue, "%s: the output pointer for the handle is null", call);
  return in_context(call, [&](const Driver &cu) { return to_error(cu, call, make(cu)); });
}

// Not ready is a result, not an error.
int ready(const Driver &cu, const char *call, int result) {
  return result == NotReady ? NotReady : to_error(cu, call, result);
}

int make_stream(const char *call, void **stream, unsigned flags) {
  return create(call, stream, [&](const Driver &cu) { return cu.cuStreamCreate(stream, flags & stream_flags); });
}
int make_event(const char *call, void **event, unsigned flags) {
  return create(call, event, [&](const Driver &cu) { return cu.cuEventCreate(event, flags & event_flags); });
}

}  // namespace

HIP_API int hipStreamCreate(void **s) { return make_stream("hipStreamCreate", s, 0); }
HIP_API int hipStreamCreateWithFlags(void **s, unsigned flags) {
  return make_stream("hipStreamCreateWithFlags", s, flags);
}
HIP_API int hipStreamCreateWithPriority(void **s, unsigned flags, int priority) {
  return create("hipStreamCreateWithPriority", s,
                [&](const Driver &cu) { return cu.cuStreamCreateWithPriority(s, flags & stream_flags, priority); });
}
HIP_API int hipStreamDestroy(void *s) {
  return in_context("hipStreamDestroy",
                    [&](const Driver &cu) { return to_error(cu, "hipStreamDestroy", cu.cuStreamDestroy_v2(s)); });
}
HIP_API int hipStreamSynchronize(void *s) {
  return in_context("hipStreamSynchronize",
                    [&](const Driver &cu) { return to_error(cu, "hipStreamSynchronize", cu.cuStreamSynchronize(s)); });
}
HIP_API int hipStreamQuery(void *s) {
  return in_context("hipStreamQuery",
                    [&](const Driver &cu) { return ready(cu, "hipStreamQuery", cu.cuStreamQuery(s)); });
}
HIP_API int hipStreamWaitEvent(void *s, void *event, unsigned) {
  return in_context("hipStreamWaitEvent", [&](const Driver &cu) {
    return to_error(cu, "hipStreamWaitEvent", cu.cuStreamWaitEvent(s, event, 0));
  });
}
HIP_API int hipStreamGetFlags(void *s, unsigned *flags) {
  return create("hipStreamGetFlags", reinterpret_cast<void **>(flags),
                [&](const Driver &cu) { return cu.cuStreamGetFlags(s, flags); });
}
HIP_API int hipStreamGetPriority(void *s, int *priority) {
  return create("hipStreamGetPriority", reinterpret_cast<void **>(priority),
                [&](const Driver &cu) { return cu.cuStreamGetPriority(s, priority); });
}
HIP_API int hipDeviceGetStreamPriorityRange(int *least, int *greatest) {
  return in_context("hipDeviceGetStreamPriorityRange", [&](const Driver &cu) {
    return to_error(cu, "hipDeviceGetStreamPriorityRange", cu.cuCtxGetStreamPriorityRange(least, greatest));
  });
}

HIP_API int hipEventCreate(void **e) { return make_event("hipEventCreate", e, 0); }
HIP_API int hipEventCreateWithFlags(void **e, unsigned flags) {
  return make_event("hipEventCreateWithFlags", e, flags);
}
HIP_API int hipEventDestroy(void *e) {
  return in_context("hipEventDestroy",
                    [&](const Driver &cu) { return to_error(cu, "hipEventDestroy", cu.cuEventDestroy_v2(e)); });
}
HIP_API int hipEventRecord(void *e, void *stream) {
  return in_context("hipEventRecord",
                    [&](const Driver &cu) { return to_error(cu, "hipEventRecord", cu.cuEventRecord(e, stream)); });
}
HIP_API int hipEventSynchronize(void *e) {
  return in_context("hipEventSynchronize",
                    [&](const Driver &cu) { return to_error(cu, "hipEventSynchronize", cu.cuEventSynchronize(e)); });
}
HIP_API int hipEventQuery(void *e) {
  return in_context("hipEventQuery", [&](const Driver &cu) { return ready(cu, "hipEventQuery", cu.cuEventQuery(e)); });
}
HIP_API int hipEventElapsedTime(float *milliseconds, void *from, void *to) {
  if (!milliseconds) return fail(InvalidValue, "hipEventElapsedTime: the output pointer for the time is null");
  return in_context("hipEventElapsedTime", [&](const Driver &cu) {
    return ready(cu, "hipEventElapsedTime", cu.cuEventElapsedTime(milliseconds, from, to));
  });
}
