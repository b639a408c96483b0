#include "launch.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "faults.h"
#include "memory.h"
#include "options.h"
#include "pool.h"

namespace simt {
namespace {

constexpr unsigned max_args = 128;
constexpr std::size_t max_arg_bytes = 4096;

std::mutex &launch_mutex() {
  static std::mutex &instance = *new std::mutex;
  return instance;
}

// The order of a block's threads and of a wave's lanes: cached, since a later launch usually has the same.
class Orders {
 public:
  void apply(Plan &plan, Order order, std::uint32_t seed) {
    if (order == Order::Forward) return;
    if (order != order_ || seed != seed_ || plan.threads != threads_.size() || plan.wave != lanes_.size()) {
      order_ = order;
      seed_ = seed;
      fill(threads_, plan.threads);
      fill(lanes_, plan.wave);
    }
    plan.order = threads_.data();
    plan.lane_order = lanes_.data();
  }

 private:
  template <class T>
  void fill(std::vector<T> &v, unsigned n) const {
    v.resize(n);
    std::iota(v.begin(), v.end(), T{0});
    if (order_ == Order::Reverse) {
      std::reverse(v.begin(), v.end());
      return;
    }
    // Fisher-Yates by hand: std::shuffle's result differs between C++ libraries.
    std::mt19937 random(seed_);
    for (unsigned i = n; i > 1; --i) std::swap(v[i - 1], v[random() % i]);
  }

  Order order_ = Order::Forward;
  std::uint32_t seed_ = 0;
  std::vector<std::uint32_t> threads_;
  std::vector<unsigned char> lanes_;
};

// What shared memory holds before a block, another in each order: a kernel that reads it too early may find just what
// it needs in one of them. As a number of any type 0x7b is large and positive, 0xfb large and negative or unsigned.
// What depends on it has another answer with the byte that it holds instead.
unsigned char poison_byte(Order order, std::uint32_t seed, bool instead) {
  if (order == Order::Forward) return instead ? 0x7b : 0xff;
  if (order == Order::Reverse) return instead ? 0xfb : 0;
  return (seed % 2 != 0) != instead ? 0x7b : 0xfb;
}

void order_blocks(Job &job, Order order, std::uint32_t seed) {
  job.reversed = order == Order::Reverse;
  // Products must fit 64 bits; a larger grid would run for days.
  if (order != Order::Shuffle || job.blocks == 1 || job.blocks > UINT32_MAX) return;
  std::mt19937 random(seed);
  std::uint64_t multiplier = random();
  while (std::gcd(multiplier, job.blocks) != 1) ++multiplier;
  job.multiplier = multiplier % job.blocks;
  job.offset = random() % job.blocks;
}

Error check_shape(const Function &function, simt_index grid, simt_index block, unsigned dynamic_bytes) {
  const auto product = [](simt_index i) { return static_cast<unsigned __int128>(i.x) * i.y * i.z; };
  const char *name = function.kernel->name;
  if (product(block) == 0 || product(grid) == 0)
    return fail(InvalidConfiguration, "kernel %s: grid (%u,%u,%u) of blocks (%u,%u,%u): no dimension may be 0", name,
                grid.x, grid.y, grid.z, block.x, block.y, block.z);
  if (block.x > SIMT_MAX_THREADS || block.y > SIMT_MAX_THREADS || block.z > SIMT_MAX_THREADS ||
      product(block) > SIMT_MAX_THREADS)
    return fail(InvalidConfiguration, "kernel %s: block (%u,%u,%u): at most %d threads", name, block.x, block.y,
                block.z, SIMT_MAX_THREADS);
  if (function.most_threads && product(block) > function.most_threads)
    return fail(InvalidConfiguration,
                "kernel %s: block (%u,%u,%u): it was compiled for at most %lu threads (__launch_bounds__ or "
                "amdgpu_flat_work_group_size)",
                name, block.x, block.y, block.z, function.most_threads);
  constexpr std::uint64_t threads_limit = std::uint64_t{1} << 32;
  if (grid.x > 2147483647u || grid.y > 65536 || grid.z > 65536 || std::uint64_t{grid.x} * block.x >= threads_limit ||
      std::uint64_t{grid.y} * block.y >= threads_limit || std::uint64_t{grid.z} * block.z >= threads_limit)
    return fail(InvalidConfiguration,
                "kernel %s: grid (%u,%u,%u) of blocks (%u,%u,%u): at most 2147483647 x 65536 x 65536 blocks, and fewer "
                "than 2^32 threads in a dimension",
                name, grid.x, grid.y, grid.z, block.x, block.y, block.z);
  if (dynamic_bytes > SIMT_MAX_DYNAMIC_SHARED)
    return fail(InvalidValue, "kernel %s: %u bytes of dynamic shared memory; at most %d", name, dynamic_bytes,
                SIMT_MAX_DYNAMIC_SHARED);
  return Success;
}

Error check_shared(const Function &function) {
  if (!function.shared) return Success;
  const char *name = function.kernel->name;
  if (function.shared->count > SharedMemory::max_variables)
    return fail(InvalidValue, "kernel %s uses %lu __shared__ variables; at most %u", name, function.shared->count,
                SharedMemory::max_variables);
  for (unsigned long i = 0; i < function.shared->count; ++i) {
    const simt_shared_variable &variable = function.module->shared_variables()[function.shared->variables[i]];
    if (variable.bytes > SharedMemory::max_bytes)
      return fail(InvalidValue, "kernel %s: __shared__ %s has %lu bytes; at most %zu", name,
                  demangled(variable.name).c_str(), variable.bytes, SharedMemory::max_bytes);
  }
  return Success;
}

std::atomic<Explain> explain{nullptr};
std::atomic<bool> interacted{true};  // in the last launch

bool shares_memory(const Function &function, unsigned dynamic_bytes) {
  if (dynamic_bytes) return true;
  if (function.module->compiled_by_clang()) return function.shared && function.shared->count;
  return function.module->thread_local_bytes() != 0;
}

// Pointers to the arguments, and aligned copies of packed ones.
class Arguments {
 public:
  Error gather(const simt_kernel &kernel, void **params, void **extra) {
    if (kernel.nargs > max_args)
      return fail(InvalidValue, "kernel %s has %u parameters; at most %u", kernel.name, kernel.nargs, max_args);
    if (extra) return unpack(kernel, extra);
    if (kernel.nargs && !params)
      return fail(InvalidValue, "kernel %s: it takes %u arguments and kernelParams is null", kernel.name, kernel.nargs);
    for (unsigned i = 0; i < kernel.nargs; ++i) {
      if (!params[i]) return fail(InvalidValue, "kernel %s: kernelParams[%u] is null", kernel.name, i);
      pointers_[i] = params[i];
    }
    return Success;
  }

  void *const *pointers() const { return pointers_; }

  // Those whose type is a pointer, for the memory checks.
  const Memory::Argument *memory_arguments(const simt_kernel &kernel, unsigned &count) {
    count = 0;
    for (unsigned i = 0; i < kernel.nargs; ++i) {
      const char *type = kernel.types[i];
      const std::size_t length = std::strlen(type);
      if (kernel.sizes[i] != sizeof(void *) || !length || type[length - 1] != '*') continue;
      void *p;
      std::memcpy(&p, pointers_[i], sizeof p);
      if (p) memory_[count++] = {p, i, type};
    }
    return memory_;
  }

 private:
  // extra: HIP_LAUNCH_PARAM_BUFFER_POINTER (1), buffer, HIP_LAUNCH_PARAM_BUFFER_SIZE (2), size, HIP_LAUNCH_PARAM_END
  // (3)
  Error unpack(const simt_kernel &kernel, void **extra) {
    const char *buffer = nullptr;
    const std::size_t *given = nullptr;
    for (void **e = extra; *e != reinterpret_cast<void *>(3); e += 2) {
      if (*e == reinterpret_cast<void *>(1))
        buffer = static_cast<const char *>(e[1]);
      else if (*e == reinterpret_cast<void *>(2))
        given = static_cast<const std::size_t *>(e[1]);
      else
        return fail(InvalidValue, "kernel %s: unknown key %s in extra", kernel.name, pointer_text(*e).c_str());
    }
    std::size_t bytes = 0;
    for (unsigned i = 0; i < kernel.nargs; ++i) {
      const std::size_t align = kernel.aligns[i];
      bytes = (bytes + align - 1) / align * align;
      if (bytes + kernel.sizes[i] > max_arg_bytes)
        return fail(InvalidValue, "kernel %s: more than %zu bytes of arguments", kernel.name, max_arg_bytes);
      pointers_[i] = copy_ + bytes;
      bytes += kernel.sizes[i];
    }
    if (!given || *given < bytes || *given > ((bytes + 15) & ~std::size_t{15}) || (bytes && !buffer))
      return fail(InvalidValue, "kernel %s: the argument buffer in extra has %zu bytes, the parameters take %zu",
                  kernel.name, given ? *given : 0, bytes);
    if (bytes) std::memcpy(copy_, buffer, bytes);
    return Success;
  }

  void *pointers_[max_args];
  Memory::Argument memory_[max_args];
  alignas(64) char copy_[max_arg_bytes];
};

}  // namespace

void explain_faults(Explain how) { explain = how; }

bool order_matters() { return options().order() != Order::Reverse || interacted; }

std::unique_lock<std::mutex> lock_launches() { return std::unique_lock(launch_mutex()); }

Error launch(const Function &function, simt_index grid, simt_index block, unsigned dynamic_bytes, void **params,
             void **extra) {
  const simt_kernel &kernel = *function.kernel;
  if (const Error error = check_shape(function, grid, block, dynamic_bytes)) return error;
  if (const Error error = check_shared(function)) return error;
  Arguments arguments;
  if (const Error error = arguments.gather(kernel, params, extra)) return error;
  unsigned pointers = 0;
  const Memory::Argument *memory_arguments = arguments.memory_arguments(kernel, pointers);
  if (const Error error = memory().check_arguments(kernel.name, memory_arguments, pointers)) return error;
  if (const Error error = memory().check_not_of_host(kernel.name, memory_arguments, pointers)) return error;

  static Orders *const orders = new Orders[4];
  const std::lock_guard lock(launch_mutex());
  const Memory::Opened opened;
  install_fault_handlers();
  const Options &settings = options();
  const Order order = settings.order();
  const std::uint32_t seed = settings.seed();
  const unsigned timeout_ms = settings.timeout_ms();
  Plan plan{};
  plan.kernel = &kernel;
  plan.args = arguments.pointers();
  plan.function = &function;
  plan.grid = grid;
  plan.block = block;
  plan.threads = block.x * block.y * block.z;
  plan.wave = settings.wave();
  plan.dynamic_bytes = dynamic_bytes;
  plan.poison = settings.poison();
  plan.poison_byte = poison_byte(order, seed, settings.otherwise() == Otherwise::Shared);
  plan.exact_functions = settings.otherwise() == Otherwise::Exact;
  plan.canary = order == Order::Forward ? &canary::nan : &canary::number;
  memory().set_canaries(*plan.canary, memory_arguments, pointers);
  plan.switch_at_atomics = order == Order::Shuffle && plan.threads > 1;
  plan.watch_atomics = order == Order::Reverse;
  plan.interacted = &interacted;
  interacted = shares_memory(function, dynamic_bytes);
  orders[order == Order::Shuffle ? 1 + seed % 3 : 0].apply(plan, order, seed);

  Job job;
  job.plan = &plan;
  job.blocks = std::uint64_t{grid.x} * grid.y * grid.z;
  job.max_threads = static_cast<unsigned>(std::min<std::uint64_t>(settings.threads(), job.blocks));
  const std::uint64_t by_size = std::max<std::uint64_t>(1, SIMT_MAX_THREADS * 2 / plan.threads);
  job.chunk = std::clamp<std::uint64_t>(job.blocks / (job.max_threads * 8u), 1, std::min<std::uint64_t>(by_size, 64));
  order_blocks(job, order, seed);
  if (!pool().run(job, timeout_ms)) return fail(OutOfMemory, "kernel %s: no memory for a worker", kernel.name);

  if (job.failed) {
    std::string message;
    const Error code = describe(job.incident, {kernel, memory_arguments, pointers, timeout_ms}, message);
    if (const Explain how = explain) message = how(function, job.incident, message);
    memory().repair_canaries();  // the next launch must not be blamed for this one
    return fail(code, "%s", message.c_str());
  }
  return memory().check_canaries(kernel.name, memory_arguments, pointers);
}

}  // namespace simt
