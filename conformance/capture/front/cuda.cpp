// In front of the CUDA driver: launches of functions, by whichever of its entry points. Programs are linked with it,
// load it themselves, or get to it through CUDA's runtime library, which asks the driver for each function by its name.
#include <atomic>
#include <cstdint>

#include <mutex>
#include <string>
#include <unordered_map>

#include "recorder.h"
#include "symbols.h"

using namespace capture;

namespace {

// The types of CUDA that calls pass are declared here, so that the build needs no headers of it.
struct LaunchConfig {
  unsigned gx, gy, gz, bx, by, bz, shared;
  void *stream, *attributes;
  unsigned attribute_count;
};
using DevicePointer = std::uint64_t;
constexpr std::uint64_t per_thread_stream = 2;  // the flag of cuGetProcAddress that asks for the variants with _ptsz
constexpr int first_with_status = 12000;        // the version from which cuGetProcAddress also tells a status

// A function of the driver that is not stood in front of; any of ours that the program has found leads to the driver.
template <class Function>
Function *cuda_function(const char *name) {
  for (Hook &hook : cuda_hooks())
    if (void *found = hook.real() ? neighbour(hook.real(), name) : nullptr) return reinterpret_cast<Function *>(found);
  return nullptr;
}

std::atomic<int> cuda_captures{0};  // streams whose launches go into a graph

class CudaGpu : public Gpu {
 public:
  bool find(const void *address, Range &range) override {
    static const auto call =
        cuda_function<int(DevicePointer *, std::size_t *, DevicePointer)>("cuMemGetAddressRange_v2");
    DevicePointer begin = 0;
    if (!call || call(&begin, &range.bytes, reinterpret_cast<DevicePointer>(address))) return false;
    range.begin = reinterpret_cast<const char *>(begin);
    return true;
  }
  bool read(void *to, const void *from, std::size_t bytes) override {
    static const auto call = cuda_function<int(void *, DevicePointer, std::size_t)>("cuMemcpyDtoH_v2");
    return call && call(to, reinterpret_cast<DevicePointer>(from), bytes) == 0;
  }
  bool wait() override {
    static const auto call = cuda_function<int()>("cuCtxSynchronize");
    return call && call() == 0;
  }
  bool is_capturing(void *stream) override {
    static const auto call = cuda_function<int(void *, int *)>("cuStreamIsCapturing");
    int status = 0;
    // The default stream cannot even be asked while another one is captured.
    return call && (call(stream, &status) != 0 || status != 0);
  }
  bool captures() override { return cuda_captures > 0; }
};

// What is known of functions: their names, and their parameters as drivers of CUDA 12.4 and later tell them.
class CudaKernels {
 public:
  struct Named {
    std::string name;
    bool asked = false, known = false;
    Parameters parameters;
  };

  static CudaKernels &instance() {
    static CudaKernels &only = *new CudaKernels;
    return only;
  }
  void add_function(const void *function, const char *name) {
    const std::lock_guard lock(mutex_);
    named_[function] = Named{name, false, false, {}};
  }
  const Named &find(void *function) {
    const std::lock_guard lock(mutex_);
    Named &found = named_[function];
    if (!found.asked) ask(function, found);
    return found;
  }

 private:
  static void ask(void *function, Named &found) {
    static const auto name_of = cuda_function<int(const char **, void *)>("cuFuncGetName");
    static const auto parameter_of =
        cuda_function<int(void *, std::size_t, std::size_t *, std::size_t *)>("cuFuncGetParamInfo");
    const char *name = nullptr;
    if (found.name.empty() && name_of && name_of(&name, function) == 0 && name) found.name = name;
    if (found.name.empty()) found.name = "?";
    std::size_t offset = 0, bytes = 0;
    while (parameter_of && parameter_of(function, found.parameters.size(), &offset, &bytes) == 0)
      found.parameters.push_back({static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(bytes)});
    found.known = !found.parameters.empty();
    found.asked = true;
  }

  std::mutex mutex_;
  std::unordered_map<const void *, Named> named_;
};

int cuda_launch(void *function, Shape grid, Shape block, std::size_t shared, void *stream, void **params, void **extra,
                const Go &go) {
  static CudaGpu gpu;
  const CudaKernels::Named &kernel = CudaKernels::instance().find(function);
  const Parameters *known = kernel.known ? &kernel.parameters : nullptr;
  return launched(gpu, {kernel.name, grid, block, shared, stream, params, extra, known}, go);
}

using Launch11 = int(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                     void **);
using Launch10 = int(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **);
using LaunchEx = int(const LaunchConfig *, void *, void **, void **);
using WithStream = int(void *, void *);

int launch_through(Hook &hook, void *function, Shape grid, Shape block, unsigned shared, void *stream, void **params,
                   void **extra) {
  auto *const real = reinterpret_cast<Launch11 *>(hook.real());
  if (!real) return not_supported;
  return cuda_launch(function, grid, block, shared, stream, params, extra, [=] {
    return real(function, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, stream, params, extra);
  });
}
int cooperative_through(Hook &hook, void *function, Shape grid, Shape block, unsigned shared, void *stream,
                        void **params) {
  auto *const real = reinterpret_cast<Launch10 *>(hook.real());
  if (!real) return not_supported;
  return cuda_launch(function, grid, block, shared, stream, params, nullptr, [=] {
    return real(function, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, stream, params);
  });
}
int launch_ex_through(Hook &hook, const LaunchConfig *config, void *function, void **params, void **extra) {
  auto *const real = reinterpret_cast<LaunchEx *>(hook.real());
  if (!real) return not_supported;
  const LaunchConfig &c = *config;
  return cuda_launch(function, {c.gx, c.gy, c.gz}, {c.bx, c.by, c.bz}, c.shared, c.stream, params, extra,
                     [=] { return real(config, function, params, extra); });
}
int graph_through(Hook &hook, void *graph, void *stream) {
  auto *const real = reinterpret_cast<WithStream *>(hook.real());
  if (!real) return not_supported;
  note("graph");
  return real(graph, stream);
}
int capture_through(Hook &hook, void *stream, int mode) {
  auto *const real = reinterpret_cast<int (*)(void *, int)>(hook.real());
  if (!real) return not_supported;
  const int error = real(stream, mode);
  if (!error) ++cuda_captures;
  return error;
}
int capture_to_graph_through(Hook &hook, void *stream, void *graph, const void *nodes, const void *edges,
                             std::size_t count, int mode) {
  auto *const real =
      reinterpret_cast<int (*)(void *, void *, const void *, const void *, std::size_t, int)>(hook.real());
  if (!real) return not_supported;
  const int error = real(stream, graph, nodes, edges, count, mode);
  if (!error) ++cuda_captures;
  return error;
}
int end_capture_through(Hook &hook, void *stream, void **graph) {
  auto *const real = reinterpret_cast<int (*)(void *, void **)>(hook.real());
  if (!real) return not_supported;
  const int error = real(stream, graph);
  if (cuda_captures > 0) --cuda_captures;
  return error;
}

Hook &cuda_hook(const char *name) { return *hook_named(name); }

// Under what name we stand in front of what was asked for as `name`.
std::string exported(const char *name, int version, std::uint64_t flags) {
  std::string found = name ? name : "";
  if (found == "cuGetProcAddress" && version >= first_with_status) return "cuGetProcAddress_v2";
  if (found == "cuStreamBeginCapture") found += "_v2";
  if ((flags & per_thread_stream) && hook_named((found + "_ptsz").c_str())) found += "_ptsz";
  return found;
}

}  // namespace

CAPTURE_API int cuModuleGetFunction(void **function, void *module, const char *name) {
  static Hook &hook = cuda_hook("cuModuleGetFunction");
  const auto real = hook.as(&cuModuleGetFunction);
  if (!real) return not_supported;
  const int error = real(function, module, name);
  if (!error) CudaKernels::instance().add_function(*function, name);
  return error;
}
// A kernel of a library may be launched as it is, in place of the function that it stands for.
CAPTURE_API int cuLibraryGetKernel(void **kernel, void *library, const char *name) {
  static Hook &hook = cuda_hook("cuLibraryGetKernel");
  const auto real = hook.as(&cuLibraryGetKernel);
  if (!real) return not_supported;
  const int error = real(kernel, library, name);
  if (!error) CudaKernels::instance().add_function(*kernel, name);
  return error;
}

#define CAPTURE_LAUNCH(NAME)                                                                                         \
  CAPTURE_API int NAME(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, \
                       unsigned shared, void *stream, void **params, void **extra) {                                 \
    static Hook &hook = cuda_hook(#NAME);                                                                            \
    return launch_through(hook, function, {gx, gy, gz}, {bx, by, bz}, shared, stream, params, extra);                \
  }
#define CAPTURE_COOPERATIVE(NAME)                                                                                    \
  CAPTURE_API int NAME(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, \
                       unsigned shared, void *stream, void **params) {                                               \
    static Hook &hook = cuda_hook(#NAME);                                                                            \
    return cooperative_through(hook, function, {gx, gy, gz}, {bx, by, bz}, shared, stream, params);                  \
  }
#define CAPTURE_EX(NAME)                                                                          \
  CAPTURE_API int NAME(const LaunchConfig *config, void *function, void **params, void **extra) { \
    static Hook &hook = cuda_hook(#NAME);                                                         \
    return launch_ex_through(hook, config, function, params, extra);                              \
  }
#define CAPTURE_GRAPH(NAME)                         \
  CAPTURE_API int NAME(void *graph, void *stream) { \
    static Hook &hook = cuda_hook(#NAME);           \
    return graph_through(hook, graph, stream);      \
  }
#define CAPTURE_BEGIN(NAME)                      \
  CAPTURE_API int NAME(void *stream, int mode) { \
    static Hook &hook = cuda_hook(#NAME);        \
    return capture_through(hook, stream, mode);  \
  }
#define CAPTURE_BEGIN_TO_GRAPH(NAME)                                                                                   \
  CAPTURE_API int NAME(void *stream, void *graph, const void *nodes, const void *edges, std::size_t count, int mode) { \
    static Hook &hook = cuda_hook(#NAME);                                                                              \
    return capture_to_graph_through(hook, stream, graph, nodes, edges, count, mode);                                   \
  }
#define CAPTURE_END(NAME)                            \
  CAPTURE_API int NAME(void *stream, void **graph) { \
    static Hook &hook = cuda_hook(#NAME);            \
    return end_capture_through(hook, stream, graph); \
  }
// Each function has a variant in which the default stream is one of each thread.
#define CAPTURE_BOTH(MAKE, NAME) MAKE(NAME) MAKE(NAME##_ptsz)

CAPTURE_BOTH(CAPTURE_LAUNCH, cuLaunchKernel)
CAPTURE_BOTH(CAPTURE_COOPERATIVE, cuLaunchCooperativeKernel)
CAPTURE_BOTH(CAPTURE_EX, cuLaunchKernelEx)
CAPTURE_BOTH(CAPTURE_GRAPH, cuGraphLaunch)
CAPTURE_BOTH(CAPTURE_BEGIN, cuStreamBeginCapture_v2)
CAPTURE_BOTH(CAPTURE_BEGIN_TO_GRAPH, cuStreamBeginCaptureToGraph)
CAPTURE_BOTH(CAPTURE_END, cuStreamEndCapture)

// On several devices at once: told as not seen.
CAPTURE_API int cuLaunchCooperativeKernelMultiDevice(void *launches, unsigned count, unsigned flags) {
  static Hook &hook = cuda_hook("cuLaunchCooperativeKernelMultiDevice");
  const auto real = hook.as(&cuLaunchCooperativeKernelMultiDevice);
  if (!real) return not_supported;
  note("devices");
  return real(launches, count, flags);
}

CAPTURE_API int cuGetProcAddress(const char *name, void **found, int version, std::uint64_t flags) {
  static Hook &hook = cuda_hook("cuGetProcAddress");
  const auto real = hook.as(&cuGetProcAddress);
  if (!real) return not_supported;
  const int error = real(name, found, version, flags);
  if (!error && found) *found = in_front(exported(name, version, flags).c_str(), *found);
  return error;
}
CAPTURE_API int cuGetProcAddress_v2(const char *name, void **found, int version, std::uint64_t flags, int *status) {
  static Hook &hook = cuda_hook("cuGetProcAddress_v2");
  const auto real = hook.as(&cuGetProcAddress_v2);
  if (!real) return not_supported;
  const int error = real(name, found, version, flags, status);
  if (!error && found) *found = in_front(exported(name, version, flags).c_str(), *found);
  return error;
}

namespace capture {

std::span<Hook> cuda_hooks() {
  static Hook all[] = {
      {"cuModuleGetFunction", &cuModuleGetFunction},
      {"cuLibraryGetKernel", &cuLibraryGetKernel},
      {"cuLaunchKernel", &cuLaunchKernel},
      {"cuLaunchKernel_ptsz", &cuLaunchKernel_ptsz},
      {"cuLaunchCooperativeKernel", &cuLaunchCooperativeKernel},
      {"cuLaunchCooperativeKernel_ptsz", &cuLaunchCooperativeKernel_ptsz},
      {"cuLaunchKernelEx", &cuLaunchKernelEx},
      {"cuLaunchKernelEx_ptsz", &cuLaunchKernelEx_ptsz},
      {"cuGraphLaunch", &cuGraphLaunch},
      {"cuGraphLaunch_ptsz", &cuGraphLaunch_ptsz},
      {"cuStreamBeginCapture_v2", &cuStreamBeginCapture_v2},
      {"cuStreamBeginCapture_v2_ptsz", &cuStreamBeginCapture_v2_ptsz},
      {"cuStreamBeginCaptureToGraph", &cuStreamBeginCaptureToGraph},
      {"cuStreamBeginCaptureToGraph_ptsz", &cuStreamBeginCaptureToGraph_ptsz},
      {"cuLaunchCooperativeKernelMultiDevice", &cuLaunchCooperativeKernelMultiDevice},
      {"cuStreamEndCapture", &cuStreamEndCapture},
      {"cuStreamEndCapture_ptsz", &cuStreamEndCapture_ptsz},
      {"cuGetProcAddress", &cuGetProcAddress},
      {"cuGetProcAddress_v2", &cuGetProcAddress_v2},
  };
  return all;
}

}  // namespace capture
