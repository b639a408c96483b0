#include "dispatch.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <thread>

#include "api.h"
#include "group.h"
#include "hostcalls.h"
#include "launch.h"
#include "launch_time.h"
#include "memory.h"
#include "options.h"
#include "reports.h"
#include "sites.h"

namespace isa {
namespace {

using simt::Error;
using simt::fail;

constexpr u32 most_threads = 1024;
constexpr std::size_t most_arguments = 128;
constexpr u64 worth_sharing = 64;  // waves; starting a thread costs more than fewer take
constexpr u32 default_perturb = 1;
constexpr u32 keeps_subnormals = 0xf0 << 12;
constexpr u32 float_mode = 0xff << 12;
constexpr u32 nan_mode = 1u << 21 | 1u << 23;  // DX10_CLAMP and IEEE, bits that RDNA 4 does not have

std::mutex &launch_mutex() {
  static std::mutex &instance = *new std::mutex;
  return instance;
}

std::atomic<u64> executed_total{0};
std::atomic<u32> perturb_seed{0};
std::string &last_late = *new std::string;  // the kernel that last did not end in time, under the launch mutex
std::atomic<Otherwise> otherwise{Otherwise::None};
std::atomic<Explain> explain{nullptr};

// What is watched of launches, under the launch mutex.
struct Watching {
  bool counting = false;
  Counts counts;
  Coverage coverage;
  std::map<std::string, Accesses> accesses;

  Watch of(const std::string &target) {
    Watch watch;
    if (counting) watch.accesses = &accesses.try_emplace(target, target).first->second;
    watch.line_bytes = line_bytes(target);
    watch.reached = static_cast<bool>(coverage);
    return watch;
  }
};
Watching &watching() {
  static Watching &instance = *new Watching;
  return instance;
}

// The pointers among the arguments of the launch in progress, for messages.
simt::Memory::Argument pointers[most_arguments];
unsigned pointer_count = 0;

// The packet that a queue would hold (HSA's dispatch packet): code of ABI version 4 reads sizes from it.
struct Packet {
  u16 header, setup, block[3], reserved;
  u32 grid[3], scratch_bytes, lds_bytes;
  u64 object, kernarg, reserved2, signal;
};
static_assert(sizeof(Packet) == 64);

bool packs_thread_ids(const std::string &target) {
  return !target.starts_with("gfx906") && !target.starts_with("gfx908") && !target.starts_with("gfx10");
}

Error check_shape(const Kernel &kernel, Shape grid, Shape block, u32 lds_bytes) {
  const auto product = [](Shape s) { return static_cast<unsigned __int128>(s.x) * s.y * s.z; };
  const char *name = kernel.shown.c_str();
  if (product(block) == 0 || product(grid) == 0)
    return fail(simt::InvalidConfiguration, "kernel %s: grid (%u,%u,%u) of blocks (%u,%u,%u): no dimension may be 0",
                name, grid.x, grid.y, grid.z, block.x, block.y, block.z);
  const u32 most = std::min(most_threads, kernel.most_threads);
  if (block.x > most || block.y > most || block.z > most || product(block) > most)
    return fail(simt::InvalidConfiguration, "kernel %s: block (%u,%u,%u): it was compiled for at most %u threads", name,
                block.x, block.y, block.z, most);
  if (grid.x > 2147483647u || grid.y > 65536 || grid.z > 65536 || u64{grid.x} * block.x >> 32)
    return fail(simt::InvalidConfiguration,
                "kernel %s: grid (%u,%u,%u): at most 2147483647 x 65536 x 65536 blocks, and "
                "fewer than 2^32 threads in a dimension",
                name, grid.x, grid.y, grid.z);
  const u32 lds_limit = kernel.object->lds_limit();
  if (lds_bytes > lds_limit)
    return fail(simt::InvalidValue, "kernel %s: %u bytes of shared memory; at most %u", name, lds_bytes, lds_limit);
  return simt::Success;
}

// The argument segment: what the caller passes, and what the runtime adds.
Error fill_arguments(const Kernel &kernel, const Launch &l, u32 dynamic_bytes, void **params, void **extra,
                     std::vector<u8> &segment) {
  segment.assign((kernel.kernarg_bytes + 15) / 16 * 16, 0);  // LLVM reads up to its alignment
  pointer_count = 0;
  const char *packed = nullptr;
  std::size_t packed_bytes = 0;
  for (void **e = extra; e && *e != reinterpret_cast<void *>(3); e += 2) {
    if (*e == reinterpret_cast<void *>(1)) packed = static_cast<const char *>(e[1]);
    if (*e == reinterpret_cast<void *>(2)) packed_bytes = *static_cast<const std::size_t *>(e[1]);
  }
  unsigned number = 0;
  const auto hidden = [&](const Argument &a) -> u64 {
    const auto axis = [&] { return a.kind.back() - 'x'; };
    const std::string_view kind(a.kind);
    if (kind.starts_with("hidden_block_count_")) return l.grid[axis()];
    if (kind.starts_with("hidden_group_size_")) return l.block[axis()];
    if (kind == "hidden_grid_dims") return l.grid[2] * l.block[2] > 1 ? 3 : l.grid[1] * l.block[1] > 1 ? 2 : 1;
    if (kind == "hidden_dynamic_lds_size") return dynamic_bytes;
    if (kind == "hidden_shared_base") return shared_aperture >> 32;
    if (kind == "hidden_private_base") return private_aperture >> 32;
    if (kind == "hidden_hostcall_buffer") return hostcall_buffer();
    if (kind == "hidden_heap_v1") return device_heap();
    if (kind == "hidden_printf_buffer") return printf_buffer;
    return 0;  // offsets, remainders, and pointers to what there is not
  };
  for (const Argument &a : kernel.arguments) {
    if (u64{a.offset} + a.size > segment.size())
      return fail(simt::InvalidImage, "kernel %s: an argument is outside of its segment", kernel.shown.c_str());
    if (a.kind.starts_with("hidden_")) {
      const u64 value = hidden(a);
      std::memcpy(segment.data() + a.offset, &value, std::min<u32>(a.size, sizeof value));
      continue;
    }
    const void *from = extra ? packed + a.offset : params ? params[number] : nullptr;
    if (!from || (extra && u64{a.offset} + a.size > packed_bytes))
      return fail(simt::InvalidValue, "kernel %s: argument %u is not given", kernel.shown.c_str(), number);
    std::memcpy(segment.data() + a.offset, from, a.size);
    if (a.kind == "global_buffer" && pointer_count < most_arguments) {
      const auto *p = load_as<const void *>(segment.data() + a.offset);
      if (p) pointers[pointer_count++] = {p, number, "a pointer"};
    }
    ++number;
  }
  return simt::Success;
}

// The order of blocks: forward, reverse, or shuffled by a multiplier that has no divisor in common with their number.
class Order {
 public:
  Order(u64 blocks, simt::Order order, u32 seed) : blocks_(blocks), reversed_(order == simt::Order::Reverse) {
    if (order != simt::Order::Shuffle || blocks > UINT32_MAX) return;
    std::mt19937 random(seed);
    multiplier_ = random();
    while (std::gcd(multiplier_, blocks) != 1) ++multiplier_;
    multiplier_ %= blocks;
    offset_ = random() % blocks;
  }
  u64 at(u64 position) const {
    if (reversed_) return blocks_ - 1 - position;
    return multiplier_ ? (multiplier_ * position + offset_) % blocks_ : position;
  }
  bool reversed() const { return reversed_; }

 private:
  u64 blocks_, multiplier_ = 0, offset_ = 0;
  bool reversed_;
};

Error error_of(const Progress &progress) {
  switch (progress.kind) {
    case Fault::Unknown:
      return simt::NotSupported;
    case Fault::Address:
      return simt::IllegalAddress;
    case Fault::Timeout:
      return simt::LaunchTimeOut;
    default:
      return simt::LaunchFailure;
  }
}

Runner &runner(std::size_t number) {
  static std::vector<std::unique_ptr<Runner>> &runners = *new std::vector<std::unique_ptr<Runner>>;
  while (runners.size() <= number) runners.push_back(std::make_unique<Runner>());
  return *runners[number];
}

// What the runners have seen of a launch of `kernel`.
void keep_seen(const Kernel &kernel, u64 threads, const Watch &watch) {
  Watching &all = watching();
  if (watch.accesses) {
    ++all.counts.launches;
    for (u64 n = 0; n < threads; ++n) all.counts += runner(n).seen.counts;
  }
  if (!watch.reached) return;
  for (u64 n = 0; n < threads; ++n) all.coverage.add(kernel, runner(n).seen.reached);
}

}  // namespace

std::string located(u64 address) {
  return simt::memory().locate(reinterpret_cast<const void *>(address), pointers, pointer_count);
}

u64 executed_instructions() { return executed_total; }

void set_perturb(u32 seed) { perturb_seed = seed; }

void set_counting(bool on) {
  watching().counting = on;
  watching().counts = {};
}
Counts counted() {
  const std::lock_guard lock(launch_mutex());
  return watching().counts;
}
void set_sites_folder(const std::string &folder) { watching().coverage.set_folder(folder); }
void launch_otherwise(Otherwise how) { otherwise = how; }
void explain_faults(Explain how) { explain = how; }

Error launch(const Kernel &kernel, Shape grid, Shape block, u32 dynamic_bytes, void **params, void **extra) {
  const std::lock_guard lock(launch_mutex());
  const simt::Memory::Opened opened;
  const u32 lds_bytes = static_cast<u32>(std::min<u64>(u64{kernel.lds_bytes} + dynamic_bytes, ~0u));
  if (const Error error = check_shape(kernel, grid, block, lds_bytes)) return error;
  if ((kernel.rsrc1 & float_mode) != keeps_subnormals)
    return fail(simt::NotSupported, "kernel %s: the interpreter does not know the float mode %#x", kernel.shown.c_str(),
                kernel.rsrc1 >> 12 & 0xff);
  if (!kernel.object->code().target.starts_with("gfx12") && (kernel.rsrc1 & nan_mode) != nan_mode)
    return fail(simt::NotSupported,
                "kernel %s: the interpreter does not know the float mode without IEEE or DX10_CLAMP",
                kernel.shown.c_str());
  Launch l{};
  l.code = &kernel.object->code();
  l.kernel = kernel.shown.c_str();
  l.grid[0] = grid.x, l.grid[1] = grid.y, l.grid[2] = grid.z;
  l.block[0] = block.x, l.block[1] = block.y, l.block[2] = block.z;
  l.wave = kernel.wave();
  l.packs_thread_ids = packs_thread_ids(l.code->target);
  l.lds_bytes = lds_bytes;
  l.scratch_bytes = kernel.scratch_bytes;
  l.vgprs = std::min<u32>(kernel.vgprs(), vector_registers);
  std::vector<u8> segment;
  if (const Error error = fill_arguments(kernel, l, dynamic_bytes, params, extra, segment)) return error;
  if (const Error error = simt::memory().check_arguments(l.kernel, pointers, pointer_count)) return error;
  Packet packet{};
  for (int n = 0; n < 3; ++n) {
    packet.block[n] = static_cast<u16>(l.block[n]);
    packet.grid[n] = l.grid[n] * l.block[n];
  }
  l.kernarg = packet.kernarg = reinterpret_cast<u64>(segment.data());
  l.dispatch_packet = reinterpret_cast<u64>(&packet);
  l.fixed[0] = kernel.object->image();
  l.fixed[1] = {l.kernarg, l.kernarg + segment.size()};
  l.fixed[2] = {l.dispatch_packet, l.dispatch_packet + sizeof packet};

  const simt::Options &settings = simt::options();
  const u64 blocks = u64{grid.x} * grid.y * grid.z;
  const Order order(blocks, settings.order(), settings.seed());
  // What depends on memory or registers that nothing has written differs between the orders: NaN, or zero in shared
  // memory (a count of it is small there) and small numbers elsewhere.
  const auto poison = [&](Otherwise what) -> u8 {
    return order.reversed() == (otherwise == what) ? 0xff : what == Otherwise::Lds ? 0 : 1;
  };
  // No GPU rounds as the interpreter does: where no seed was asked for, the other orders deviate.
  l.perturb = perturb_seed;
  if (!l.perturb && settings.order() != simt::Order::Forward && otherwise != Otherwise::Exact)
    l.perturb = default_perturb;
  l.late = settings.order() != simt::Order::Forward && otherwise != Otherwise::Arrived;
  // Two halves of a work-group processor have a cache each (WGP_MODE in COMPUTE_PGM_RSRC1).
  l.stores_by_wave = l.code->generation >= 10 && kernel.rsrc1 >> 29 & 1;
  l.poison = {poison(Otherwise::Registers), poison(Otherwise::Lds), poison(Otherwise::Scratch)};
  Progress progress;
  if (settings.timeout_ms()) {
    // What has hung once is likely to hang again, at the cost of all kernels behind it.
    const u32 part = kernel.name == last_late ? 8 : 1;
    progress.limit = settings.timeout_ms() * simt::nanoseconds_of_ms / part;
    progress.start = std::chrono::steady_clock::now();
  }
  Reports reports(l.kernel, blocks);
  progress.reports = &reports;
  const auto work = [&](Runner &mine) {
    const auto next = [&](u32(&id)[3]) {
      if (progress.stopped) return false;
      const u64 position = progress.next++;
      if (position >= blocks) return false;
      const u64 b = order.at(position);
      id[0] = static_cast<u32>(b % grid.x);
      id[1] = static_cast<u32>(b / grid.x % grid.y);
      id[2] = static_cast<u32>(b / grid.x / grid.y);
      return true;
    };
    mine.run(l, kernel, next, order.reversed(), progress);
  };
  const u64 waves = blocks * ((block.x * block.y * block.z + l.wave - 1) / l.wave);
  const u64 threads = waves < worth_sharing ? 1 : std::min<u64>(settings.threads(), blocks);
  const Watch watch = watching().of(l.code->target);
  for (u64 n = 0; n < threads; ++n) {
    Runner &one = runner(n);
    one.watch = watch;
    one.seen.counts = {};
    one.seen.reached.assign(watch.reached ? l.code->insts.size() : 0, 0);
  }
  std::vector<std::thread> helpers;
  for (u64 n = 1; n < threads; ++n) helpers.emplace_back([&work, n] { work(runner(n)); });
  work(runner(0));
  for (std::thread &helper : helpers) helper.join();
  executed_total += progress.executed;
  if (watch) keep_seen(kernel, threads, watch);
  if (progress.stopped && progress.kind == Fault::Timeout) last_late = kernel.name;
  if (progress.stopped) {
    const Explain how = explain;
    const std::string text = how ? how(kernel, progress.message) : progress.message;
    return fail(error_of(progress), "%s", text.c_str());
  }
  return simt::Success;
}

}  // namespace isa

namespace simt {
std::unique_lock<std::mutex> lock_launches() { return std::unique_lock(isa::launch_mutex()); }
}  // namespace simt
