// Streams and events.
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "api.h"
#include "hipcpu.h"

using namespace simt;

namespace {

using Clock = std::chrono::steady_clock;

struct Stream {};
struct Event {
  bool recorded = false;
  Clock::time_point time;
};

// The live objects of one kind; a handle is an object's address.
template <class T>
class Handles {
 public:
  void *create() {
    const std::lock_guard lock(mutex_);
    auto object = std::make_unique<T>();
    void *handle = object.get();
    objects_.emplace(handle, std::move(object));
    return handle;
  }
  bool destroy(const void *handle) {
    const std::lock_guard lock(mutex_);
    return objects_.erase(handle) != 0;
  }
  // Null where there is none.
  T *find(const void *handle) {
    const std::lock_guard lock(mutex_);
    const auto it = objects_.find(handle);
    return it == objects_.end() ? nullptr : it->second.get();
  }

 private:
  std::mutex mutex_;
  std::unordered_map<const void *, std::unique_ptr<T>> objects_;
};

template <class T>
Handles<T> &live() {
  static Handles<T> &instance = *new Handles<T>;
  return instance;
}

template <class T>
Error create(const char *call, void **out) {
  if (!out) return fail(InvalidValue, "%s: the output pointer for the handle is null", call);
  *out = live<T>().create();
  return Success;
}

// While a launcher runs: the stream that it was given, the first call that put work on another one, and the first
// kernel that faulted.
struct Expected {
  bool active = false;
  const void *stream = nullptr;
  std::string stray;
  Error fault = Success;
  std::string fault_text;

  void note(const char *call, const void *given) {
    if (!active || given == stream || !stray.empty()) return;
    stray = std::string(call) + " put work on " + (given ? "another stream" : "the null stream") +
            ", and not on the one that the launcher was given";
  }
};

Expected &expected_work() {
  static Expected &instance = *new Expected;
  return instance;
}

Error check_event(const char *call, const void *event) {
  return live<Event>().find(event) ? Success
                                   : fail(InvalidHandle, "%s: %s is not an event", call, pointer_text(event).c_str());
}

}  // namespace

namespace simt {

void note_default_stream(const char *call) { expected_work().note(call, nullptr); }

void note_fault(Error error) {
  const bool tells = (error >= IllegalAddress && error <= LaunchFailure) || error == NotSupported;
  if (!tells || !expected_work().active || expected_work().fault) return;
  expected_work().fault = error;
  expected_work().fault_text = last_message();
}

Error check_stream(const char *call, const void *stream) {
  expected_work().note(call, stream);
  constexpr std::uintptr_t last_special = 2;  // null, hipStreamLegacy, hipStreamPerThread
  if (reinterpret_cast<std::uintptr_t>(stream) <= last_special || live<Stream>().find(stream)) return Success;
  return fail(InvalidHandle, "%s: %s is not a stream", call, pointer_text(stream).c_str());
}

}  // namespace simt

SIMT_API void hipcpuBeginCall(void *stream) {
  expected_work() = {};
  expected_work().active = true;
  expected_work().stream = stream;
}
SIMT_API const char *hipcpuEndCall(int *fault) {
  Expected &work = expected_work();
  work.active = false;
  if (fault) *fault = work.fault;
  if (work.fault) return work.fault_text.c_str();
  return work.stray.empty() ? nullptr : work.stray.c_str();
}

SIMT_API int hipStreamCreate(void **s) { return create<Stream>("hipStreamCreate", s); }
SIMT_API int hipStreamCreateWithFlags(void **s, unsigned) { return create<Stream>("hipStreamCreateWithFlags", s); }
SIMT_API int hipStreamCreateWithPriority(void **s, unsigned, int) {
  return create<Stream>("hipStreamCreateWithPriority", s);
}
SIMT_API int hipStreamDestroy(void *s) {
  return live<Stream>().destroy(s)
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

SIMT_API int hipEventCreate(void **e) { return create<Event>("hipEventCreate", e); }
SIMT_API int hipEventCreateWithFlags(void **e, unsigned) { return create<Event>("hipEventCreateWithFlags", e); }
SIMT_API int hipEventDestroy(void *e) {
  return live<Event>().destroy(e) ? Success
                                  : fail(InvalidHandle, "hipEventDestroy: %s is not an event", pointer_text(e).c_str());
}
SIMT_API int hipEventRecord(void *e, void *stream) {
  if (const Error error = check_stream("hipEventRecord", stream)) return error;
  Event *event = live<Event>().find(e);
  if (!event) return fail(InvalidHandle, "hipEventRecord: %s is not an event", pointer_text(e).c_str());
  event->recorded = true;
  event->time = Clock::now();
  return Success;
}
SIMT_API int hipEventSynchronize(void *e) { return check_event("hipEventSynchronize", e); }
SIMT_API int hipEventQuery(void *e) { return check_event("hipEventQuery", e); }
SIMT_API int hipEventElapsedTime(float *milliseconds, void *from, void *to) {
  const Event *a = live<Event>().find(from), *b = live<Event>().find(to);
  if (!milliseconds || !a || !b || !a->recorded || !b->recorded)
    return fail(InvalidHandle, "hipEventElapsedTime: both events must exist and have been recorded");
  *milliseconds = std::chrono::duration<float, std::milli>(b->time - a->time).count();
  return Success;
}
