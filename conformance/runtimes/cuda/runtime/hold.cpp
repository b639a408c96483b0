// A stream that waits for its host: what is put on another one meanwhile is done all the same, and shows.
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "hipcuda.h"
#include "session.h"

using namespace cuda;

namespace {

struct Hold {
  std::mutex mutex;
  std::condition_variable changed;
  bool held = false;
  std::chrono::steady_clock::time_point until;
};

Hold &hold() {
  static Hold &instance = *new Hold;  // the driver's thread may outlive the destructors
  return instance;
}

// In a thread of the driver's, when the stream comes to it.
void wait(void *) {
  Hold &h = hold();
  std::unique_lock lock(h.mutex);
  h.changed.wait_until(lock, h.until, [&h] { return !h.held; });
  h.held = false;
}

}  // namespace

HIP_API int hipcudaHold(void *stream, unsigned milliseconds) {
  Hold &h = hold();
  {
    const std::lock_guard lock(h.mutex);
    h.held = true;
    h.until = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
  }
  const int error = drive("hipcudaHold", &Driver::cuLaunchHostFunc, stream, wait, nullptr);
  if (error) hipcudaRelease();
  return error;
}

HIP_API int hipcudaRelease() {
  Hold &h = hold();
  const std::lock_guard lock(h.mutex);
  const bool held = h.held;
  h.held = false;
  h.changed.notify_all();
  return held;
}
