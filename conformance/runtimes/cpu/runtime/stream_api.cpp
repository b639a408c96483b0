// Streams and events.
#include <chrono>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "api.h"

using namespace simt;

namespace {

using Clock = std::chrono::steady_clock;

struct Event {
  bool recorded = false;
  Clock::time_point time;
};

class Handles {
 public:
  void *create_stream() {
    const std::lock_guard lock(mutex_);
    auto stream = std::make_unique<char>();
    void *handle = stream.get();
    streams_.emplace(handle, std::move(stream));
    return handle;
  }
  bool destroy_stream(const void *handle) {
    const std::lock_guard lock(mutex_);
    return streams_.erase(handle) != 0;
  }
  bool is_stream(const void *handle) {
    const std::lock_guard lock(mutex_);
    return streams_.count(handle) != 0;
  }
  void *create_event() {
    const std::lock_guard lock(mutex_);
    auto event = std::make_unique<Event>();
    void *handle = event.get();
    events_.emplace(handle, std::move(event));
    return handle;
  }
  bool destroy_event(const void *handle) {
    const std::lock_guard lock(mutex_);
    return events_.erase(handle) != 0;
  }
  // Null where the handle is not an event.
  Event *event(const void *handle) {
    const std::lock_guard lock(mutex_);
    const auto it = events_.find(handle);
    return it == events_.end() ? nullptr : it->second.get();
  }

 private:
  std::mutex mutex_;
  std::unordered_map<const void *, std::unique_ptr<char>> streams_;
  std::unordered_map<const void *, std::unique_ptr<Event>> events_;
};

Handles &handles() {
  static Handles &instance = *new Handles;
  return instance;
}

Error create(const char *call, void **out, void *(Handles::*make)()) {
  if (!out) return fail(InvalidValue, "%s: the output pointer for the handle is null", call);
  *out = (handles().*make)();
  return Success;
}

Error check_event(const char *call, const void *event) {
  return handles().event(event) ? Success
                                : fail(InvalidHandle, "%s: %s is not an event", call, pointer_text(event).c_str());
}

}  // namespace

namespace simt {

Error check_stream(const char *call, const void *stream) {
  constexpr std::uintptr_t last_special = 2;  // null, hipStreamLegacy, hipStreamPerThread
  if (reinterpret_cast<std::uintptr_t>(stream) <= last_special || handles().is_stream(stream)) return Success;
  return fail(InvalidHandle, "%s: %s is not a stream", call, pointer_text(stream).c_str());
}

}  // namespace simt

SIMT_API int hipStreamCreate(void **s) { return create("hipStreamCreate", s, &Handles::create_stream); }
SIMT_API int hipStreamCreateWithFlags(void **s, unsigned) {
  return create("hipStreamCreateWithFlags", s, &Handles::create_stream);
}
SIMT_API int hipStreamCreateWithPriority(void **s, unsigned, int) {
  return create("hipStreamCreateWithPriority", s, &Handles::create_stream);
}
SIMT_API int hipStreamDestroy(void *s) {
  return handles().destroy_stream(s)
             ? Success
             : fail(InvalidHandle, "hipStreamDestroy: %s is not a stream", pointer_text(s).c_str());
}
SIMT_API int hipStreamSynchronize(void *s) { return check_stream("hipStreamSynchronize", s); }
SIMT_API int hipStreamQuery(void *s) { return check_stream("hipStreamQuery", s); }
SIMT_API int hipStreamWaitEvent(void *s, void *event, unsigned) {
  const Error error = check_stream("hipStreamWaitEvent", s);
  return error ? error : check_event("hipStreamWaitEvent", event);
}
SIMT_API int hipStreamGetFlags(void *s, unsigned *flags) {
  if (flags) *flags = 0;
  return check_stream("hipStreamGetFlags", s);
}
SIMT_API int hipStreamGetPriority(void *s, int *priority) {
  if (priority) *priority = 0;
  return check_stream("hipStreamGetPriority", s);
}
SIMT_API int hipDeviceGetStreamPriorityRange(int *least, int *greatest) {
  if (least) *least = 0;
  if (greatest) *greatest = 0;
  return Success;
}

SIMT_API int hipEventCreate(void **e) { return create("hipEventCreate", e, &Handles::create_event); }
SIMT_API int hipEventCreateWithFlags(void **e, unsigned) {
  return create("hipEventCreateWithFlags", e, &Handles::create_event);
}
SIMT_API int hipEventDestroy(void *e) {
  return handles().destroy_event(e)
             ? Success
             : fail(InvalidHandle, "hipEventDestroy: %s is not an event", pointer_text(e).c_str());
}
SIMT_API int hipEventRecord(void *e, void *stream) {
  if (const Error error = check_stream("hipEventRecord", stream)) return error;
  Event *event = handles().event(e);
  if (!event) return fail(InvalidHandle, "hipEventRecord: %s is not an event", pointer_text(e).c_str());
  event->recorded = true;
  event->time = Clock::now();
  return Success;
}
SIMT_API int hipEventSynchronize(void *e) { return check_event("hipEventSynchronize", e); }
SIMT_API int hipEventQuery(void *e) { return check_event("hipEventQuery", e); }
SIMT_API int hipEventElapsedTime(float *milliseconds, void *from, void *to) {
  const Event *a = handles().event(from), *b = handles().event(to);
  if (!milliseconds || !a || !b || !a->recorded || !b->recorded)
    return fail(InvalidHandle, "hipEventElapsedTime: both events must exist and have been recorded");
  *milliseconds = std::chrono::duration<float, std::milli>(b->time - a->time).count();
  return Success;
}
