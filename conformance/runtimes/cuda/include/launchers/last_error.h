// Compiled into each library of launchers: its CUDA runtime may be its own, and nobody else can ask that for its error.
#pragma once

#include <cuda_runtime_api.h>

// Takes the calling thread's last error, 0 for none, with its name and CUDA's words for it.
extern "C" __attribute__((visibility("default"))) inline __attribute__((used)) int candle_parity_take_error(
    const char **name, const char **text) {
  const cudaError_t error = cudaGetLastError();
  *name = cudaGetErrorName(error);
  *text = cudaGetErrorString(error);
  return static_cast<int>(error);
}
