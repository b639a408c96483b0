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

// As drive(), for a function whose first argument is where a handle goes.
template <class Function, class... Arguments>
int create(const char *call, Function Driver::*function, void **out, Arguments... arguments) {
  if (!out) return fail(InvalidValue, "%s: the output pointer for the handle is null", call);
  return drive(call, function, out, arguments...);
}

// Likewise, for a function that asks how far work is: not ready is a result, not an error.
template <class Function, class... Arguments>
int query(const char *call, Function Driver::*function, Arguments... arguments) {
  return in_context(call, [&](const Driver &cu) -> int {
    const int result = (cu.*function)(arguments...);
    return result == NotReady ? NotReady : to_error(cu, call, result);
  });
}

}  // namespace

HIP_API int hipStreamCreate(void **s) { return create("hipStreamCreate", &Driver::cuStreamCreate, s, 0); }
HIP_API int hipStreamCreateWithFlags(void **s, unsigned flags) {
  return create("hipStreamCreateWithFlags", &Driver::cuStreamCreate, s, flags & stream_flags);
}
HIP_API int hipStreamCreateWithPriority(void **s, unsigned flags, int priority) {
  return create("hipStreamCreateWithPriority", &Driver::cuStreamCreateWithPriority, s, flags & stream_flags, priority);
}
HIP_API int hipStreamDestroy(void *s) { return drive("hipStreamDestroy", &Driver::cuStreamDestroy_v2, s); }
HIP_API int hipStreamSynchronize(void *s) { return drive("hipStreamSynchronize", &Driver::cuStreamSynchronize, s); }
HIP_API int hipStreamQuery(void *s) { return query("hipStreamQuery", &Driver::cuStreamQuery, s); }
HIP_API int hipStreamWaitEvent(void *s, void *event, unsigned) {
  return drive("hipStreamWaitEvent", &Driver::cuStreamWaitEvent, s, event, 0);
}
HIP_API int hipStreamGetFlags(void *s, unsigned *flags) {
  if (!flags) return fail(InvalidValue, "hipStreamGetFlags: the output pointer for the flags is null");
  return drive("hipStreamGetFlags", &Driver::cuStreamGetFlags, s, flags);
}
HIP_API int hipStreamGetPriority(void *s, int *priority) {
  if (!priority) return fail(InvalidValue, "hipStreamGetPriority: the output pointer for the priority is null");
  return drive("hipStreamGetPriority", &Driver::cuStreamGetPriority, s, priority);
}

HIP_API int hipEventCreate(void **e) { return create("hipEventCreate", &Driver::cuEventCreate, e, 0); }
HIP_API int hipEventCreateWithFlags(void **e, unsigned flags) {
  return create("hipEventCreateWithFlags", &Driver::cuEventCreate, e, flags & event_flags);
}
HIP_API int hipEventDestroy(void *e) { return drive("hipEventDestroy", &Driver::cuEventDestroy_v2, e); }
HIP_API int hipEventRecord(void *e, void *stream) { return drive("hipEventRecord", &Driver::cuEventRecord, e, stream); }
HIP_API int hipEventSynchronize(void *e) { return drive("hipEventSynchronize", &Driver::cuEventSynchronize, e); }
HIP_API int hipEventQuery(void *e) { return query("hipEventQuery", &Driver::cuEventQuery, e); }
HIP_API int hipEventElapsedTime(float *milliseconds, void *from, void *to) {
  if (!milliseconds) return fail(InvalidValue, "hipEventElapsedTime: the output pointer for the time is null");
  return query("hipEventElapsedTime", &Driver::cuEventElapsedTime, milliseconds, from, to);
}
