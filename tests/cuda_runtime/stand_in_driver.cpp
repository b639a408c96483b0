// A libcuda.so.1 that runs nothing: every call is written down with its arguments, results follow a script.
//
// Device memory is host memory, written down as mem0, mem1+256. A module's image is text, a line per kernel with the
// sizes of its parameters, and a line per variable with its size:
//   kernel add_one 8 8
//   variable table 64
// Launching add_one(n, p) adds one to n ints at p; all other kernels do nothing. STAND_IN_FAULT names a kernel whose
// launch poisons the context as an illegal address does.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "stand_in.h"
#include "stand_in_streams.h"

namespace {

struct Kernel {
  std::string name;
  std::vector<std::size_t> sizes;
  int dynamic_bytes = 0;
};
struct Module {
  std::vector<Kernel *> kernels;
  std::map<std::string, std::size_t> variables;
};
struct Scripted {
  int result, after;  // the first `after` calls are let through
};

std::map<std::string, Scripted> script;
std::map<std::string, int> numbers = {{"version", 12080}, {"devices", 2}};
std::map<std::uint64_t, std::size_t> blocks;  // device memory, by address
std::vector<std::uint64_t> block_order;
std::map<const void *, Module> modules;
std::uintptr_t next_handle = 0x1000;
int poison = 0;
int current_device = -1;
bool waiting_fault = false;

struct Host {
  const void *p;
};
struct Device {
  std::uint64_t p;
};
struct Handle {
  const void *p;
};

void put(std::ostream &out, const Host &x) { out << (x.p ? "host" : "null"); }
void put(std::ostream &out, const Handle &x) { out << "#" << reinterpret_cast<std::uintptr_t>(x.p); }
void put(std::ostream &out, const Device &x) {
  for (std::size_t i = 0; i < block_order.size(); ++i) {
    const std::uint64_t start = block_order[i];
    if (x.p < start || x.p >= start + blocks[start]) continue;
    out << "mem" << i;
    if (x.p > start) out << "+" << x.p - start;
    return;
  }
  out << "?";
}
template <class T>
void put(std::ostream &out, const T &x) {
  out << x;
}

// Writes a call down; what the script wants it to return.
template <class... Arguments>
int said(const char *name, const Arguments &...arguments) {
  std::ostringstream line;
  line << name;
  ((line << ' ', put(line, arguments)), ...);
  calls += line.str() + "\n";
  if (poison) return poison;
  const auto it = script.find(name);
  if (it == script.end()) return 0;
  if (it->second.after > 0) return --it->second.after, 0;
  return it->second.result;
}

void *new_handle() { return reinterpret_cast<void *>(next_handle++); }

int allocate(std::uint64_t *p, std::size_t bytes) {
  *p = reinterpret_cast<std::uintptr_t>(std::calloc(1, bytes));
  blocks[*p] = bytes;
  block_order.push_back(*p);
  return 0;
}

std::string hex(const void *p, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", static_cast<const unsigned char *>(p)[i]);
    text += two;
  }
  return text;
}

void run(const Kernel &kernel, void **params) {
  const char *fault = std::getenv("STAND_IN_FAULT");
  if (fault && kernel.name == fault) waiting_fault = true;
  if (kernel.name != "add_one" || !params) return;
  const auto n = *static_cast<std::uint64_t *>(params[0]);
  auto *p = *static_cast<int **>(params[1]);
  for (std::uint64_t i = 0; i < n; ++i) ++p[i];
}

const std::map<int, std::pair<const char *, const char *>> errors = {
    {1, {"CUDA_ERROR_INVALID_VALUE", "invalid argument"}},
    {2, {"CUDA_ERROR_OUT_OF_MEMORY", "out of memory"}},
    {100, {"CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"}},
    {200, {"CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"}},
    {218, {"CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"}},
    {500, {"CUDA_ERROR_NOT_FOUND", "named symbol not found"}},
    {700, {"CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"}},
    {701, {"CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"}},
    {715, {"CUDA_ERROR_ILLEGAL_INSTRUCTION", "an illegal instruction was encountered"}},
};

}  // namespace

// ---- for the test

API void stand_in_script(const char *name, int result, int after) { script[name] = Scripted{result, after}; }
API void stand_in_number(const char *name, int value) { numbers[name] = value; }
API void stand_in_fault() { waiting_fault = true; }

// ---- the driver

API int cuInit(unsigned flags) { return said("cuInit", flags); }
API int cuDriverGetVersion(int *version) {
  *version = numbers["version"];
  return 0;
}
API int cuGetErrorName(int error, const char **text) {
  const auto it = errors.find(error);
  *text = it == errors.end() ? nullptr : it->second.first;
  return it == errors.end();
}
API int cuGetErrorString(int error, const char **text) {
  const auto it = errors.find(error);
  *text = it == errors.end() ? nullptr : it->second.second;
  return it == errors.end();
}
API int cuDeviceGet(int *device, int ordinal) {
  *device = ordinal;
  return said("cuDeviceGet", ordinal);
}
API int cuDeviceGetCount(int *count) {
  *count = numbers["devices"];
  return poison;  // asked often: not written down
}
API int cuDeviceGetName(char *name, int bytes, int device) {
  std::snprintf(name, static_cast<std::size_t>(bytes), "Stand-in %d", device);
  return said("cuDeviceGetName", bytes, device);
}
API int cuDeviceGetUuid_v2(char *uuid, int) {
  std::memcpy(uuid, "0123456789abcdef", 16);
  return poison;
}
// Attribute n is 1000 + n, but for those that code depends on.
API int cuDeviceGetAttribute(int *value, int attribute, int) {
  const std::map<int, int> known = {{1, 1024}, {8, 49152}, {10, 32}, {75, 9}, {76, 0}};
  const auto it = known.find(attribute);
  *value = it == known.end() ? 1000 + attribute : it->second;
  return poison;
}
API int cuDeviceTotalMem_v2(std::size_t *bytes, int device) {
  *bytes = std::size_t(80) << 30;
  return said("cuDeviceTotalMem_v2", device);
}
API int cuDevicePrimaryCtxRetain(void **context, int device) {
  *context = reinterpret_cast<void *>(static_cast<std::uintptr_t>(0xc0 + device));
  return said("cuDevicePrimaryCtxRetain", device);
}
API int cuDevicePrimaryCtxReset_v2(int device) {
  poison = 0;
  waiting_fault = false;
  return said("cuDevicePrimaryCtxReset_v2", device);
}
API int cuCtxSetCurrent(void *context) {
  current_device = static_cast<int>(reinterpret_cast<std::uintptr_t>(context)) - 0xc0;
  return said("cuCtxSetCurrent", Handle{context});
}
API int cuCtxGetDevice(int *device) {
  *device = current_device;
  return current_device < 0 ? 201 : 0;
}
API int cuCtxSynchronize() {
  streams().wait_for_all();
  if (waiting_fault) poison = 700;
  return said("cuCtxSynchronize");
}
API int cuMemGetInfo_v2(std::size_t *available, std::size_t *total) {
  *available = 1000;
  *total = 2000;
  return said("cuMemGetInfo_v2");
}
API int cuMemAlloc_v2(std::uint64_t *p, std::size_t bytes) {
  const int result = said("cuMemAlloc_v2", bytes);
  return result ? result : allocate(p, bytes);
}
API int cuMemAllocAsync(std::uint64_t *p, std::size_t bytes, void *stream) {
  const int result = said("cuMemAllocAsync", bytes, Handle{stream});
  return result ? result : allocate(p, bytes);
}
API int cuMemAllocManaged(std::uint64_t *p, std::size_t bytes, unsigned flags) {
  const int result = said("cuMemAllocManaged", bytes, flags);
  return result ? result : allocate(p, bytes);
}
API int cuMemHostAlloc(void **p, std::size_t bytes, unsigned flags) {
  *p = std::calloc(1, bytes);
  return said("cuMemHostAlloc", bytes, flags);
}
API int cuMemHostGetDevicePointer_v2(std::uint64_t *p, void *host, unsigned flags) {
  *p = reinterpret_cast<std::uintptr_t>(host);
  return said("cuMemHostGetDevicePointer_v2", Host{host}, flags);
}
API int cuMemFree_v2(std::uint64_t p) { return said("cuMemFree_v2", Device{p}); }
API int cuMemFreeAsync(std::uint64_t p, void *stream) { return said("cuMemFreeAsync", Device{p}, Handle{stream}); }
API int cuMemFreeHost(void *p) { return said("cuMemFreeHost", Host{p}); }
API int cuMemGetAddressRange_v2(std::uint64_t *base, std::size_t *bytes, std::uint64_t p) {
  const auto it = std::prev(blocks.upper_bound(p));
  *base = it->first;
  *bytes = it->second;
  return said("cuMemGetAddressRange_v2", Device{p});
}
API int cuPointerGetAttribute(void *value, int attribute, std::uint64_t p) {
  if (attribute == 2) *static_cast<unsigned *>(value) = 2;  // memory type: device
  if (attribute == 3) *static_cast<std::uint64_t *>(value) = p;
  if (attribute == 8) *static_cast<unsigned *>(value) = 0;
  if (attribute == 9) *static_cast<int *>(value) = 1;
  return said("cuPointerGetAttribute", attribute, Device{p});
}

namespace {
int copied(int result, void *to, const void *from, std::size_t bytes) {
  streams().wait(nullptr);
  if (result == 0) std::memmove(to, from, bytes);
  return result;
}
void *at(std::uint64_t p) { return reinterpret_cast<void *>(p); }
}  // namespace

API int cuMemcpy(std::uint64_t to, std::uint64_t from, std::size_t bytes) {
  return copied(said("cuMemcpy", Device{to}, Device{from}, bytes), at(to), at(from), bytes);
}
API int cuMemcpyHtoD_v2(std::uint64_t to, const void *from, std::size_t bytes) {
  return copied(said("cuMemcpyHtoD_v2", Device{to}, Host{from}, bytes), at(to), from, bytes);
}
API int cuMemcpyDtoH_v2(void *to, std::uint64_t from, std::size_t bytes) {
  return copied(said("cuMemcpyDtoH_v2", Host{to}, Device{from}, bytes), to, at(from), bytes);
}
API int cuMemcpyDtoD_v2(std::uint64_t to, std::uint64_t from, std::size_t bytes) {
  return copied(said("cuMemcpyDtoD_v2", Device{to}, Device{from}, bytes), at(to), at(from), bytes);
}
API int cuMemcpyAsync(std::uint64_t to, std::uint64_t from, std::size_t bytes, void *s) {
  return copied(said("cuMemcpyAsync", Device{to}, Device{from}, bytes, Handle{s}), at(to), at(from), bytes);
}
API int cuMemcpyHtoDAsync_v2(std::uint64_t to, const void *from, std::size_t bytes, void *s) {
  return copied(said("cuMemcpyHtoDAsync_v2", Device{to}, Host{from}, bytes, Handle{s}), at(to), from, bytes);
}
API int cuMemcpyDtoHAsync_v2(void *to, std::uint64_t from, std::size_t bytes, void *s) {
  return copied(said("cuMemcpyDtoHAsync_v2", Host{to}, Device{from}, bytes, Handle{s}), to, at(from), bytes);
}
API int cuMemcpyDtoDAsync_v2(std::uint64_t to, std::uint64_t from, std::size_t bytes, void *s) {
  return copied(said("cuMemcpyDtoDAsync_v2", Device{to}, Device{from}, bytes, Handle{s}), at(to), at(from), bytes);
}

namespace {
struct Rows {  // CUDA_MEMCPY2D, read by its offsets so that a wrong struct shows
  const unsigned char *p;
  template <class T>
  T get(std::size_t offset) const {
    T value;
    std::memcpy(&value, p + offset, sizeof value);
    return value;
  }
};
int rows(const char *name, const void *copy, const void *stream) {
  const Rows r{static_cast<const unsigned char *>(copy)};
  return said(name, r.get<int>(16), Host{r.get<void *>(24)}, Device{r.get<std::uint64_t>(32)}, r.get<std::size_t>(48),
              r.get<int>(72), Host{r.get<void *>(80)}, Device{r.get<std::uint64_t>(88)}, r.get<std::size_t>(104),
              r.get<std::size_t>(112), r.get<std::size_t>(120), Handle{stream});
}
}  // namespace
API int cuMemcpy2DUnaligned_v2(const void *copy) { return rows("cuMemcpy2DUnaligned_v2", copy, nullptr); }
API int cuMemcpy2DAsync_v2(const void *copy, void *stream) { return rows("cuMemcpy2DAsync_v2", copy, stream); }

API int cuMemsetD8_v2(std::uint64_t to, unsigned char v, std::size_t n) {
  return said("cuMemsetD8_v2", Device{to}, int(v), n);
}
API int cuMemsetD16_v2(std::uint64_t to, unsigned short v, std::size_t n) {
  return said("cuMemsetD16_v2", Device{to}, v, n);
}
API int cuMemsetD32_v2(std::uint64_t to, unsigned v, std::size_t n) { return said("cuMemsetD32_v2", Device{to}, v, n); }
API int cuMemsetD8Async(std::uint64_t to, unsigned char v, std::size_t n, void *s) {
  return said("cuMemsetD8Async", Device{to}, int(v), n, Handle{s});
}
API int cuMemsetD16Async(std::uint64_t to, unsigned short v, std::size_t n, void *s) {
  return said("cuMemsetD16Async", Device{to}, v, n, Handle{s});
}
API int cuMemsetD32Async(std::uint64_t to, unsigned v, std::size_t n, void *s) {
  return said("cuMemsetD32Async", Device{to}, v, n, Handle{s});
}

API int cuStreamCreate(void **stream, unsigned flags) {
  *stream = new_handle();
  return said("cuStreamCreate", flags);
}
API int cuStreamCreateWithPriority(void **stream, unsigned flags, int priority) {
  *stream = new_handle();
  return said("cuStreamCreateWithPriority", flags, priority);
}
API int cuStreamDestroy_v2(void *s) { return said("cuStreamDestroy_v2", Handle{s}); }
API int cuStreamSynchronize(void *s) {
  streams().wait(s);
  return said("cuStreamSynchronize", Handle{s});
}
API int cuLaunchHostFunc(void *s, void (*function)(void *), void *data) {
  streams().put(s, [=] { function(data); });
  return said("cuLaunchHostFunc", Handle{s});
}
API int cuStreamQuery(void *s) { return said("cuStreamQuery", Handle{s}); }
API int cuStreamWaitEvent(void *s, void *e, unsigned flags) {
  return said("cuStreamWaitEvent", Handle{s}, Handle{e}, flags);
}
API int cuStreamGetFlags(void *s, unsigned *flags) {
  *flags = 1;
  return said("cuStreamGetFlags", Handle{s});
}
API int cuStreamGetPriority(void *s, int *priority) {
  *priority = -3;
  return said("cuStreamGetPriority", Handle{s});
}
API int cuEventCreate(void **event, unsigned flags) {
  *event = new_handle();
  return said("cuEventCreate", flags);
}
API int cuEventDestroy_v2(void *e) { return said("cuEventDestroy_v2", Handle{e}); }
API int cuEventRecord(void *e, void *s) { return said("cuEventRecord", Handle{e}, Handle{s}); }
API int cuEventSynchronize(void *e) { return said("cuEventSynchronize", Handle{e}); }
API int cuEventQuery(void *e) { return said("cuEventQuery", Handle{e}); }
API int cuEventElapsedTime(float *milliseconds, void *from, void *to) {
  *milliseconds = 1.5f;
  return said("cuEventElapsedTime", Handle{from}, Handle{to});
}

API int cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options, void **values) {
  std::string text = "options";
  for (unsigned i = 0; i < count; ++i) text += " " + std::to_string(options[i]);
  const int result = said("cuModuleLoadDataEx", text);
  if (result) {
    for (unsigned i = 0; i < count; ++i)
      if (options[i] == 5) std::strcpy(static_cast<char *>(values[i]), "ptxas fatal: line 3");
    return result;
  }
  *module = new_handle();
  std::istringstream lines(static_cast<const char *>(image));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string kind, name;
    words >> kind >> name;
    std::vector<std::size_t> sizes;
    for (std::size_t size; words >> size;) sizes.push_back(size);
    if (kind == "kernel") modules[*module].kernels.push_back(new Kernel{name, sizes});
    if (kind == "variable") modules[*module].variables[name] = sizes.at(0);
  }
  return 0;
}
API int cuModuleUnload(void *module) { return said("cuModuleUnload", Handle{module}); }
API int cuModuleGetFunction(void **function, void *module, const char *name) {
  if (const int result = said("cuModuleGetFunction", Handle{module}, name)) return result;
  for (Kernel *kernel : modules[module].kernels)
    if (kernel->name == name) return *function = kernel, 0;
  return 500;
}
API int cuModuleGetGlobal_v2(std::uint64_t *address, std::size_t *bytes, void *module, const char *name) {
  if (const int result = said("cuModuleGetGlobal_v2", Handle{module}, name)) return result;
  const auto it = modules[module].variables.find(name);
  if (it == modules[module].variables.end()) return 500;
  *bytes = it->second;
  return allocate(address, it->second);
}
API int cuFuncGetAttribute(int *value, int attribute, void *function) {
  const std::map<int, int> known = {{0, 640}, {1, 1024}, {4, 96}, {8, static_cast<Kernel *>(function)->dynamic_bytes}};
  const auto it = known.find(attribute);
  *value = it == known.end() ? 7 : it->second;
  return said("cuFuncGetAttribute", attribute, static_cast<Kernel *>(function)->name);
}
API int cuFuncSetAttribute(void *function, int attribute, int value) {
  const int result = said("cuFuncSetAttribute", static_cast<Kernel *>(function)->name, attribute, value);
  if (result == 0 && attribute == 8) static_cast<Kernel *>(function)->dynamic_bytes = value;
  return result;
}
API int cuFuncSetCacheConfig(void *function, int preference) {
  return said("cuFuncSetCacheConfig", static_cast<Kernel *>(function)->name, preference);
}

namespace {
template <class... Shape>
int launch(const char *call, unsigned threads, const Kernel &kernel, void *stream, void **params, void **extra,
           Shape... shape) {
  std::string arguments;
  for (std::size_t i = 0; params && i < kernel.sizes.size(); ++i) arguments += " " + hex(params[i], kernel.sizes[i]);
  for (void **e = extra; e && *e; e += 2) {
    const auto key = reinterpret_cast<std::uintptr_t>(*e);
    arguments += key == 2 ? " size " + std::to_string(*static_cast<std::size_t *>(e[1])) : " buffer " + hex(e[1], 4);
  }
  const int result = said(call, kernel.name, shape..., Handle{stream}, "arguments" + arguments);
  if (result == 0 && threads > 1024) return 1;
  if (result == 0) run(kernel, params);
  return result;
}
}  // namespace
API int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                       unsigned bytes, void *stream, void **params, void **extra) {
  return launch("cuLaunchKernel", bx * by * bz, *static_cast<Kernel *>(function), stream, params, extra, gx, gy, gz, bx,
                by, bz, bytes);
}
API int cuLaunchCooperativeKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                  unsigned bz, unsigned bytes, void *stream, void **params) {
  return launch("cuLaunchCooperativeKernel", bx * by * bz, *static_cast<Kernel *>(function), stream, params, nullptr,
                gx, gy, gz, bx, by, bz, bytes);
}
API int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks_of, void *function, int threads,
                                                             std::size_t bytes, unsigned flags) {
  *blocks_of = 3;
  return said("cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", static_cast<Kernel *>(function)->name, threads,
              bytes, flags);
}
API int cuOccupancyMaxPotentialBlockSize(int *grid, int *block, void *function, void *, std::size_t bytes, int limit) {
  *grid = 264;
  *block = 512;
  return said("cuOccupancyMaxPotentialBlockSize", static_cast<Kernel *>(function)->name, bytes, limit);
}
#ifndef WITHOUT_LATER_CALLS
API int cuFuncGetName(const char **name, void *function) {
  *name = static_cast<Kernel *>(function)->name.c_str();
  return 0;
}
API int cuFuncGetParamInfo(void *function, std::size_t index, std::size_t *, std::size_t *bytes) {
  const Kernel &kernel = *static_cast<Kernel *>(function);
  if (index >= kernel.sizes.size()) return 1;
  *bytes = kernel.sizes[index];
  return 0;
}
API int cuModuleGetFunctionCount(unsigned *count, void *module) {
  *count = static_cast<unsigned>(modules[module].kernels.size());
  return said("cuModuleGetFunctionCount", Handle{module});
}
API int cuModuleEnumerateFunctions(void **functions, unsigned count, void *module) {
  for (unsigned i = 0; i < count; ++i) functions[i] = modules[module].kernels[i];
  return said("cuModuleEnumerateFunctions", count, Handle{module});
}
#endif
