// Streams of the stand-in: work is done where it is put, but behind a host function, until that has returned.
//
// STAND_IN_HIP_HOST_FUNCTIONS  what hipLaunchHostFunc does otherwise:
//   CODE       it returns CODE, and nothing else happens
//   unordered  the function is called, and work behind it does not wait for it
//   uncalled   the function is never called, work behind it does not wait, and no event counts as reached
#pragma once
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace stand_in {

using Work = std::function<void()>;

inline std::string host_functions() {
  const char *value = std::getenv("STAND_IN_HIP_HOST_FUNCTIONS");
  return value ? value : "";
}

class Stream {
 public:
  ~Stream() { wait(); }

  void put(Work work) {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (held_) {
      waiting_.push_back(std::move(work));
    } else {
      work();
    }
  }

  void put_function(void (*function)(void *), void *data) {
    wait();
    held_ = host_functions().empty();
    thread_ = std::thread([this, function, data] {
      function(data);
      const std::lock_guard<std::mutex> guard(mutex_);
      for (const Work &work : waiting_) work();
      waiting_.clear();
      held_ = false;
    });
  }

  void wait() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::mutex mutex_;
  std::deque<Work> waiting_;
  bool held_ = false;
  std::thread thread_;
};

// All of a process; the null stream holds nothing back.
class Streams {
 public:
  Stream *make() {
    streams_.push_back(std::make_unique<Stream>());
    return streams_.back().get();
  }

  void wait() {
    for (const auto &stream : streams_) stream->wait();
  }

 private:
  std::vector<std::unique_ptr<Stream> > streams_;
};

inline Streams &streams() {
  static Streams all;
  return all;
}

inline void put(Stream *stream, Work work) {
  if (stream) {
    stream->put(std::move(work));
  } else {
    work();
  }
}

struct Event {
  bool reached = true;
};

}  // namespace stand_in
