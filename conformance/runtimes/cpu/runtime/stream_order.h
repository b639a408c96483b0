// Whether a launcher's work on other streams than its own is in order with it: behind what its caller has put on that
// stream, and before what its caller will put on it.
#pragma once

#include <map>
#include <string>

namespace simt {

class StreamOrder {
 public:
  explicit StreamOrder(const void *given) : given_(given) { streams_[given] = {{{given, 1}}, "", 1}; }

  // `fresh`: on memory that only this call of the launcher knows, which need not wait for the caller's work.
  void work(const char *call, const void *stream, bool fresh = false);
  void record(const void *event, const void *stream);
  void wait(const void *stream, const void *event);
  void host_waits(const void *stream);
  void host_waits_for_event(const void *event);
  void host_waits_for_all();

  // What is out of order when the launcher has returned; "" for nothing.
  std::string wrong() const;

 private:
  using Clock = std::map<const void *, unsigned long>;  // how much of each stream's work is complete
  struct Stream {
    Clock before;           // what its next work begins behind
    std::string last_call;  // that put work on it
    unsigned long works = 0;
  };
  static void join(Clock &clock, const Clock &other);
  std::string text(const std::string &call, const void *stream, const char *what) const;

  const void *given_;
  std::map<const void *, Stream> streams_;
  std::map<const void *, Clock> events_;
  Clock host_;
  std::string early_;
};

}  // namespace simt
