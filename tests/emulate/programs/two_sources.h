// What two_sources.hip and other_source.hip share: a template of kernels, which both instantiate.
#pragma once
#include <hip/hip_runtime.h>

#include <cstdio>

#define CHECK(call)                                           \
  if (const hipError_t error = (call); error != hipSuccess) { \
    std::printf("%s: %s\n", #call, hipGetErrorName(error));   \
    return 1;                                                 \
  }

template <class T>
__global__ void fill(T *x, T value) {
  x[threadIdx.x] = value;
}

int launch_in_other_source(int *on_device);
