// Collectives: lanes of a wave converge, exchange values, and go on.
#include "bits.h"
#include "scheduling.h"

namespace simt {

Resume Worker::on_wave(int op, std::uint64_t mask, std::uint64_t value, int source, const char *file, int location,
                       void *sp) {
  if (!fiber_mode) enter_fiber_mode();
  interact();
  if (op == SIMT_SWITCH) return on_switch(sp);
  if (op & SIMT_NAMED && wave_size < SIMT_MAX_WAVE) mask &= (std::uint64_t{1} << wave_size) - 1;
  const unsigned shift = zeros_below(wave_size);
  const unsigned w = current_ >> shift, lane = current_ & (wave_size - 1);
  Thread &me = threads_[current_];
  me.sp = sp;
  me.file = file;
  me.location = location;
  me.value = value;
  me.mask = mask;
  me.source = static_cast<signed char>(source < 0 || source >= SIMT_MAX_WAVE ? -1 : source);
  me.op = static_cast<unsigned char>(op);
  const std::uint64_t bit = std::uint64_t{1} << lane;
  if (!(mask & bit)) {
    Incident i = incident_here(Incident::NotInMask);
    i.here = {file, location};
    i.mask = mask;
    i.other_thread = lane;
    abort_block(i);
  }
  Wave &wave = waves_[w];
  if (wave.waiting) {
    const Thread &first = threads_[wave.first];
    wave.alike &= first.location == location && first.op == op && first.mask == mask && first.file == file;
  } else {
    wave.first = current_;
    wave.alike = true;
  }
  wave.waiting |= bit;
  const std::uint64_t need = mask & wave.live;
  if ((wave.waiting & need) == need && (wave.alike || is_complete(w, need))) {
    complete_wave(w, need);
    queue_lanes(w, need);
  }
  return dispatch();
}

// Whether the lanes in `need`, which all wait, do so in the call of the current thread.
bool Worker::is_complete(unsigned w, std::uint64_t need) const {
  const Thread *lanes = threads_.get() + w * wave_size, &me = threads_[current_];
  for (std::uint64_t m = need; m; m &= m - 1) {
    const Thread &other = lanes[zeros_below(m)];
    if (other.location != me.location || other.op != me.op || other.file != me.file ||
        (other.mask & waves_[w].live) != need)
      return false;
  }
  return true;
}

Resume Worker::on_switch(void *sp) {
  Thread &thread = threads_[current_];
  if (plan_->watch_atomics) {
    switch_at_atomics = switching_ = false;
    return {sp, 0};
  }
  ++thread.switches;
  thread.sp = sp;
  thread.result = 0;
  switched_[switched_tail_++ % SIMT_MAX_THREADS] = static_cast<std::uint16_t>(current_);
  return dispatch();
}

void Worker::complete_wave(unsigned w, std::uint64_t group) {
  Thread *lanes = threads_.get() + w * wave_size;
  const auto each = [group, lanes](auto &&action) {
    for (std::uint64_t m = group; m; m &= m - 1) {
      const unsigned lane = zeros_below(m);
      action(lane, lanes[lane]);
    }
  };
  const Thread &lead = lanes[zeros_below(group)];
  if (lead.op & SIMT_NAMED && lead.mask & ~waves_[w].live) absent_lanes(w, group);
  const int op = lead.op & ~SIMT_NAMED;
  std::uint64_t result = 0;
  switch (op) {
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
    case SIMT_PERMUTE:
      each([&](unsigned, Thread &t) {
        const bool active = t.source >= 0 && (group >> t.source & 1);
        const std::uint64_t absent = op == SIMT_SHUFFLE ? t.value : 0;
        t.result = active ? lanes[t.source].value : absent;
      });
      break;
    default:
      break;
  }
  waves_[w].waiting &= ~group;
}

// All lanes of the group can go on, in the chosen order: the one that arrived last too, so that any two lanes go on in
// opposite order when the order is reversed.
void Worker::queue_lanes(unsigned w, std::uint64_t group) {
  const unsigned base = w * wave_size;
  const auto push = [this, base](unsigned lane) {
    ready_[ready_tail_++ % SIMT_MAX_THREADS] = static_cast<std::uint16_t>(base + lane);
  };
  if (!plan_->lane_order) {
    for (; group; group &= group - 1) push(zeros_below(group));
    return;
  }
  for (unsigned i = 0; i < wave_size; ++i) {
    const unsigned lane = plan_->lane_order[i];
    if (group >> lane & 1) push(lane);
  }
}

// The lanes of `of` that wait in the same call of a collective, with the same mask, as the lowest one.
std::uint64_t Worker::lanes_at_same_call(unsigned w, std::uint64_t of) const {
  const Thread *lanes = threads_.get() + w * wave_size;
  const Thread &lead = lanes[zeros_below(of)];
  std::uint64_t group = 0;
  for (std::uint64_t m = of; m; m &= m - 1) {
    const unsigned lane = zeros_below(m);
    const Thread &t = lanes[lane];
    if (t.location == lead.location && t.op == lead.op && t.mask == lead.mask && same_text(t.file, lead.file))
      group |= std::uint64_t{1} << lane;
  }
  return group;
}

// Whether diverged lanes at `a` go on before those at `b`. Lanes reconverge further down in the kernel, so those
// further up, or in a function of another file (a header), run first; on a GPU those at the lowest program counter do.
bool Worker::runs_before(const Thread &a, const Thread &b) const {
  const bool a_in_kernel = same_text(a.file, plan_->kernel->file), b_in_kernel = same_text(b.file, plan_->kernel->file);
  return a_in_kernel != b_in_kernel ? b_in_kernel : a.location < b.location;
}

// Nothing else can run: the lanes have diverged. A mask of all 64 bits means the active lanes, unless it was given. Any
// other mask waits for the lanes it names; if all waves wait like that, some of those lanes will never arrive.
bool Worker::resolve_waves() {
  bool any = false, stuck = false;
  unsigned stuck_wave = 0;
  std::uint64_t stuck_group = 0;
  for (unsigned w = 0; w * wave_size < threads; ++w) {
    const Thread *lanes = threads_.get() + w * wave_size;
    std::uint64_t chosen = 0;
    for (std::uint64_t left = waves_[w].waiting; left;) {
      const std::uint64_t group = lanes_at_same_call(w, left);
      const Thread &lead = lanes[zeros_below(group)];
      left &= ~group;
      const bool names = lead.mask != ~std::uint64_t{0} || lead.op & SIMT_NAMED;
      if (names && (lead.mask & waves_[w].live & ~group)) {
        if (!stuck) {
          stuck = true;
          stuck_wave = w;
          stuck_group = group;
        }
      } else if (!chosen || runs_before(lead, lanes[zeros_below(chosen)])) {
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

void Worker::absent_lanes(unsigned w, std::uint64_t group) {
  const Thread &calls = threads_[w * wave_size + zeros_below(group)];
  threadIdx = calls.index;
  Incident i = incident_here(Incident::AbsentLanes);
  i.here = {calls.file, calls.location};
  i.wave = w;
  i.lanes = waves_[w].live;
  i.mask = calls.mask;
  abort_block(i);
}

void Worker::missing_lanes(unsigned w, std::uint64_t group) {
  const Thread &waits = threads_[w * wave_size + zeros_below(group)];
  const unsigned missing = zeros_below(waits.mask & waves_[w].live & ~group);
  const Thread &other = threads_[w * wave_size + missing];
  threadIdx = waits.index;
  Incident i = incident_here(Incident::MissingLanes);
  i.here = {waits.file, waits.location};
  i.there = {other.file, other.location};
  i.what = other.state == AtBarrier ? "barrier" : "collective";
  i.other_thread = missing;
  i.wave = w;
  i.lanes = group;
  i.mask = waits.mask;
  abort_block(i);
}

}  // namespace simt

// libhiprtc puts calls of it into what it compiles (hiprtc/interleaving.h), host code of launchers too.
extern "C" __attribute__((visibility("default"))) void simt_before_store(void) {
  const simt::Worker *worker = simt::Worker::current();
  if (worker && worker->switch_at_atomics && worker->in_kernel()) simt_wave(SIMT_SWITCH, ~0ul, 0, 0, nullptr, 0);
}
