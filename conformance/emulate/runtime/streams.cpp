// Streams beyond what the harness's own runs ask for. Every call has ended its work when it returns, so that a stream
// never holds work: what it calls back is called at once, and what it waits for is there, or never comes.
#include <atomic>
#include <cstdint>

#include "hip.h"
#include "host_device.h"
#include "memory.h"

using namespace simt;

namespace {

enum WaitIf { GreaterOrEqual = 0, Equal = 1, And = 2, Nor = 3 };

template <class T>
Error wait_value(const char *call, void *stream, const void *p, T value, unsigned flags, T mask) {
  if (const Error error = check_stream(call, stream)) return error;
  if (const Error error = memory().check_range(call, "value", p, sizeof value, true)) return error;
  if (is_captured(stream)) return fail(StreamCaptureUnsupported, "%s: the stream is being captured", call);
  const T found = *static_cast<const volatile T *>(p) & mask;
  const bool met = flags == GreaterOrEqual ? found >= value
                   : flags == Equal        ? found == value
                   : flags == And          ? (found & value) != 0
                                           : static_cast<T>(~(found | value)) != 0;
  if (met) return Success;
  return fail(NotSupported, "%s: the value is not there yet, and here no stream waits while others go on", call);
}

template <class T>
int write_value(const char *call, void *stream, void *p, T value) {
  if (const Error error = memory().check_range(call, "value", p, sizeof value, true)) return error;
  return on_stream(call, stream, Keeper::Work::Call, [=] {
    *static_cast<volatile T *>(p) = value;
    return +Success;
  });
}

}  // namespace

SIMT_API int hipStreamAddCallback(void *stream, void (*callback)(void *, int, void *), void *data, unsigned) {
  if (!callback) return fail(InvalidValue, "hipStreamAddCallback: the function is null");
  return on_stream("hipStreamAddCallback", stream, Keeper::Work::Call, [=] {
    callback(stream, Success, data);
    return +Success;
  });
}
SIMT_API int hipLaunchHostFunc(void *stream, void (*function)(void *), void *data) {
  if (!function) return fail(InvalidValue, "hipLaunchHostFunc: the function is null");
  return on_stream("hipLaunchHostFunc", stream, Keeper::Work::Call, [=] {
    function(data);
    return +Success;
  });
}
SIMT_API int hipStreamGetId(void *stream, unsigned long long *id) {
  if (const Error error = check_handle("hipStreamGetId", stream)) return error;
  if (!id) return fail(InvalidValue, "hipStreamGetId: the output pointer is null");
  *id = reinterpret_cast<std::uintptr_t>(stream);
  return Success;
}
SIMT_API int hipGetStreamDeviceId(void *stream) {
  int device = 0;
  return hipStreamGetDevice(stream, &device) == Success ? device : -1;
}
SIMT_API int hipExtStreamCreateWithCUMask(void **stream, std::uint32_t, const std::uint32_t *) {
  return hipStreamCreateWithFlags(stream, 0);
}
SIMT_API int hipEventRecordWithFlags(void *event, void *stream, unsigned) { return hipEventRecord(event, stream); }

SIMT_API int hipStreamWaitValue32(void *stream, void *p, std::uint32_t value, unsigned flags, std::uint32_t mask) {
  return wait_value("hipStreamWaitValue32", stream, p, value, flags, mask);
}
SIMT_API int hipStreamWaitValue64(void *stream, void *p, std::uint64_t value, unsigned flags, std::uint64_t mask) {
  return wait_value("hipStreamWaitValue64", stream, p, value, flags, mask);
}
SIMT_API int hipStreamWriteValue32(void *stream, void *p, std::uint32_t value, unsigned) {
  return write_value("hipStreamWriteValue32", stream, p, value);
}
SIMT_API int hipStreamWriteValue64(void *stream, void *p, std::uint64_t value, unsigned) {
  return write_value("hipStreamWriteValue64", stream, p, value);
}
