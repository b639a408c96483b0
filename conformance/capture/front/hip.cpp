// In front of libamdhip64: launches by a function of a module, and by the address of a kernel's host function.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "recorder.h"
#include "symbols.h"

using namespace capture;

namespace {

// The types of HIP that calls pass are declared here, so that the build needs no headers of it.
struct Dim3 {
  unsigned x, y, z;
};
struct LaunchConfiguration {  // hipLaunchConfig_t
  Dim3 grid, block;
  std::size_t shared;
  void *stream, *attributes;
  unsigned attribute_count;
};
struct DriverConfiguration {  // HIP_LAUNCH_CONFIG
  Dim3 grid, block;
  unsigned shared;
  void *stream, *attributes;
  unsigned attribute_count;
};
constexpr int device_to_host = 2;
void *const packed_arguments = reinterpret_cast<void *>(1), *const packed_bytes = reinterpret_cast<void *>(2),
            *const packed_end = reinterpret_cast<void *>(3);  // HIP_LAUNCH_PARAM_...

Hook &hip_hook(const char *name) { return *hook_named(name); }

// A function of the library that is not stood in front of.
template <class Function>
Function *hip_function(const char *name) {
  static Hook &launch = hip_hook("hipModuleLaunchKernel");
  return reinterpret_cast<Function *>(neighbour(launch.real(), name));
}

// Keeps the program from finding an error that a call of ours has left.
class KeptHipError {
 public:
  KeptHipError() : was_set_(peek() != 0) {}
  ~KeptHipError() {
    static const auto take = hip_function<int()>("hipGetLastError");
    if (!was_set_ && take) take();
  }

 private:
  static int peek() {
    static const auto look = hip_function<int()>("hipPeekAtLastError");
    return look ? look() : 0;
  }
  bool was_set_;
};

std::atomic<int> hip_captures{0};  // streams whose launches go into a graph

class HipGpu : public Gpu {
 public:
  bool find(const void *address, Range &range) override {
    static const auto call = hip_function<int(void **, std::size_t *, const void *)>("hipMemGetAddressRange");
    const KeptHipError kept;
    void *begin = nullptr;
    if (!call || call(&begin, &range.bytes, address)) return false;
    range.begin = static_cast<const char *>(begin);
    return true;
  }
  bool read(void *to, const void *from, std::size_t bytes) override {
    static const auto call = hip_function<int(void *, const void *, std::size_t, int)>("hipMemcpy");
    const KeptHipError kept;
    return call && call(to, from, bytes, device_to_host) == 0;
  }
  bool wait() override {
    static const auto call = hip_function<int()>("hipDeviceSynchronize");
    const KeptHipError kept;
    return call && call() == 0;
  }
  bool is_capturing(void *stream) override {
    static const auto call = hip_function<int(void *, int *)>("hipStreamIsCapturing");
    if (!call) return false;
    const KeptHipError kept;
    int status = 0;
    // The default stream cannot even be asked while another one is captured.
    return call(stream, &status) != 0 || status != 0;
  }
  bool captures() override { return hip_captures > 0; }
};

// What is known of functions and of kernels' host functions: their names, and their parameters as code objects have
// them.
class HipKernels {
 public:
  struct Named {
    std::string name;
    const Parameters *parameters;
  };

  static HipKernels &instance() {
    static HipKernels &only = *new HipKernels;
    return only;
  }
  void add_module(const void *module, Kernels kernels) {
    const std::lock_guard lock(mutex_);
    modules_.insert_or_assign(module, std::move(kernels));
  }
  void add_function(const void *function, const void *module, const char *name) {
    const std::lock_guard lock(mutex_);
    named_.insert_or_assign(function, std::pair(module, std::string(name)));
  }
  // `function` is another handle of what `other` is.
  void add_alias(const void *function, const void *other) {
    const std::lock_guard lock(mutex_);
    const auto found = named_.find(other);
    if (found != named_.end()) named_.insert_or_assign(function, found->second);
  }
  Named find(const void *function) {
    const std::lock_guard lock(mutex_);
    const auto found = named_.find(function);
    if (found == named_.end()) return {name_of(function), nullptr};
    const auto &[module, name] = found->second;
    const auto kernels = modules_.find(module);
    if (kernels == modules_.end()) return {name, nullptr};
    const auto parameters = kernels->second.find(name);
    return {name, parameters == kernels->second.end() ? nullptr : &parameters->second};
  }

 private:
  // The name of a function that the program has got in a way that is not stood in front of.
  static std::string name_of(const void *function) {
    static const auto call = hip_function<const char *(const void *)>("hipKernelNameRef");
    const char *name = call ? call(function) : nullptr;
    return name && *name ? name : "?";
  }

  std::mutex mutex_;
  std::unordered_map<const void *, Kernels> modules_;
  std::unordered_map<const void *, std::pair<const void *, std::string>> named_;
};

int hip_launch(const void *function, Shape grid, Shape block, std::size_t shared, void *stream, void **params,
               void **extra, const Go &go) {
  static HipGpu gpu;
  const HipKernels::Named kernel = HipKernels::instance().find(function);
  return launched(gpu, {kernel.name, grid, block, shared, stream, params, extra, kernel.parameters}, go);
}

Shape shape(Dim3 d) { return {d.x, d.y, d.z}; }

// Of a grid that is given in threads.
unsigned blocks(unsigned threads, unsigned block) { return block ? (threads + block - 1) / block : 0; }

}  // namespace

// ---- modules

CAPTURE_API int hipModuleLoadData(void **module, const void *image) {
  static Hook &hook = hip_hook("hipModuleLoadData");
  const auto real = hook.as(&hipModuleLoadData);
  if (!real) return not_supported;
  const int error = real(module, image);
  if (!error) HipKernels::instance().add_module(*module, kernels_at(image));
  return error;
}
CAPTURE_API int hipModuleLoadDataEx(void **module, const void *image, unsigned count, void *options, void **values) {
  static Hook &hook = hip_hook("hipModuleLoadDataEx");
  const auto real = hook.as(&hipModuleLoadDataEx);
  if (!real) return not_supported;
  const int error = real(module, image, count, options, values);
  if (!error) HipKernels::instance().add_module(*module, kernels_at(image));
  return error;
}
CAPTURE_API int hipModuleLoad(void **module, const char *path) {
  static Hook &hook = hip_hook("hipModuleLoad");
  const auto real = hook.as(&hipModuleLoad);
  if (!real) return not_supported;
  const int error = real(module, path);
  if (error) return error;
  std::ifstream file(path, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(file), {}};
  HipKernels::instance().add_module(*module, kernels_in(content));
  return error;
}
CAPTURE_API int hipModuleGetFunction(void **function, void *module, const char *name) {
  static Hook &hook = hip_hook("hipModuleGetFunction");
  const auto real = hook.as(&hipModuleGetFunction);
  if (!real) return not_supported;
  const int error = real(function, module, name);
  if (!error) HipKernels::instance().add_function(*function, module, name);
  return error;
}

CAPTURE_API int hipLibraryGetKernel(void **kernel, void *library, const char *name) {
  static Hook &hook = hip_hook("hipLibraryGetKernel");
  const auto real = hook.as(&hipLibraryGetKernel);
  if (!real) return not_supported;
  const int error = real(kernel, library, name);
  if (!error) HipKernels::instance().add_function(*kernel, library, name);
  return error;
}
CAPTURE_API int hipKernelGetFunction(void **function, void *kernel) {
  static Hook &hook = hip_hook("hipKernelGetFunction");
  const auto real = hook.as(&hipKernelGetFunction);
  if (!real) return not_supported;
  const int error = real(function, kernel);
  if (!error) HipKernels::instance().add_alias(*function, kernel);
  return error;
}
CAPTURE_API int hipGetFuncBySymbol(void **function, const void *symbol) {
  static Hook &hook = hip_hook("hipGetFuncBySymbol");
  const auto real = hook.as(&hipGetFuncBySymbol);
  if (!real) return not_supported;
  const int error = real(function, symbol);
  if (!error) HipKernels::instance().add_alias(*function, symbol);
  return error;
}

// ---- what clang adds to a program with kernels

struct FatBinary {
  unsigned magic, version;
  const char *bundle;
  void *unused;
};
CAPTURE_API void **__hipRegisterFatBinary(const FatBinary *binary) {
  static Hook &hook = hip_hook("__hipRegisterFatBinary");
  const auto real = hook.as(&__hipRegisterFatBinary);
  void **handle = real ? real(binary) : nullptr;
  if (handle) HipKernels::instance().add_module(handle, kernels_at(binary->bundle));
  return handle;
}
CAPTURE_API void __hipRegisterFunction(void **handle, const void *host, char *shown, const char *name, unsigned threads,
                                       void *tid, void *bid, void *block, void *grid, int *wave) {
  static Hook &hook = hip_hook("__hipRegisterFunction");
  const auto real = hook.as(&__hipRegisterFunction);
  if (real) real(handle, host, shown, name, threads, tid, bid, block, grid, wave);
  HipKernels::instance().add_function(host, handle, name);
}

// ---- launches

CAPTURE_API int hipModuleLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                      unsigned bz, unsigned shared, void *stream, void **params, void **extra) {
  static Hook &hook = hip_hook("hipModuleLaunchKernel");
  const auto real = hook.as(&hipModuleLaunchKernel);
  if (!real) return not_supported;
  return hip_launch(function, {gx, gy, gz}, {bx, by, bz}, shared, stream, params, extra,
                    [=] { return real(function, gx, gy, gz, bx, by, bz, shared, stream, params, extra); });
}
// Its sizes are of threads, not of blocks.
CAPTURE_API int hipExtModuleLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by,
                                         unsigned bz, std::size_t shared, void *stream, void **params, void **extra,
                                         void *start, void *end, unsigned flags) {
  static Hook &hook = hip_hook("hipExtModuleLaunchKernel");
  const auto real = hook.as(&hipExtModuleLaunchKernel);
  if (!real) return not_supported;
  return hip_launch(
      function, {blocks(x, bx), blocks(y, by), blocks(z, bz)}, {bx, by, bz}, shared, stream, params, extra,
      [=] { return real(function, x, y, z, bx, by, bz, shared, stream, params, extra, start, end, flags); });
}
CAPTURE_API int hipModuleLaunchCooperativeKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                                 unsigned by, unsigned bz, unsigned shared, void *stream,
                                                 void **params) {
  static Hook &hook = hip_hook("hipModuleLaunchCooperativeKernel");
  const auto real = hook.as(&hipModuleLaunchCooperativeKernel);
  if (!real) return not_supported;
  return hip_launch(function, {gx, gy, gz}, {bx, by, bz}, shared, stream, params, nullptr,
                    [=] { return real(function, gx, gy, gz, bx, by, bz, shared, stream, params); });
}
CAPTURE_API int hipHccModuleLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by,
                                         unsigned bz, std::size_t shared, void *stream, void **params, void **extra,
                                         void *start, void *end) {
  static Hook &hook = hip_hook("hipHccModuleLaunchKernel");
  const auto real = hook.as(&hipHccModuleLaunchKernel);
  if (!real) return not_supported;
  return hip_launch(function, {blocks(x, bx), blocks(y, by), blocks(z, bz)}, {bx, by, bz}, shared, stream, params,
                    extra,
                    [=] { return real(function, x, y, z, bx, by, bz, shared, stream, params, extra, start, end); });
}
CAPTURE_API int hipDrvLaunchKernelEx(const DriverConfiguration *given, void *function, void **params, void **extra) {
  static Hook &hook = hip_hook("hipDrvLaunchKernelEx");
  const auto real = hook.as(&hipDrvLaunchKernelEx);
  if (!real || !given) return real ? real(given, function, params, extra) : not_supported;
  return hip_launch(function, shape(given->grid), shape(given->block), given->shared, given->stream, params, extra,
                    [=] { return real(given, function, params, extra); });
}
CAPTURE_API int hipLaunchKernelExC(const LaunchConfiguration *given, const void *function, void **params) {
  static Hook &hook = hip_hook("hipLaunchKernelExC");
  const auto real = hook.as(&hipLaunchKernelExC);
  if (!real || !given) return real ? real(given, function, params) : not_supported;
  return hip_launch(function, shape(given->grid), shape(given->block), given->shared, given->stream, params, nullptr,
                    [=] { return real(given, function, params); });
}

// Each has a variant in which the default stream is one of each thread.
#define CAPTURE_BY_HOST_FUNCTION(NAME, SHARED)                                                                    \
  CAPTURE_API int NAME(const void *function, Dim3 grid, Dim3 block, void **params, SHARED shared, void *stream) { \
    static Hook &hook = hip_hook(#NAME);                                                                          \
    const auto real = hook.as(&NAME);                                                                             \
    if (!real) return not_supported;                                                                              \
    return hip_launch(function, shape(grid), shape(block), shared, stream, params, nullptr,                       \
                      [=] { return real(function, grid, block, params, shared, stream); });                       \
  }
CAPTURE_BY_HOST_FUNCTION(hipLaunchKernel, std::size_t)
CAPTURE_BY_HOST_FUNCTION(hipLaunchKernel_spt, std::size_t)
CAPTURE_BY_HOST_FUNCTION(hipLaunchCooperativeKernel, unsigned)
CAPTURE_BY_HOST_FUNCTION(hipLaunchCooperativeKernel_spt, unsigned)

CAPTURE_API int hipExtLaunchKernel(const void *function, Dim3 grid, Dim3 block, void **params, std::size_t shared,
                                   void *stream, void *start, void *end, int flags) {
  static Hook &hook = hip_hook("hipExtLaunchKernel");
  const auto real = hook.as(&hipExtLaunchKernel);
  if (!real) return not_supported;
  return hip_launch(function, shape(grid), shape(block), shared, stream, params, nullptr,
                    [=] { return real(function, grid, block, params, shared, stream, start, end, flags); });
}

// HIP's first way of launching: a call for the geometry, one for each argument, and one that launches. They nest.
struct Configured {
  Shape grid, block;
  std::size_t shared;
  void *stream;
  std::vector<char> arguments;
};
static std::vector<Configured> &configured() {
  static thread_local std::vector<Configured> all;
  return all;
}
CAPTURE_API int hipConfigureCall(Dim3 grid, Dim3 block, std::size_t shared, void *stream) {
  static Hook &hook = hip_hook("hipConfigureCall");
  const auto real = hook.as(&hipConfigureCall);
  if (!real) return not_supported;
  const int error = real(grid, block, shared, stream);
  if (!error) configured().push_back({shape(grid), shape(block), shared, stream, {}});
  return error;
}
CAPTURE_API int hipSetupArgument(const void *argument, std::size_t bytes, std::size_t offset) {
  static Hook &hook = hip_hook("hipSetupArgument");
  const auto real = hook.as(&hipSetupArgument);
  if (!real) return not_supported;
  const int error = real(argument, bytes, offset);
  if (error || configured().empty()) return error;
  std::vector<char> &arguments = configured().back().arguments;
  arguments.resize(std::max(arguments.size(), offset + bytes));
  std::memcpy(arguments.data() + offset, argument, bytes);
  return error;
}
CAPTURE_API int hipLaunchByPtr(const void *function) {
  static Hook &hook = hip_hook("hipLaunchByPtr");
  const auto real = hook.as(&hipLaunchByPtr);
  if (!real) return not_supported;
  if (configured().empty()) return real(function);
  Configured call = std::move(configured().back());
  configured().pop_back();
  std::size_t bytes = call.arguments.size();
  void *extra[] = {packed_arguments, call.arguments.data(), packed_bytes, &bytes, packed_end};
  return hip_launch(function, call.grid, call.block, call.shared, call.stream, nullptr, extra,
                    [=] { return real(function); });
}

// ---- launches on several devices at once, which are told as not seen

#define CAPTURE_ON_DEVICES(NAME, COUNT)                               \
  CAPTURE_API int NAME(void *launches, COUNT count, unsigned flags) { \
    static Hook &hook = hip_hook(#NAME);                              \
    const auto real = hook.as(&NAME);                                 \
    if (!real) return not_supported;                                  \
    note("devices");                                                  \
    return real(launches, count, flags);                              \
  }
CAPTURE_ON_DEVICES(hipExtLaunchMultiKernelMultiDevice, int)
CAPTURE_ON_DEVICES(hipLaunchCooperativeKernelMultiDevice, int)
CAPTURE_ON_DEVICES(hipModuleLaunchCooperativeKernelMultiDevice, unsigned)

// ---- graphs, whose launches nobody sees

#define CAPTURE_BEGIN_CAPTURE(NAME)              \
  CAPTURE_API int NAME(void *stream, int mode) { \
    static Hook &hook = hip_hook(#NAME);         \
    const auto real = hook.as(&NAME);            \
    if (!real) return not_supported;             \
    const int error = real(stream, mode);        \
    if (!error) ++hip_captures;                  \
    return error;                                \
  }
#define CAPTURE_END_CAPTURE(NAME)                    \
  CAPTURE_API int NAME(void *stream, void **graph) { \
    static Hook &hook = hip_hook(#NAME);             \
    const auto real = hook.as(&NAME);                \
    if (!real) return not_supported;                 \
    const int error = real(stream, graph);           \
    if (hip_captures > 0) --hip_captures;            \
    return error;                                    \
  }
#define CAPTURE_GRAPH_LAUNCH(NAME)                  \
  CAPTURE_API int NAME(void *graph, void *stream) { \
    static Hook &hook = hip_hook(#NAME);            \
    const auto real = hook.as(&NAME);               \
    if (!real) return not_supported;                \
    note("graph");                                  \
    return real(graph, stream);                     \
  }
CAPTURE_BEGIN_CAPTURE(hipStreamBeginCapture)
CAPTURE_BEGIN_CAPTURE(hipStreamBeginCapture_spt)
CAPTURE_END_CAPTURE(hipStreamEndCapture)
CAPTURE_END_CAPTURE(hipStreamEndCapture_spt)
CAPTURE_GRAPH_LAUNCH(hipGraphLaunch)
CAPTURE_GRAPH_LAUNCH(hipGraphLaunch_spt)

CAPTURE_API int hipStreamBeginCaptureToGraph(void *stream, void *graph, const void *nodes, const void *data,
                                             std::size_t count, int mode) {
  static Hook &hook = hip_hook("hipStreamBeginCaptureToGraph");
  const auto real = hook.as(&hipStreamBeginCaptureToGraph);
  if (!real) return not_supported;
  const int error = real(stream, graph, nodes, data, count, mode);
  if (!error) ++hip_captures;
  return error;
}

// ---- look-ups of the library's own

CAPTURE_API int hipGetProcAddress(const char *name, void **found, int version, std::uint64_t flags, void *status) {
  static Hook &hook = hip_hook("hipGetProcAddress");
  const auto real = hook.as(&hipGetProcAddress);
  if (!real) return not_supported;
  const int error = real(name, found, version, flags, status);
  if (!error && found) *found = in_front(name, *found);
  return error;
}

namespace capture {

std::span<Hook> hip_hooks() {
  static Hook all[] = {
      {"hipModuleLoadData", &hipModuleLoadData},
      {"hipModuleLoadDataEx", &hipModuleLoadDataEx},
      {"hipModuleLoad", &hipModuleLoad},
      {"hipModuleGetFunction", &hipModuleGetFunction},
      {"__hipRegisterFatBinary", &__hipRegisterFatBinary},
      {"__hipRegisterFunction", &__hipRegisterFunction},
      {"hipModuleLaunchKernel", &hipModuleLaunchKernel},
      {"hipExtModuleLaunchKernel", &hipExtModuleLaunchKernel},
      {"hipModuleLaunchCooperativeKernel", &hipModuleLaunchCooperativeKernel},
      {"hipLibraryGetKernel", &hipLibraryGetKernel},
      {"hipKernelGetFunction", &hipKernelGetFunction},
      {"hipGetFuncBySymbol", &hipGetFuncBySymbol},
      {"hipHccModuleLaunchKernel", &hipHccModuleLaunchKernel},
      {"hipDrvLaunchKernelEx", &hipDrvLaunchKernelEx},
      {"hipLaunchKernelExC", &hipLaunchKernelExC},
      {"hipLaunchKernel", &hipLaunchKernel},
      {"hipLaunchKernel_spt", &hipLaunchKernel_spt},
      {"hipLaunchCooperativeKernel_spt", &hipLaunchCooperativeKernel_spt},
      {"hipLaunchCooperativeKernel", &hipLaunchCooperativeKernel},
      {"hipExtLaunchKernel", &hipExtLaunchKernel},
      {"hipConfigureCall", &hipConfigureCall},
      {"hipSetupArgument", &hipSetupArgument},
      {"hipLaunchByPtr", &hipLaunchByPtr},
      {"hipExtLaunchMultiKernelMultiDevice", &hipExtLaunchMultiKernelMultiDevice},
      {"hipLaunchCooperativeKernelMultiDevice", &hipLaunchCooperativeKernelMultiDevice},
      {"hipModuleLaunchCooperativeKernelMultiDevice", &hipModuleLaunchCooperativeKernelMultiDevice},
      {"hipStreamBeginCapture", &hipStreamBeginCapture},
      {"hipStreamBeginCapture_spt", &hipStreamBeginCapture_spt},
      {"hipStreamBeginCaptureToGraph", &hipStreamBeginCaptureToGraph},
      {"hipStreamEndCapture", &hipStreamEndCapture},
      {"hipStreamEndCapture_spt", &hipStreamEndCapture_spt},
      {"hipGraphLaunch", &hipGraphLaunch},
      {"hipGraphLaunch_spt", &hipGraphLaunch_spt},
      {"hipGetProcAddress", &hipGetProcAddress},
  };
  return all;
}

}  // namespace capture
