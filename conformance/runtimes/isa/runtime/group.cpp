#include "group.h"

#include <algorithm>

#include "buffers.h"
#include "decoder.h"
#include "launch_time.h"
#include "memory.h"
#include "options.h"

namespace isa {

std::string Launch::address(const Inst &i) const {
  char text[24];
  std::snprintf(text, sizeof text, "%#llx",
                static_cast<unsigned long long>(code->address_of(i.index) - fixed[0].begin));
  return text;
}

u8 *Wave::look_up(u64 address, u32 bytes, int lane) {
  for (u32 n = 0; n < std::size(windows); ++n)
    if (windows[n].holds(address, bytes)) {
      hot = n;
      return reinterpret_cast<u8 *>(address);
    }
  Window found;
  for (const Window &w : launch->fixed)
    if (w.holds(address, bytes)) found = w;
  simt::Memory::Range range;
  if (!found.end && simt::memory().find(reinterpret_cast<const void *>(address), range)) {
    const u64 base = reinterpret_cast<u64>(range.base);
    const Window whole{base, base + range.bytes};
    if (whole.holds(address, bytes)) found = whole;
  }
  if (address >> 32 == printf_buffer >> 32)
    throw Fault(Fault::Unknown, "printf into a buffer (-mprintf-kind=buffered; host calls it knows)");
  if (!found.end) throw AddressFault(AddressFault::Global, address, bytes, lane);
  hot = (hot + 1) % std::size(windows);
  windows[hot] = found;
  return reinterpret_cast<u8 *>(address);
}

namespace {

constexpr i64 near_arguments = 1 << 14;  // bytes
constexpr u64 turn = 1 << 14;            // instructions until the next wave has its turn
constexpr u64 short_turn = 64;           // at most, where turns are short
constexpr u32 longest_rest = 8;          // turns, of a wave whose stores are overtaken
constexpr u64 patience = 64;             // rounds until a store arrives, and until a group may be waiting for others
constexpr u32 interleaved = 32, most_waves = 512;  // of the groups that take turns: at first, and where they wait

// A fault has been noted.
struct Stopped {};

std::string place(const u32 (&v)[3]) {
  return "(" + std::to_string(v[0]) + "," + std::to_string(v[1]) + "," + std::to_string(v[2]) + ")";
}

// Where an address in global memory lies: near the arguments, which no allocation holds, or near an allocation.
std::string global_place(const Window &arguments, u64 address) {
  const i64 offset = static_cast<i64>(address - arguments.begin),
            size = static_cast<i64>(arguments.end - arguments.begin);
  if (offset >= -near_arguments && offset < size + near_arguments)
    return "at offset " + std::to_string(offset) + " of the kernel's " + std::to_string(size) + " bytes of arguments";
  const std::string text = located(address);
  return text.starts_with("an address") ? "at " + text : text;
}

// Whether a thread that has run the launch since its CPU time was `began` has run it for too long. Its CPU time is
// asked for only where the clock has come to as much, for that is a system call.
bool is_late(const Progress &progress, std::int64_t began) {
  if (!progress.limit) return false;
  const auto passed = std::chrono::nanoseconds(std::chrono::steady_clock::now() - progress.start).count();
  return passed > progress.limit &&
         (passed > simt::clock_factor * progress.limit || simt::computed() - began > progress.limit);
}

}  // namespace

void Runner::start(Wave &w, const Launch &launch, const Kernel &kernel, u32 number) {
  const u32 threads = launch.block[0] * launch.block[1] * launch.block[2];
  w.launch = &launch;
  w.number = number;
  w.ended = w.at_barrier = w.scc_ = false;
  w.executed = w.rests = 0;
  w.masked_for = 0;
  w.hot = 0;
  w.waits.clear();
  w.lds_stores.clear();
  w.memory_stores.clear();
  if (launch.late) {
    w.waits.lds = &w.lds_stores;
    w.waits.memory = launch.stores_by_wave ? &w.memory_stores : &w.group->stores;
  }
  std::fill(std::begin(w.windows), std::end(w.windows), Window{});
  std::memset(w.mask, 0, sizeof w.mask);
  std::memset(w.v, launch.poison.registers, sizeof w.v[0] * launch.vgprs);
  std::memset(w.s, launch.poison.registers, sizeof w.s);
  w.scratch.assign(u64{launch.scratch_bytes} * lanes, launch.poison.scratch);
  const u32 first = number * launch.wave, active = std::min(launch.wave, threads - first);
  w.exec_ = active == lanes ? ~u64{0} : (u64{1} << active) - 1;
  const bool packs = launch.packs_thread_ids;
  const u32(&block)[3] = launch.block;
  u32 x = first % block[0], y = first / block[0] % block[1], z = first / (block[0] * block[1]);
  for (u32 l = 0; l < lanes; ++l) {
    w.v[0][l] = packs ? x | y << 10 | z << 20 : x;
    if (!packs) {
      w.v[1][l] = y;
      w.v[2][l] = z;
    }
    if (++x < block[0]) continue;
    x = 0;
    if (++y < block[1]) continue;
    y = 0;
    ++z;
  }
  u32 at = 0;
  const auto pair = [&](u64 value) {
    w.s[at] = static_cast<u32>(value);
    w.s[at + 1] = static_cast<u32>(value >> 32);
    at += 2;
  };
  if (kernel.properties & 1) {
    u32 pool[4];
    describe_scratch(launch, pool);
    std::copy(std::begin(pool), std::end(pool), w.s);
    at += 4;
  }
  if (kernel.properties & 2) pair(launch.dispatch_packet);
  if (kernel.properties & 4) pair(0);
  if (kernel.properties & 8) pair(launch.kernarg);
  if (kernel.properties & 16) pair(1);
  if (kernel.properties & 32) pair(scratch_pool);
  if (kernel.properties & 64) w.s[at++] = launch.scratch_bytes;
  at = kernel.user_registers();
  if (launch.code->generation == 12) {  // block numbers are where trap handlers have their registers
    w.s[ttmp9] = w.group->id[0];
    w.s[ttmp7] = w.group->id[1] | w.group->id[2] << 16;
    w.pc = launch.code->index_at(kernel.entry);
    return;
  }
  for (int n = 0; n < 3; ++n)
    if (kernel.rsrc2 >> (7 + n) & 1) w.s[at++] = w.group->id[n];
  if (kernel.rsrc2 >> 10 & 1) w.s[at++] = 0;
  if (kernel.rsrc2 & 1) w.s[at++] = scratch_offset(w);
  w.pc = launch.code->index_at(kernel.entry);
}

void Runner::fail(const Wave &w, const Fault &fault, Progress &progress) {
  const Inst &i = w.launch->code->insts[w.pc && fault.kind != Fault::Timeout ? w.pc - 1 : w.pc];
  const std::string name = mnemonic(w.launch->code->target, i), where = w.launch->address(i);
  std::string text;
  int lane = w.exec_ ? std::countr_zero(w.exec_) : 0;
  if (fault.kind == Fault::Unknown) {
    text = "the interpreter does not know " + std::string(fault.what());
    if (name != fault.what() && !text.ends_with(name) && i.run != no_instruction) text += " (" + name + ")";
    text += ", at " + where;
  } else if (const auto *access = dynamic_cast<const AddressFault *>(&fault)) {
    if (access->lane >= 0) lane = access->lane;
    text = name + " of " + std::to_string(access->bytes) + " bytes ";
    if (access->space == AddressFault::Global)
      text += global_place(w.launch->fixed[1], access->address);
    else if (access->space == AddressFault::Lds)
      text += "at offset " + std::to_string(access->address) + " of the block's " +
              std::to_string(w.group->lds.size()) + " bytes of shared memory";
    else
      text += "at offset " + std::to_string(static_cast<i64>(access->address)) + " of the thread's " +
              std::to_string(w.launch->scratch_bytes) + " bytes of scratch memory";
  } else {
    text = fault.what();
  }
  const u32 t = w.number * w.launch->wave + static_cast<u32>(lane);
  const u32 thread[] = {t % w.launch->block[0], t / w.launch->block[0] % w.launch->block[1],
                        t / (w.launch->block[0] * w.launch->block[1])};
  const std::lock_guard lock(progress.mutex);
  if (progress.stopped.exchange(true)) return;
  progress.kind = fault.kind;
  progress.message = "kernel " + std::string(w.launch->kernel) + ": " +
                     (fault.kind == Fault::Unknown
                          ? ""
                          : "block " + place(w.group->id) + ", thread " + place(thread) + ", at " + where + ": ") +
                     text;
}

void Runner::run(const Launch &launch, const Kernel &kernel, const Next &next, bool reversed, Progress &progress) {
  try {
    take_turns(launch, kernel, next, reversed, progress);
  } catch (const Stopped &) {
  } catch (const std::exception &error) {  // before its first instruction: no place for its code, or no memory
    const std::lock_guard lock(progress.mutex);
    if (!progress.stopped.exchange(true)) progress.message = "kernel " + kernel.shown + ": " + error.what();
  }
}

void Runner::admit(Resident &resident, const Launch &launch, const Kernel &kernel, const u32 (&id)[3], u32 count) {
  auto &[group, waves] = resident;
  while (waves.size() < count) waves.push_back(std::make_unique<Wave>());
  group.launch = &launch;
  std::copy(std::begin(id), std::end(id), group.id);
  group.lds.assign(launch.lds_bytes, launch.poison.lds);
  group.stores.clear();
  group.scalar_lines.clear();
  for (u32 n = 0; n < count; ++n) {
    waves[n]->group = &group;
    start(*waves[n], launch, kernel, n);
  }
  seen.counts.waves += count;
}

void Runner::execute_turn(Wave &w, bool late) {
  if (w.rests && --w.rests) return;
  w.lds_stores.put_again();
  w.memory_stores.put_again();
  w.turn_end = w.executed + (late && random_() % 4 == 0 ? 1 + random_() % short_turn : turn);
  if (watch)
    run_watched(w, watch, seen);
  else
    execute(w, [](const Inst &) {});
  if (w.rests) w.rests += random_() % longest_rest;
  w.lds_stores.take_back();
  w.memory_stores.take_back();
}

bool Runner::round(Resident &resident, const Launch &launch, u32 count, bool reversed, Progress &progress) {
  auto &[group, waves] = resident;
  group.round = round_;
  group.stores.put_again();
  u32 waiting = 0, running = 0;
  for (u32 n = 0; n < count; ++n) {
    Wave &w = *waves[reversed ? count - 1 - n : n];
    if (!w.ended && !w.at_barrier) {
      try {
        execute_turn(w, launch.late);
      } catch (const Fault &fault) {
        fail(w, fault, progress);
        throw Stopped();
      }
    }
    running += !w.ended && !w.at_barrier;
    waiting += !w.ended && w.at_barrier;
    if (!launch.late || round_ < patience) continue;
    w.lds_stores.arrive_if_before(round_ - patience);
    w.memory_stores.arrive_if_before(round_ - patience);
  }
  if (launch.late && round_ >= patience) group.stores.arrive_if_before(round_ - patience);
  group.stores.take_back();
  if (!running)
    for (u32 n = 0; n < count; ++n) waves[n]->at_barrier = false;
  return running || waiting;
}

void Runner::end(Resident &resident, u32 count, Progress &progress) {
  u64 executed = 0;
  for (u32 n = 0; n < count; ++n) {
    executed += resident.waves[n]->executed;
    if (!resident.waves[n]->memory_stores.empty()) left_.push_back(std::move(resident.waves[n]->memory_stores));
  }
  if (!resident.group.stores.empty()) left_.push_back(std::move(resident.group.stores));
  progress.executed += executed;
}

void Runner::take_turns(const Launch &launch, const Kernel &kernel, const Next &next, bool reversed,
                        Progress &progress) {
  const u32 threads = launch.block[0] * launch.block[1] * launch.block[2];
  const u32 count = (threads + launch.wave - 1) / launch.wave;
  std::size_t live = 0, wanted = launch.late ? std::max(1u, interleaved / count) : 1;
  const std::int64_t began = simt::computed();
  u64 since = round_ = 0;  // when a group has ended or begun
  random_.seed(1);
  left_.clear();
  for (u32 id[3];;) {
    for (; live < wanted && next(id); ++live, since = round_) {
      if (residents_.size() == live) residents_.push_back(std::make_unique<Resident>());
      admit(*residents_[live], launch, kernel, id, count);
    }
    if (!live) break;
    ++round_;
    for (std::size_t n = 0; n < live;) {
      if (round(*residents_[n], launch, count, reversed, progress)) {
        ++n;
        continue;
      }
      end(*residents_[n], count, progress);
      std::swap(residents_[n], residents_[--live]);
      since = round_;
    }
    if (!left_.empty() && round_ >= patience) {
      for (Stores &stores : left_) stores.arrive_if_before(round_ - patience);
      std::erase_if(left_, [](const Stores &stores) { return stores.empty(); });
    }
    if (round_ - since > patience && 2 * wanted * count <= most_waves) wanted *= 2, since = round_;
    if (progress.stopped) return;
    if (progress.reports) progress.reports->at(progress.next);
    if (live && is_late(progress, began)) {
      const Resident &first = *residents_[0];
      u32 late = 0;
      while (late + 1 < count && first.waves[late]->ended) ++late;
      fail(*first.waves[late], Fault(Fault::Timeout, "did not end in time"), progress);
      return;
    }
  }
  for (Stores &stores : left_) stores.put_again();
}

}  // namespace isa
