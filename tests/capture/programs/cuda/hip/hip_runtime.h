// What network.cpp calls of HIP and hipBLAS, by the CUDA driver and cuBLAS: with this folder as an include folder the
// program is one for NVIDIA GPUs.
#pragma once

#include <cublas_v2.h>
#include <cuda.h>

#include <cstddef>

using hipError_t = CUresult;
using hipModule_t = CUmodule;
using hipFunction_t = CUfunction;
enum hipMemcpyKind { hipMemcpyHostToDevice = 1, hipMemcpyDeviceToHost = 2 };
inline constexpr CUresult hipSuccess = CUDA_SUCCESS, hipErrorUnknown = CUDA_ERROR_UNKNOWN;

// The first device's context, which HIP makes by itself.
inline const CUresult context = [] {
  CUcontext made = nullptr;
  CUresult error = cuInit(0);
  if (!error) error = cuDevicePrimaryCtxRetain(&made, 0);
  return error ? error : cuCtxSetCurrent(made);
}();

inline CUdeviceptr on_device(const void *address) { return reinterpret_cast<CUdeviceptr>(address); }
inline hipError_t hipMalloc(void **address, std::size_t bytes) {
  CUdeviceptr found = 0;
  const CUresult error = context ? context : cuMemAlloc(&found, bytes);
  *address = reinterpret_cast<void *>(found);
  return error;
}
inline hipError_t hipFree(void *address) { return cuMemFree(on_device(address)); }
inline hipError_t hipMemcpy(void *to, const void *from, std::size_t bytes, hipMemcpyKind kind) {
  return kind == hipMemcpyHostToDevice ? cuMemcpyHtoD(on_device(to), from, bytes)
                                       : cuMemcpyDtoH(to, on_device(from), bytes);
}
inline hipError_t hipModuleLoad(hipModule_t *module, const char *path) {
  return context ? context : cuModuleLoad(module, path);
}
inline hipError_t hipModuleUnload(hipModule_t module) { return cuModuleUnload(module); }
inline hipError_t hipModuleGetFunction(hipFunction_t *function, hipModule_t module, const char *name) {
  return cuModuleGetFunction(function, module, name);
}
inline hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                        unsigned by, unsigned bz, unsigned shared, CUstream stream, void **params,
                                        void **extra) {
  return cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream, params, extra);
}
inline hipError_t hipDeviceSynchronize() { return cuCtxSynchronize(); }
inline const char *hipGetErrorName(hipError_t error) {
  const char *name = nullptr;
  return cuGetErrorName(error, &name) == CUDA_SUCCESS ? name : "an error without a name";
}

extern "C" {
inline int hipblasCreate(void **handle) { return cublasCreate(reinterpret_cast<cublasHandle_t *>(handle)); }
inline int hipblasDestroy(void *handle) { return cublasDestroy(static_cast<cublasHandle_t>(handle)); }
inline int hipblasSgemm(void *handle, int a, int b, int m, int n, int k, const float *alpha, const float *A, int lda,
                        const float *B, int ldb, const float *beta, float *C, int ldc) {
  const auto transposed = [](int operation) { return operation == 112 ? CUBLAS_OP_T : CUBLAS_OP_N; };
  return cublasSgemm(static_cast<cublasHandle_t>(handle), transposed(a), transposed(b), m, n, k, alpha, A, lda, B, ldb,
                     beta, C, ldc);
}
}
