// Functions of HIP that the runtimes have and that the rest is made of.
#pragma once

#include "api.h"

namespace simt {

// Does `work` of a call on `stream`, or keeps it for the graph that the stream is captured into.
template <class Work>
int on_stream(const char *call, const void *stream, Keeper::Work kind, Work work) {
  if (const Error error = check_stream(call, stream)) return error;
  return is_captured(stream) ? keeper->keep(stream, kind, std::move(work)) : work();
}

}  // namespace simt

SIMT_API int hipSetDevice(int device);
SIMT_API int hipGetDevicePropertiesR0600(void *out, int device);
SIMT_API int hipDeviceSynchronize();
SIMT_API int hipDeviceReset();

SIMT_API int hipMalloc(void **p, std::size_t bytes);
SIMT_API int hipMallocAsync(void **p, std::size_t bytes, void *stream);
SIMT_API int hipHostMalloc(void **p, std::size_t bytes, unsigned flags);
SIMT_API int hipMemcpy2D(void *to, std::size_t to_pitch, const void *from, std::size_t from_pitch, std::size_t width,
                         std::size_t height, int kind);
SIMT_API int hipMemcpy2DAsync(void *to, std::size_t to_pitch, const void *from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, int kind, void *stream);
SIMT_API int hipMemset(void *to, int value, std::size_t bytes);
SIMT_API int hipMemsetAsync(void *to, int value, std::size_t bytes, void *stream);
SIMT_API int hipMemsetD8(void *to, unsigned char value, std::size_t count);
SIMT_API int hipMemsetD16(void *to, unsigned short value, std::size_t count);
SIMT_API int hipMemsetD32(void *to, int value, std::size_t count);

SIMT_API int hipStreamCreateWithFlags(void **stream, unsigned flags);
SIMT_API int hipStreamGetDevice(void *stream, int *device);
SIMT_API int hipEventRecord(void *event, void *stream);

SIMT_API int hipModuleLoad(void **module, const char *path);
SIMT_API int hipModuleLoadData(void **module, const void *image);
SIMT_API int hipModuleUnload(void *module);
SIMT_API int hipModuleGetFunction(const void **function, void *module, const char *name);
SIMT_API int hipModuleGetGlobal(void **address, std::size_t *bytes, void *module, const char *name);
SIMT_API int hipModuleLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                                   unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **params,
                                   void **extra);
SIMT_API const char *hipKernelNameRef(const void *function);
