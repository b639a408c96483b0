// A libamdhip64.so (or, with STAND_IN_HIPRTC, a libhiprtc.so) that runs nothing but fills buffers, and fails as asked.
//
// Device memory is host memory. A module is an AMD code object; nothing of it is executed:
// fill_u8, fill_u32, fill_f32, fill_i64 and fill_f64 fill their buffer, two kernels of
// tests/launchers/tree/quantize.hip do what they do there, and every other kernel does nothing.
//
// STAND_IN_HIP_DEVICES  the devices' architectures, "gfx942:sramecc+:xnack-" unless set; "" for none
// STAND_IN_HIP_INIT     "hang": no call that needs a device returns; a number: each returns that error
// STAND_IN_HIP_HANGING  the device whose hipSetDevice does not return
// STAND_IN_HIP_FAULTS   "KERNEL=FAULT,...", what becomes of a launch:
//   abort         ROCr's line for a memory fault, its words about a core dump, and abort(), as ROCm 6 does
//   CODE          synchronize returns CODE and so does every later call, as ROCm 7 does
//   refused:CODE  the launch returns CODE, and nothing else is wrong
//   copy:CODE     the copy after the launch returns CODE, and so does every later call
//   hang          synchronize does not return
// STAND_IN_HIP_HOST_FUNCTIONS  see stand_in_streams.h
// STAND_IN_HIP_ONCE     a file: the launch that makes it fails, later ones are good
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#define API extern "C" __attribute__((visibility("default")))

namespace {

std::string setting(const char *name, const char *usual = "") {
  const char *value = std::getenv(name);
  return value ? value : usual;
}

}  // namespace

#if defined(STAND_IN_HIPRTC)

API int hiprtcVersion(int *major, int *minor) {
  *major = 9;
  *minor = 0;
  return 0;
}
API int hiprtcCreateProgram(void **program, const char *, const char *, int, const char **, const char **) {
  static int one;
  *program = &one;
  return 0;
}
API int hiprtcDestroyProgram(void **) { return 0; }
API int hiprtcCompileProgram(void *, int, const char **) { return 6; }
static const char log_text[] = "error: the stand-in for hiprtc compiles nothing\n";
API int hiprtcGetProgramLogSize(void *, std::size_t *size) {
  *size = sizeof log_text;
  return 0;
}
API int hiprtcGetProgramLog(void *, char *log) {
  std::memcpy(log, log_text, sizeof log_text);
  return 0;
}
API const char *hiprtcGetErrorString(int) { return "HIPRTC_ERROR_COMPILATION"; }

#else

#include "simt/properties.h"
#include "stand_in_streams.h"

using stand_in::Event;
using stand_in::Stream;
using stand_in::Work;

namespace {

enum {
  invalid_value = 1,
  out_of_memory = 2,
  no_device = 100,
  invalid_device = 101,
  invalid_image = 200,
  no_binary_for_gpu = 209,
  not_found = 500,
  not_ready = 600,
};
const std::map<int, std::pair<const char *, const char *> > errors = {
    {0, {"hipSuccess", "no error"}},
    {invalid_value, {"hipErrorInvalidValue", "invalid argument"}},
    {out_of_memory, {"hipErrorOutOfMemory", "out of memory"}},
    {9, {"hipErrorInvalidConfiguration", "invalid configuration argument"}},
    {no_device, {"hipErrorNoDevice", "no ROCm-capable device is detected"}},
    {invalid_device, {"hipErrorInvalidDevice", "invalid device ordinal"}},
    {invalid_image, {"hipErrorInvalidImage", "device kernel image is invalid"}},
    {no_binary_for_gpu, {"hipErrorNoBinaryForGpu", "no kernel image is available for execution on the device"}},
    {not_found, {"hipErrorNotFound", "named symbol not found"}},
    {not_ready, {"hipErrorNotReady", "device not ready"}},
    {700, {"hipErrorIllegalAddress", "an illegal memory access was encountered"}},
    {701, {"hipErrorLaunchOutOfResources", "out of resources"}},
    {702, {"hipErrorLaunchTimeOut", "the launch timed out and was terminated"}},
    {719, {"hipErrorLaunchFailure", "unspecified launch failure"}},
};

struct Module {
  const unsigned char *image;
  std::size_t size;
  std::uint64_t sum;
};
struct Function {
  std::string name;
  const Module *module;
};

struct Dim3 {
  unsigned x, y, z;
};
struct Configuration {
  Dim3 grid, block;
  std::size_t shared;
  Stream *stream;
};
std::map<const void *, Function> registered;  // by the address of a kernel's host function
std::vector<Configuration> configurations;
int last_error = 0;

int device = 0;
int sticky = 0;      // what every call returns from now on
int at_synchronize;  // what the next synchronize brings about
int at_copy;
bool hang_at_synchronize = false;

std::vector<std::string> split(const std::string &text, char sign) {
  std::vector<std::string> parts;
  std::string part;
  for (const char letter : text + sign) {
    if (letter != sign) {
      part += letter;
      continue;
    }
    if (!part.empty()) parts.push_back(part);
    part.clear();
  }
  return parts;
}

std::vector<std::string> devices() { return split(setting("STAND_IN_HIP_DEVICES", "gfx942:sramecc+:xnack-"), ','); }

void hang() {
  while (true) pause();
}

// What a call returns before it does anything.
int begin() {
  const std::string init = setting("STAND_IN_HIP_INIT");
  if (init == "hang") hang();
  if (!init.empty()) return std::atoi(init.c_str());
  return devices().empty() ? no_device : sticky;
}

template <class T>
T at(const unsigned char *data, std::size_t offset) {
  T value;
  std::memcpy(&value, data + offset, sizeof value);
  return value;
}

// The bytes of an ELF file: up to the end of its last segment, section or section header.
std::size_t elf_size(const unsigned char *data) {
  const auto programs = at<std::uint64_t>(data, 32), sections = at<std::uint64_t>(data, 40);
  std::size_t end = 64;
  for (unsigned i = 0; i < at<std::uint16_t>(data, 56); ++i) {
    const std::size_t row = programs + i * at<std::uint16_t>(data, 54);
    end = std::max<std::size_t>(end, at<std::uint64_t>(data, row + 8) + at<std::uint64_t>(data, row + 32));
  }
  if (sections) end = std::max<std::size_t>(end, sections + at<std::uint16_t>(data, 58) * at<std::uint16_t>(data, 60));
  return end;
}

std::uint64_t sum(const unsigned char *data, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) value = value * 31 + data[i];
  return value;
}

bool contains(const Module &module, const std::string &text) {
  return memmem(module.image, module.size, text.data(), text.size()) != nullptr;
}

// Whether code for `target` runs on `arch`: the same processor, and each feature that the target names.
bool fits(const std::string &target, const std::string &arch) {
  const auto have = split(arch, ':'), want = split(target, ':');
  if (want.empty() || want[0] != have[0]) return false;
  for (const auto &feature : want) {
    bool found = false;
    for (const auto &other : have) found = found || other == feature;
    if (!found) return false;
  }
  return true;
}

int load(const unsigned char *data, Module &module) {
  const std::string arch = devices().at(static_cast<std::size_t>(device));
  if (std::memcmp(data, "\177ELF", 4) != 0) return invalid_image;
  const std::size_t size = elf_size(data);
  module = {data, size, sum(data, size)};
  const std::string mark = "amdgcn-amd-amdhsa--";
  const auto *found = static_cast<const char *>(memmem(data, size, mark.data(), mark.size()));
  if (!found) return invalid_image;
  found += mark.size();
  const std::string target(found, std::strspn(found, "abcdefghijklmnopqrstuvwxyz0123456789:+-"));
  return fits(target, arch) ? 0 : no_binary_for_gpu;
}

void say(const char *text) { (void)!write(2, text, std::strlen(text)); }

void say_memory_fault() {
  say("Memory access fault by GPU node-1 (Agent handle: 0x55ac14d27600) on address 0x7f9587e00000. "
      "Reason: Page not present or supervisor privilege.\n");
}

// ROCr writes a file of its own where core dumps are on; its words come after those about the fault.
void dump_core() {
  rlimit limit{};
  getrlimit(RLIMIT_CORE, &limit);
  if (limit.rlim_cur && setting("HSA_DISABLE_COREDUMP_ON_EXCEPTION") != "1") {
    const std::string name = "gpucore." + std::to_string(getpid());
    close(open(name.c_str(), O_CREAT | O_WRONLY, 0600));
    say(("GPU core dump created: " + name + "\n").c_str());
  } else {
    say("GPU core dump failed\n");
  }
}

bool first_time() {
  const std::string file = setting("STAND_IN_HIP_ONCE");
  if (file.empty()) return true;
  const int descriptor = open(file.c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600);
  if (descriptor >= 0) close(descriptor);
  return descriptor >= 0;
}

// What STAND_IN_HIP_FAULTS has for the kernel called `name`.
std::string fault_of(const std::string &name) {
  for (const auto &pair : split(setting("STAND_IN_HIP_FAULTS"), ',')) {
    const auto sign = pair.find('=');
    if (pair.substr(0, sign) == name && first_time()) return pair.substr(sign + 1);
  }
  return "";
}

template <class T>
Work fill(void **params) {
  auto *p = *static_cast<T **>(params[0]);
  const T value = *static_cast<T *>(params[1]);
  return [=, n = *static_cast<std::size_t *>(params[2])] { std::fill_n(p, n, value); };
}

// quantize<float, 256>: each row in blocks of 32.
struct Block {
  _Float16 d, s;
  std::int8_t quants[32];
};

void quantize(const float *x, Block *y, int kx, int padded, unsigned rows) {
  for (unsigned row = 0; row < rows; ++row)
    for (int first = 0; first < padded; first += 32) {
      float values[32] = {}, largest = 0, total = 0;
      for (int i = 0; i < 32 && first + i < kx; ++i) values[i] = x[row * static_cast<std::size_t>(kx) + first + i];
      for (const float value : values) largest = std::fmax(largest, std::fabs(value)), total += value;
      const float d = largest / 127;
      Block &block = *y++;
      block.d = static_cast<_Float16>(d);
      block.s = static_cast<_Float16>(total);
      for (int i = 0; i < 32; ++i)
        block.quants[i] = largest == 0 ? 0 : static_cast<std::int8_t>(std::round(values[i] / d));
    }
}

// What the kernel called `name` does, with its arguments as they are now.
Work work_of(const std::string &name, void **params, unsigned rows) {
  if (name == "_Z8quantizeIfLi256EEvPKT_P5Blockii")
    return [rows, x = *static_cast<const float **>(params[0]), y = *static_cast<Block **>(params[1]),
            kx = *static_cast<int *>(params[2]),
            padded = *static_cast<int *>(params[3])] { quantize(x, y, kx, padded, rows); };
  if (name == "_Z8write_atPcl")
    return [p = *static_cast<char **>(params[0]) + *static_cast<long *>(params[1])] { *p = 1; };
  if (name == "fill_u8") return fill<std::uint8_t>(params);
  if (name == "fill_u32" || name == "fill_f32") return fill<std::uint32_t>(params);
  if (name == "fill_i64" || name == "fill_f64") return fill<std::uint64_t>(params);
  return [] {};
}

}  // namespace

API const char *hipGetErrorName(int code) { return errors.count(code) ? errors.at(code).first : "hipErrorUnknown"; }
API const char *hipGetErrorString(int code) { return errors.count(code) ? errors.at(code).second : "unknown error"; }
API int hipInit(unsigned) { return begin(); }
API int hipRuntimeGetVersion(int *version) {
  *version = 70253211;
  return 0;
}
API int hipDriverGetVersion(int *version) { return hipRuntimeGetVersion(version); }
API int hipGetDeviceCount(int *count) {
  *count = static_cast<int>(devices().size());
  return begin();
}
API int hipSetDevice(int ordinal) {
  const int result = begin();
  if (result) return result;
  if (ordinal < 0 || ordinal >= static_cast<int>(devices().size())) return invalid_device;
  if (setting("STAND_IN_HIP_HANGING") == std::to_string(ordinal)) hang();
  device = ordinal;
  return 0;
}
API int hipGetDevice(int *ordinal) {
  *ordinal = device;
  return begin();
}
API int hipGetDevicePropertiesR0600(simt::DeviceProperties *p, int ordinal) {
  const int result = begin();
  if (result) return result;
  if (ordinal < 0 || ordinal >= static_cast<int>(devices().size())) return invalid_device;
  const std::string arch = devices()[static_cast<std::size_t>(ordinal)];
  std::memset(p, 0, sizeof *p);
  std::snprintf(p->name, sizeof p->name, "Stand-in %d", ordinal);
  std::snprintf(p->gcnArchName, sizeof p->gcnArchName, "%s", arch.c_str());
  p->warpSize = arch.compare(0, 4, "gfx9") == 0 ? 64 : 32;
  p->integrated = fits("gfx1036", arch);
  p->multiProcessorCount = p->integrated ? 2 : 104;
  p->maxThreadsPerMultiProcessor = 2048;
  p->maxThreadsPerBlock = 1024;
  p->totalGlobalMem = std::size_t(64) << 30;
  p->sharedMemPerBlock = 65536;
  return 0;
}
API int hipMalloc(void **p, std::size_t bytes) {
  const int result = begin();
  if (result) return result;
  *p = std::malloc(bytes);
  return *p ? 0 : out_of_memory;
}
API int hipFree(void *p) {
  const int result = begin();
  if (!result) std::free(p);
  return result;
}
API int hipMemcpy(void *to, const void *from, std::size_t bytes, int) {
  if (at_copy) sticky = at_copy;
  const int result = begin();
  if (!result) std::memcpy(to, from, bytes);
  return result;
}
API int hipModuleLoadData(Module **handle, const void *image) {
  const int result = begin();
  if (result) return result;
  auto *module = new Module{};
  const int failed = load(static_cast<const unsigned char *>(image), *module);
  *handle = failed ? nullptr : module;
  return failed;
}
API int hipModuleUnload(Module *module) {
  delete module;
  return begin();
}
API int hipModuleGetFunction(Function **handle, Module *module, const char *name) {
  const int result = begin();
  if (result) return result;
  // As ROCm may, this looks at the image again: whoever gave it has to keep it.
  if (sum(module->image, module->size) != module->sum) return invalid_image;
  const std::size_t length = std::strlen(name);
  const std::string packed = (length < 32 ? std::string(1, static_cast<char>(0xa0 + length))
                                          : std::string("\xd9") + static_cast<char>(length)) +
                             name;
  *handle = contains(*module, "\xa5.name" + packed) ? new Function{name, module} : nullptr;
  return *handle ? 0 : not_found;
}
static int launch(const Function &function, void **params, unsigned rows, Stream *stream) {
  const int result = begin();
  if (result) return result;
  const std::string fault = fault_of(function.name);
  const auto parts = split(fault, ':');
  if (fault.empty()) {
    stand_in::put(stream, work_of(function.name, params, rows));
  } else if (fault == "abort") {
    say_memory_fault();
    dump_core();
    std::abort();
  } else if (fault == "hang") {
    hang_at_synchronize = true;
  } else if (parts[0] == "refused") {
    return std::atoi(parts.at(1).c_str());
  } else if (parts[0] == "copy") {
    at_copy = std::atoi(parts.at(1).c_str());
  } else {
    at_synchronize = std::atoi(fault.c_str());
  }
  return 0;
}
API int hipModuleLaunchKernel(Function *function, unsigned, unsigned y, unsigned, unsigned, unsigned, unsigned,
                              unsigned, Stream *stream, void **params, void **) {
  return launch(*function, params, y, stream);
}
API int hipLaunchKernel(const void *host, Dim3 grid, Dim3 block, void **params, std::size_t, Stream *stream) {
  constexpr int invalid_configuration = 9, invalid_function = 98;
  const auto found = registered.find(host);
  const int result = found == registered.end() ? invalid_function
                     : block.x > 1024          ? invalid_configuration
                                               : launch(found->second, params, grid.y, stream);
  if (result) last_error = result;
  return result;
}
API void **__hipRegisterFatBinary(const void *) {
  static void *one;
  return &one;
}
API void __hipUnregisterFatBinary(void **) {}
API void __hipRegisterFunction(void **, const void *host, const char *, const char *name, unsigned, void *, void *,
                               void *, void *, int *) {
  registered[host] = {name, nullptr};
}
API int __hipPushCallConfiguration(Dim3 grid, Dim3 block, std::size_t shared, Stream *stream) {
  configurations.push_back({grid, block, shared, stream});
  return 0;
}
API int __hipPopCallConfiguration(Dim3 *grid, Dim3 *block, std::size_t *shared, Stream **stream) {
  const Configuration top = configurations.back();
  configurations.pop_back();
  *grid = top.grid;
  *block = top.block;
  *shared = top.shared;
  *stream = top.stream;
  return 0;
}
API int hipStreamCreateWithFlags(Stream **stream, unsigned) {
  *stream = stand_in::streams().make();
  return begin();
}
API int hipStreamSynchronize(Stream *stream) {
  if (stream) stream->wait();
  return begin();
}
API int hipLaunchHostFunc(Stream *stream, void (*function)(void *), void *data) {
  const std::string how = stand_in::host_functions();
  if (std::atoi(how.c_str())) return last_error = std::atoi(how.c_str());
  if (how != "uncalled") stream->put_function(function, data);
  return begin();
}
API int hipEventCreateWithFlags(Event **event, unsigned) {
  *event = new Event;  // lives as long as the process
  return begin();
}
API int hipEventRecord(Event *event, Stream *stream) {
  event->reached = false;
  if (stand_in::host_functions() != "uncalled") stand_in::put(stream, [event] { event->reached = true; });
  return begin();
}
API int hipEventQuery(Event *event) {
  const int result = begin();
  return result || event->reached ? result : last_error = not_ready;
}
API int hipMemsetAsync(void *to, int value, std::size_t bytes, Stream *stream) {
  const int result = begin();
  if (!result) stand_in::put(stream, [=] { std::memset(to, value, bytes); });
  return result;
}
API int hipMemset(void *to, int value, std::size_t bytes) { return hipMemsetAsync(to, value, bytes, nullptr); }
API int hipDeviceGetAttribute(int *value, int, int) {
  *value = 64;
  return begin();
}
API int hipDeviceSynchronize() {
  stand_in::streams().wait();
  if (hang_at_synchronize) hang();
  if (at_synchronize && !sticky) {
    sticky = at_synchronize;
    if (sticky == 700) {
      say_memory_fault();
    } else {
      say(":0:rocdevice.cpp            :3586: 1945659664 us:  Callback: Queue 0x77791ea00000 aborting with error : "
          "HSA_STATUS_ERROR_EXCEPTION: An HSAIL operation resulted in a hardware exception. code: 0x1016\n");
    }
    dump_core();
  }
  return begin();
}
API int hipGetLastError() {
  const int result = sticky ? sticky : last_error;
  last_error = 0;
  return result;
}

#endif
