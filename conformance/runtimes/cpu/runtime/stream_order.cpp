#include "stream_order.h"

#include <algorithm>

namespace simt {

void StreamOrder::join(Clock &clock, const Clock &other) {
  for (const auto &[stream, works] : other) clock[stream] = std::max(clock[stream], works);
}

void StreamOrder::work(const char *call, const void *stream, bool fresh) {
  Stream &on = streams_[stream];
  join(on.before, host_);
  if (!fresh && early_.empty() && on.before.count(given_) == 0)
    early_ = text(call, stream, "which does not wait for it");
  on.last_call = call;
  on.before[stream] = ++on.works;
}

void StreamOrder::record(const void *event, const void *stream) {
  Clock reached = streams_[stream].before;
  join(reached, host_);
  events_[event] = reached;
}

void StreamOrder::wait(const void *stream, const void *event) { join(streams_[stream].before, events_[event]); }

void StreamOrder::host_waits(const void *stream) { join(host_, streams_[stream].before); }

void StreamOrder::host_waits_for_event(const void *event) { join(host_, events_[event]); }

void StreamOrder::host_waits_for_all() {
  for (const auto &[stream, state] : streams_) join(host_, state.before);
}

std::string StreamOrder::wrong() const {
  if (!early_.empty()) return early_;
  Clock done = streams_.at(given_).before;
  join(done, host_);
  for (const auto &[stream, state] : streams_)
    if (done[stream] < state.works) return text(state.last_call, stream, "for which it does not wait");
  return "";
}

std::string StreamOrder::text(const std::string &call, const void *stream, const char *what) const {
  return call + " put work on " + (stream ? "another stream" : "the null stream") +
         ", and not on the one that the launcher was given, " + what;
}

}  // namespace simt
