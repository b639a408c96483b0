// CUDA's runtime as the tests need it, for host code alone: its calls are those of the stand-in driver.
#pragma once

#include <dlfcn.h>
#include <stdlib.h>

enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorInsufficientDriver = 35 };
using cudaStream_t = void *;

namespace stand_in {

template <class Function>
Function driver(const char *name) {
  void *library = dlopen(getenv("CANDLE_PARITY_LIBCUDA"), RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<Function>(dlsym(library, name));
}

inline cudaError_t &last_error() {
  static cudaError_t error = getenv("STAND_IN_OLD_DRIVER") ? cudaErrorInsufficientDriver : cudaSuccess;
  return error;
}

inline cudaError_t noted(int result) {
  if (result) last_error() = static_cast<cudaError_t>(result);
  return static_cast<cudaError_t>(result);
}

}  // namespace stand_in

inline cudaError_t cudaGetLastError() {
  const cudaError_t error = stand_in::last_error();
  stand_in::last_error() = cudaSuccess;
  return error;
}
inline const char *cudaGetErrorName(cudaError_t error) {
  return error == cudaErrorInvalidValue         ? "cudaErrorInvalidValue"
         : error == cudaErrorInsufficientDriver ? "cudaErrorInsufficientDriver"
                                                : "cudaSuccess";
}
inline const char *cudaGetErrorString(cudaError_t error) { return error ? "what CUDA says of it" : "no error"; }
inline cudaError_t cudaLaunchHostFunc(cudaStream_t stream, void (*function)(void *), void *data) {
  using Call = int (*)(void *, void (*)(void *), void *);
  return stand_in::noted(stand_in::driver<Call>("cuLaunchHostFunc")(stream, function, data));
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return stand_in::noted(stand_in::driver<int (*)(void *)>("cuStreamSynchronize")(stream));
}
inline cudaError_t cudaFree(void *) { return stand_in::noted(cudaErrorInvalidValue); }  // nothing else is freed here
