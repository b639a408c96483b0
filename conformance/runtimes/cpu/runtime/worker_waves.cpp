// Collectives: the lanes of a wave meet, diverge, and go on.
#include <bit>

#include "worker.h"

namespace simt {

Resume Worker::on_wave(int op, std::uint64_t mask, std::uint64_t value, int source, const char *file, int place,
                       void *sp) {
  if (!slow) leave_fast_mode();
  const unsigned shift = static_cast<unsigned>(std::countr_zero(wave_size));
  const unsigned w = current_ >> shift, lane = current_ & (wave_size - 1), base = w << shift;
  Thread &me = threads_[current_];
  me.sp = sp;
  me.file = file;
  me.place = place;
  me.value = value;
  me.mask = mask;
  me.source = static_cast<signed char>(source < 0 || source >= SIMT_MAX_WAVE ? -1 : source);
  me.op = static_cast<unsigned char>(op);
  const std::uint64_t bit = std::uint64_t{1} << lane;
  if (!(mask & bit)) {
    Incident i = incident_here(Incident::NotInMask);
    i.here = {file, place};
    i.mask = mask;
    i.other_thread = lane;
    abandon(i);
  }
  Wave &wave = waves_[w];
  wave.waiting |= bit;
  const std::uint64_t need = mask & wave.live;
  if ((wave.waiting & need) == need) {
    bool meet = true;
    for (std::uint64_t m = need & ~bit; m && meet; m &= m - 1) {
      const Thread &other = threads_[base + static_cast<unsigned>(std::countr_zero(m))];
      meet = other.place == place && other.op == op && other.file == file && (other.mask & wave.live) == need;
    }
    if (meet) {
      complete_wave(w, need);
      queue_lanes(w, need);
      return dispatch();
    }
  }
  me.state = InWave;
  return dispatch();
}

void Worker::complete_wave(unsigned w, std::uint64_t group) {
  Thread *lanes = threads_.get() + w * wave_size;
  const auto each = [group, lanes](auto &&action) {
    for (std::uint64_t m = group; m; m &= m - 1) {
      const unsigned lane = static_cast<unsigned>(std::countr_zero(m));
      action(lane, lanes[lane]);
    }
  };
  std::uint64_t result = 0;
  switch (lanes[std::countr_zero(group)].op) {
    case SIMT_BALLOT:
      each([&](unsigned lane, Thread &t) { result |= static_cast<std::uint64_t>(t.value != 0) << lane; });
      each([&](unsigned, Thread &t) { t.result = result; });
      break;
    case SIMT_ACTIVE:
      each([&](unsigned, Thread &t) { t.result = group; });
      break;
    case SIMT_MATCH:
      each([&](unsigned, Thread &t) {
        std::uint64_t equal = 0;
        each([&](unsigned lane, Thread &o) { equal |= static_cast<std::uint64_t>(o.value == t.value) << lane; });
        t.result = equal;
      });
      break;
    case SIMT_SHUFFLE:
      each([&](unsigned, Thread &t) {
        const bool there = t.source >= 0 && (group >> t.source & 1);
        t.result = there ? lanes[t.source].value : t.value;
      });
      break;
    default:
      break;
  }
  waves_[w].waiting &= ~group;
}

// All lanes of the group can run on, in the order that was chosen: also the one that came last, so that any two lanes
// go on in different orders when the order is turned round.
void Worker::queue_lanes(unsigned w, std::uint64_t group) {
  const unsigned base = w * wave_size;
  const auto push = [this, base](unsigned lane) {
    threads_[base + lane].state = Ready;
    ready_[ready_tail_++ % SIMT_MAX_THREADS] = static_cast<std::uint16_t>(base + lane);
  };
  if (!plan_->lane_order) {
    for (; group; group &= group - 1) push(static_cast<unsigned>(std::countr_zero(group)));
    return;
  }
  for (unsigned i = 0; i < wave_size; ++i) {
    const unsigned lane = plan_->lane_order[i];
    if (group >> lane & 1) push(lane);
  }
}

// The lanes of a wave that wait at the same place for the same thing as its lowest lane in `of`.
std::uint64_t Worker::alike(unsigned w, std::uint64_t of) const {
  const Thread *lanes = threads_.get() + w * wave_size;
  const Thread &lead = lanes[std::countr_zero(of)];
  std::uint64_t group = 0;
  for (std::uint64_t m = of; m; m &= m - 1) {
    const unsigned lane = static_cast<unsigned>(std::countr_zero(m));
    const Thread &t = lanes[lane];
    if (t.place == lead.place && t.op == lead.op && t.mask == lead.mask && same_text(t.file, lead.file))
      group |= std::uint64_t{1} << lane;
  }
  return group;
}

// Whether diverged lanes at `a` go on before those at `b`. Lanes meet again further down in the kernel, so those that
// are further up, or in a function of another file (a header), come first; on a GPU the lowest program counter does.
bool Worker::goes_first(const Thread &a, const Thread &b) const {
  const bool a_in_kernel = same_text(a.file, plan_->kernel->file), b_in_kernel = same_text(b.file, plan_->kernel->file);
  return a_in_kernel != b_in_kernel ? b_in_kernel : a.place < b.place;
}

// Nothing else can run: the lanes have diverged. A collective of all 64 mask bits means the lanes that are here. With
// any other mask it waits for the lanes it names; if that is all that waves do, some of these will never come.
bool Worker::resolve_waves() {
  bool any = false, stuck = false;
  unsigned stuck_wave = 0;
  std::uint64_t stuck_group = 0;
  for (unsigned w = 0; w * wave_size < threads; ++w) {
    const Thread *lanes = threads_.get() + w * wave_size;
    std::uint64_t chosen = 0;
    for (std::uint64_t left = waves_[w].waiting; left;) {
      const std::uint64_t group = alike(w, left);
      const Thread &lead = lanes[std::countr_zero(group)];
      left &= ~group;
      if (lead.mask != ~std::uint64_t{0} && (lead.mask & waves_[w].live & ~group)) {
        if (!stuck) {
          stuck = true;
          stuck_wave = w;
          stuck_group = group;
        }
      } else if (!chosen || goes_first(lead, lanes[std::countr_zero(chosen)])) {
        chosen = group;
      }
    }
    if (!chosen) continue;
    complete_wave(w, chosen);
    queue_lanes(w, chosen);
    any = true;
  }
  if (stuck && !any) missing_lanes(stuck_wave, stuck_group);
  return any;
}

void Worker::missing_lanes(unsigned w, std::uint64_t group) {
  const Thread &waits = threads_[w * wave_size + static_cast<unsigned>(std::countr_zero(group))];
  const unsigned missing = static_cast<unsigned>(std::countr_zero(waits.mask & waves_[w].live & ~group));
  const Thread &other = threads_[w * wave_size + missing];
  threadIdx = waits.index;
  Incident i = incident_here(Incident::MissingLanes);
  i.here = {waits.file, waits.place};
  i.there = {other.file, other.place};
  i.what = other.state == AtBarrier ? "barrier" : "collective";
  i.other_thread = missing;
  i.wave = w;
  i.lanes = group;
  i.mask = waits.mask;
  abandon(i);
}

}  // namespace simt
