// Streams and events.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "api.h"
#include "hipcpu.h"
#include "host_device.h"
#include "memory.h"
#include "sandbox_handler.h"
#include "stream_order.h"

using namespace simt;

namespace {

using Clock = std::chrono::steady_clock;

constexpr int greatest_priority = -1, least_priority = 1;  // as of AMD's runtime; the greatest is the smallest number

struct Stream {
  unsigned flags = 0;
  int priority = 0, device = current_device();
};
// When the event was recorded last. Several threads may record one event, and ask for it meanwhile.
struct Event {
  static constexpr std::int64_t never = INT64_MIN;
  std::atomic<std::int64_t> nanoseconds = never;
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
  std::size_t count() {
    const std::lock_guard lock(mutex_);
    return objects_.size();
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

Error create_stream(const char *call, void **out, unsigned flags, int priority) {
  if (const Error error = create<Stream>(call, out)) return error;
  Stream &stream = *live<Stream>().find(*out);
  stream.flags = flags;
  stream.priority = std::clamp(priority, greatest_priority, least_priority);
  return Success;
}

// While a launcher runs: what it puts on which stream, what it frees that it must not, and the first kernel that
// faulted.
struct Expected {
  std::optional<StreamOrder> order;
  std::string misuse;
  Error fault = Success;
  std::string fault_text;
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

const Keeper *keeper = nullptr;

void note_default_stream(const char *call, bool fresh) {
  if (auto &order = expected_work().order) order->work(call, nullptr, fresh);
}
void note_host_waits(const void *stream) {
  if (auto &order = expected_work().order) order->host_waits(stream);
}
void note_host_waits_for_all() {
  if (auto &order = expected_work().order) order->host_waits_for_all();
}

void note_bad_free() {
  if (expected_work().order && expected_work().misuse.empty())
    expected_work().misuse = std::string("frees what it must not: ") + last_message();
}

void note_fault(Error error) {
  const bool tells = (error >= IllegalAddress && error <= LaunchFailure) || error == NotSupported;
  if (!tells || !expected_work().order || expected_work().fault) return;
  expected_work().fault = error;
  expected_work().fault_text = last_message();
}

Error check_stream(const char *call, const void *stream) {
  if (const Error error = check_handle(call, stream)) return error;
  if (auto &order = expected_work().order) order->work(call, stream);
  return Success;
}

Error check_handle(const char *call, const void *stream) {
  constexpr std::uintptr_t last_special = 2;  // null, hipStreamLegacy, hipStreamPerThread
  if (reinterpret_cast<std::uintptr_t>(stream) <= last_special || live<Stream>().find(stream)) return Success;
  return fail(InvalidHandle, "%s: %s is not a stream", call, pointer_text(stream).c_str());
}

}  // namespace simt

SIMT_API void hipcpuBeginCall(void *stream) {
  expected_work() = {};
  expected_work().order.emplace(stream);
}
SIMT_API void hipcpuKeepFromHost(void *const *pointers, unsigned count) {
  install_fault_handlers();
  memory().keep_from_host(pointers, count);
}
SIMT_API const char *hipcpuEndCall(int *fault) {
  memory().admit_host();
  Expected &work = expected_work();
  if (work.order && work.misuse.empty()) work.misuse = work.order->wrong();
  work.order.reset();
  if (fault) *fault = work.fault;
  if (work.fault) return work.fault_text.c_str();
  return work.misuse.empty() ? nullptr : work.misuse.c_str();
}

SIMT_API void hipcpuLive(unsigned long *values) {
  for (const bool of_host : {false, true}) {
    const Memory::Held held = memory().held(of_host);
    *values++ = held.count;
    *values++ = held.bytes;
  }
  *values++ = live<Stream>().count();
  *values = live<Event>().count();
}

SIMT_API int hipStreamCreate(void **s) { return create<Stream>("hipStreamCreate", s); }
SIMT_API int hipStreamCreateWithFlags(void **s, unsigned flags) {
  return create_stream("hipStreamCreateWithFlags", s, flags, 0);
}
SIMT_API int hipStreamCreateWithPriority(void **s, unsigned flags, int priority) {
  return create_stream("hipStreamCreateWithPriority", s, flags, priority);
}
SIMT_API int hipStreamDestroy(void *s) {
  if (keeper) keeper->forgets(s);
  return live<Stream>().destroy(s)
             ? Success
             : fail(InvalidHandle, "hipStreamDestroy: %s is not a stream", pointer_text(s).c_str());
}
SIMT_API int hipStreamSynchronize(void *s) {
  if (const Error error = check_handle("hipStreamSynchronize", s)) return error;
  if (is_captured(s)) return fail(StreamCaptureUnsupported, "hipStreamSynchronize: the stream is being captured");
  note_host_waits(s);
  return Success;
}
SIMT_API int hipStreamQuery(void *s) {
  if (const Error error = check_handle("hipStreamQuery", s)) return error;
  return is_captured(s) ? fail(StreamCaptureUnsupported, "hipStreamQuery: the stream is being captured") : Success;
}
SIMT_API int hipStreamWaitEvent(void *s, void *event, unsigned) {
  if (const Error error = check_handle("hipStreamWaitEvent", s)) return error;
  if (const Error error = check_event("hipStreamWaitEvent", event)) return error;
  if (keeper && keeper->waits(s, event)) return Success;
  if (auto &order = expected_work().order) order->wait(s, event);
  return Success;
}
SIMT_API int hipStreamGetFlags(void *s, unsigned *flags) {
  if (const Error error = check_handle("hipStreamGetFlags", s)) return error;
  const Stream *stream = live<Stream>().find(s);
  if (flags) *flags = stream ? stream->flags : 0;
  return Success;
}
SIMT_API int hipStreamGetPriority(void *s, int *priority) {
  if (const Error error = check_handle("hipStreamGetPriority", s)) return error;
  const Stream *stream = live<Stream>().find(s);
  if (priority) *priority = stream ? stream->priority : 0;
  return Success;
}
SIMT_API int hipStreamGetDevice(void *s, int *device) {
  if (const Error error = check_handle("hipStreamGetDevice", s)) return error;
  const Stream *stream = live<Stream>().find(s);
  if (device) *device = stream ? stream->device : current_device();
  return Success;
}

SIMT_API int hipEventCreate(void **e) { return create<Event>("hipEventCreate", e); }
SIMT_API int hipEventCreateWithFlags(void **e, unsigned) { return create<Event>("hipEventCreateWithFlags", e); }
SIMT_API int hipEventDestroy(void *e) {
  return live<Event>().destroy(e) ? Success
                                  : fail(InvalidHandle, "hipEventDestroy: %s is not an event", pointer_text(e).c_str());
}
SIMT_API int hipEventRecord(void *e, void *stream) {
  if (const Error error = check_handle("hipEventRecord", stream)) return error;
  Event *event = live<Event>().find(e);
  if (!event) return fail(InvalidHandle, "hipEventRecord: %s is not an event", pointer_text(e).c_str());
  if (keeper && keeper->records(e, stream)) return Success;
  if (auto &order = expected_work().order) order->record(e, stream);
  event->nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
  return Success;
}
SIMT_API int hipEventSynchronize(void *e) {
  if (const Error error = check_event("hipEventSynchronize", e)) return error;
  if (auto &order = expected_work().order) order->host_waits_for_event(e);
  return Success;
}
SIMT_API int hipEventQuery(void *e) { return check_event("hipEventQuery", e); }
SIMT_API int hipEventElapsedTime(float *milliseconds, void *from, void *to) {
  const Event *a = live<Event>().find(from), *b = live<Event>().find(to);
  const std::int64_t begin = a ? a->nanoseconds.load() : Event::never, end = b ? b->nanoseconds.load() : Event::never;
  if (!milliseconds || begin == Event::never || end == Event::never)
    return fail(InvalidHandle, "hipEventElapsedTime: both events must exist and have been recorded");
  *milliseconds = std::chrono::duration<float, std::milli>(std::chrono::nanoseconds(end - begin)).count();
  return Success;
}
