// Streams of the stand-in driver: each does what it is given in its order, in a thread of its own.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

class Streams {
 public:
  void put(void *stream, std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    auto [at, added] = queues_.try_emplace(stream);
    at->second.push_back(std::move(work));
    changed_.notify_all();
    if (added) std::thread([this, &queue = at->second] { serve(queue); }).detach();
  }
  void wait(void *stream) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !queues_.count(stream) || queues_[stream].empty(); });
  }
  void wait_for_all() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
      for (const auto &row : queues_)
        if (!row.second.empty()) return false;
      return true;
    });
  }

 private:
  void serve(std::deque<std::function<void()>> &queue) {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return !queue.empty(); });
      const auto work = queue.front();
      lock.unlock();
      work();
      lock.lock();
      queue.pop_front();  // what is being done counts as waiting
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<void *, std::deque<std::function<void()>>> queues_;
};

inline Streams &streams() {
  static Streams &instance = *new Streams;  // its threads do not end
  return instance;
}
