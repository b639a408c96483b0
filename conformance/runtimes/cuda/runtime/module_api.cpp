// Modules, launches, and function attributes.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "functions.h"
#include "hipcuda.h"
#include "session.h"

using namespace cuda;
using simt::fail;
using simt::FileNotFound;
using simt::InvalidConfiguration;
using simt::InvalidHandle;
using simt::InvalidValue;
using simt::NotFound;
using simt::NotSupported;
using simt::Success;

namespace {

struct Dim3 {
  unsigned x, y, z;
};

// CUfunction_attribute; hipFunction_attribute has the same numbers.
enum { max_threads = 0, shared_bytes = 1, registers = 4, max_dynamic_shared = 8 };
constexpr unsigned default_dynamic_limit = 48 * 1024;  // less the kernel's static shared memory

Error check_module(const char *call, const void *module) {
  return functions().has_module(module) ? Success : fail(InvalidHandle, "%s: %p is not a loaded module", call, module);
}
Error find_function(const char *call, const void *handle, Function &function) {
  return functions().find(handle, function)
             ? Success
             : fail(InvalidHandle, "%s: %p is not a function of a loaded module", call, handle);
}

int function_attribute(const Driver &cu, int number, void *handle) {
  int value = 0;
  return cu.cuFuncGetAttribute(&value, number, handle) == 0 ? value : 0;
}

// What an image is that does not load, for a message: AMD's code objects are ELF files too.
std::string kind_of(const void *image) {
  const auto *bytes = static_cast<const unsigned char *>(image);
  if (std::memcmp(bytes, "\177ELF", 4) != 0) return "";
  const int machine = bytes[18] | bytes[19] << 8;
  constexpr int amd = 224, nvidia = 190;
  return machine == amd      ? " (the image is a code object for an AMD GPU)"
         : machine == nvidia ? ""
                             : " (the image is an ELF file for machine " + std::to_string(machine) + ", not for a GPU)";
}

int load(const char *call, void **module, const void *image) {
  if (!module || !image) return fail(InvalidValue, "%s: the image and the output pointer must not be null", call);
  return in_context(call, [&](const Driver &cu) -> int {
    enum { info_log = 3, info_bytes = 4, error_log = 5, error_bytes = 6 };  // CUjit_option
    std::array<char, 8192> info{}, errors{};
    int options[] = {info_log, info_bytes, error_log, error_bytes};
    void *values[] = {info.data(), reinterpret_cast<void *>(info.size() - 1), errors.data(),
                      reinterpret_cast<void *>(errors.size() - 1)};
    const int result = cu.cuModuleLoadDataEx(module, image, std::size(options), options, values);
    if (result == 0) {
      functions().add_module(*module, device_of_thread());
      return Success;
    }
    const std::string log = errors.data();
    const std::string what = "the image does not load" + kind_of(image) + (log.empty() ? "" : ": " + log);
    return to_error(cu, call, result, what.c_str());
  });
}

// Dynamic shared memory beyond the default limit has to be requested, once per function.
Error raise_shared_limit(const Driver &cu, const char *call, void *handle, const Function &f, unsigned dynamic_bytes) {
  if (dynamic_bytes <= f.max_dynamic) return Success;
  const auto fixed = static_cast<unsigned>(function_attribute(cu, shared_bytes, handle));
  if (dynamic_bytes + fixed <= default_dynamic_limit) return Success;
  if (const int result = cu.cuFuncSetAttribute(handle, max_dynamic_shared, static_cast<int>(dynamic_bytes)))
    return fail(
        hip_code(result),
        "%s: kernel %s: %u bytes of dynamic shared memory with its %u static ones are more than the device has: %s",
        call, f.name, dynamic_bytes, fixed, error_text(cu, result).c_str());
  functions().set_max_dynamic(handle, dynamic_bytes);
  return Success;
}

// HIP's keys of `extra` as CUDA's. HIP: pointer 1, size 2, end 3. CUDA: end 0, pointer 1, size 2.
struct Extra {
  void *words[5] = {};
  void **given = nullptr;
};
Error translate(const char *call, const char *kernel, void **extra, Extra &out) {
  if (!extra) return Success;
  void *pointer = nullptr, *size = nullptr;
  for (void **e = extra; reinterpret_cast<std::uintptr_t>(*e) != 3; e += 2) {
    const auto key = reinterpret_cast<std::uintptr_t>(*e);
    if (key != 1 && key != 2) return fail(InvalidValue, "%s: kernel %s: unknown key %p in extra", call, kernel, *e);
    (key == 1 ? pointer : size) = e[1];
  }
  if (!pointer || !size)
    return fail(InvalidValue, "%s: kernel %s: extra must give both a buffer and its size", call, kernel);
  void *const words[] = {reinterpret_cast<void *>(1), pointer, reinterpret_cast<void *>(2), size, nullptr};
  std::copy(std::begin(words), std::end(words), out.words);
  out.given = out.words;
  return Success;
}

Error check_shape(const char *call, const Launch &launch) {
  for (int axis = 0; axis < 3; ++axis)
    if (launch.block[axis] == 0 || launch.grid[axis] == 0)
      return fail(InvalidConfiguration, "%s: kernel %s: no dimension may be 0", call, describe(launch).c_str());
  return Success;
}

// The error of a launch that the driver refused, with the likely reason.
Error refused(const Driver &cu, const char *call, void *handle, const Launch &launch, int result) {
  constexpr int threads_of_device = 1;  // CUdevice_attribute
  const int most = attribute(cu, threads_of_device, device_of_thread());
  const auto block = static_cast<unsigned long long>(launch.block[0]) * launch.block[1] * launch.block[2];
  if (result == InvalidValue && most > 0 && block > static_cast<unsigned>(most))
    return fail(InvalidConfiguration, "%s: kernel %s: at most %d threads in a block", call, describe(launch).c_str(),
                most);
  const std::string what = "kernel " + describe(launch) + " (" +
                           std::to_string(function_attribute(cu, registers, handle)) + " registers, at most " +
                           std::to_string(function_attribute(cu, max_threads, handle)) + " threads in a block)";
  return to_error(cu, call, result, what.c_str());
}

int launch(const char *call, void *handle, Dim3 grid, Dim3 block, unsigned dynamic_bytes, void *stream, void **params,
           void **extra, bool cooperative = false) {
  Function f;
  if (const Error error = find_function(call, handle, f)) return error;
  return in_context(call, [&](const Driver &cu) -> int {
    const Launch shape{f.name, {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, dynamic_bytes};
    Extra words;
    if (const Error error = check_shape(call, shape)) return error;
    if (const Error error = translate(call, f.name, extra, words)) return error;
    if (const Error error = raise_shared_limit(cu, call, handle, f, dynamic_bytes)) return error;
    const int result = cooperative ? cu.cuLaunchCooperativeKernel(handle, grid.x, grid.y, grid.z, block.x, block.y,
                                                                  block.z, dynamic_bytes, stream, params)
                                   : cu.cuLaunchKernel(handle, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                                       dynamic_bytes, stream, params, words.given);
    if (result == 0) {
      note_launch(shape);
      return Success;
    }
    return refused(cu, call, handle, shape, result);
  });
}

// As drive(), for a function of the driver about the kernel `handle`, which writes to `place`.
template <class DriverFunction, class... Arguments>
int about(const char *call, const void *handle, const void *place, DriverFunction Driver::*function,
          Arguments... arguments) {
  Function f;
  if (const Error error = find_function(call, handle, f)) return error;
  if (!place) return fail(InvalidValue, "%s: the output pointer is null", call);
  return in_context(call, [&](const Driver &cu) { return to_error(cu, call, (cu.*function)(arguments...), f.name); });
}

// The parameters' sizes as JSON, empty when the driver does not report them.
std::string sizes_of(const Driver &cu, void *function) {
  std::string text = "[";
  std::size_t offset = 0, bytes = 0;
  for (std::size_t i = 0; cu.cuFuncGetParamInfo(function, i, &offset, &bytes) == 0; ++i)
    text += (i ? ", " : "") + std::to_string(bytes);
  return text + "]";
}

}  // namespace

HIP_API int hipModuleLoadData(void **module, const void *image) { return load("hipModuleLoadData", module, image); }
HIP_API int hipModuleLoad(void **module, const char *path) {
  if (!path) return fail(InvalidValue, "hipModuleLoad: the path is null");
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(FileNotFound, "hipModuleLoad: %s cannot be opened", path);
  // PTX is text: it has to end in a zero.
  std::vector<char> image{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  image.resize(image.size() + 64);
  return load("hipModuleLoad", module, image.data());
}
HIP_API int hipModuleUnload(void *module) {
  if (const Error error = check_module("hipModuleUnload", module)) return error;
  return in_context("hipModuleUnload", [&](const Driver &cu) {
    functions().remove_module(module);
    return to_error(cu, "hipModuleUnload", cu.cuModuleUnload(module));
  });
}
HIP_API int hipModuleGetFunction(void **function, void *module, const char *name) {
  constexpr char call[] = "hipModuleGetFunction";
  if (const Error error = check_module(call, module)) return error;
  if (!function || !name) return fail(InvalidValue, "%s: name and output pointer must not be null", call);
  return in_context(call, [&](const Driver &cu) -> int {
    const int result = cu.cuModuleGetFunction(function, module, name);
    if (result == NotFound) return fail(NotFound, "%s: the module has no kernel '%s'", call, name);
    if (const Error error = to_error(cu, call, result, name)) return error;
    functions().add(*function, name, module, device_of_thread());
    return Success;
  });
}
HIP_API int hipModuleGetFunctionCount(unsigned *count, void *module) {
  constexpr char call[] = "hipModuleGetFunctionCount";
  if (const Error error = check_module(call, module)) return error;
  if (!count) return fail(InvalidValue, "%s: the output pointer for the number is null", call);
  return in_context(call, [&](const Driver &cu) -> int {
    if (cu.cuModuleGetFunctionCount == nullptr)
      return fail(NotSupported, "%s: the driver is for CUDA %s; 12.4 or newer is needed", call,
                  version_text(cu.version).c_str());
    return to_error(cu, call, cu.cuModuleGetFunctionCount(count, module));
  });
}
HIP_API int hipModuleGetGlobal(void **address, std::size_t *bytes, void *module, const char *name) {
  constexpr char call[] = "hipModuleGetGlobal";
  if (const Error error = check_module(call, module)) return error;
  if (!name) return fail(InvalidValue, "%s: the name is null", call);
  return in_context(call, [&](const Driver &cu) -> int {
    std::uint64_t place = 0;
    std::size_t size = 0;
    const int result = cu.cuModuleGetGlobal_v2(&place, &size, module, name);
    if (result == NotFound) return fail(NotFound, "%s: the module has no variable '%s'", call, name);
    if (const Error error = to_error(cu, call, result, name)) return error;
    if (address) *address = reinterpret_cast<void *>(place);
    if (bytes) *bytes = size;
    return Success;
  });
}

HIP_API int hipModuleLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                  unsigned bz, unsigned dynamic_bytes, void *stream, void **params, void **extra) {
  return launch("hipModuleLaunchKernel", function, {gx, gy, gz}, {bx, by, bz}, dynamic_bytes, stream, params, extra);
}
HIP_API int hipLaunchKernel(void *function, Dim3 grid, Dim3 block, void **params, std::size_t dynamic_bytes,
                            void *stream) {
  return launch("hipLaunchKernel", function, grid, block,
                static_cast<unsigned>(dynamic_bytes < ~0u ? dynamic_bytes : ~0u), stream, params, nullptr);
}
HIP_API int hipModuleLaunchCooperativeKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                             unsigned by, unsigned bz, unsigned dynamic_bytes, void *stream,
                                             void **params) {
  return launch("hipModuleLaunchCooperativeKernel", function, {gx, gy, gz}, {bx, by, bz}, dynamic_bytes, stream, params,
                nullptr, true);
}

HIP_API int hipFuncGetAttribute(int *value, int number, void *function) {
  return about("hipFuncGetAttribute", function, value, &Driver::cuFuncGetAttribute, value, number, function);
}
HIP_API int hipFuncSetAttribute(void *function, int number, int value) {
  const int error =
      about("hipFuncSetAttribute", function, function, &Driver::cuFuncSetAttribute, function, number, value);
  if (!error && number == max_dynamic_shared) functions().set_max_dynamic(function, static_cast<unsigned>(value));
  return error;
}
HIP_API int hipFuncSetCacheConfig(void *function, int preference) {
  return about("hipFuncSetCacheConfig", function, function, &Driver::cuFuncSetCacheConfig, function, preference);
}
HIP_API int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads,
                                                               std::size_t dynamic_bytes) {
  return about("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", function, blocks,
               &Driver::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, blocks, function, threads, dynamic_bytes,
               0);
}
HIP_API int hipModuleOccupancyMaxPotentialBlockSize(int *grid, int *block, void *function, std::size_t dynamic_bytes,
                                                    int limit) {
  return about("hipModuleOccupancyMaxPotentialBlockSize", function, block ? grid : nullptr,
               &Driver::cuOccupancyMaxPotentialBlockSize, grid, block, function, nullptr, dynamic_bytes, limit);
}

HIP_API const char *hipcudaModuleKernels(void *module) {
  static thread_local std::string *text = new std::string;
  constexpr char call[] = "hipcudaModuleKernels";
  if (check_module(call, module)) return nullptr;
  const int error = in_context(call, [&](const Driver &cu) -> int {
    if (!cu.cuFuncGetName || !cu.cuFuncGetParamInfo || !cu.cuModuleGetFunctionCount || !cu.cuModuleEnumerateFunctions)
      return fail(NotSupported, "%s: the driver is for CUDA %s; 12.4 or newer is needed", call,
                  version_text(cu.version).c_str());
    unsigned count = 0;
    if (const Error failed = to_error(cu, call, cu.cuModuleGetFunctionCount(&count, module))) return failed;
    std::vector<void *> handles(count);
    if (const Error failed = to_error(cu, call, cu.cuModuleEnumerateFunctions(handles.data(), count, module)))
      return failed;
    *text = "[";
    for (void *handle : handles) {
      const char *name = nullptr;
      if (const Error failed = to_error(cu, call, cu.cuFuncGetName(&name, handle))) return failed;
      if (text->size() > 1) *text += ", ";
      *text += std::string("{\"name\": \"") + name + "\", \"params\": " + sizes_of(cu, handle) + "}";
    }
    *text += "]";
    return Success;
  });
  return error ? nullptr : text->c_str();
}
