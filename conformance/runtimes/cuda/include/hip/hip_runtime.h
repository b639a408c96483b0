// HIP's device API on top of the builtins of NVRTC and nvcc, for HIP sources on NVIDIA GPUs. Only what CUDA lacks or
// names differently is here: threadIdx, __syncthreads, atomicAdd, expf and so on are CUDA's own.
#pragma once

#if !defined(__CUDACC_RTC__)
#include "host_api.h"
#endif

#define HIP_INCLUDE_HIP_HIP_RUNTIME_H
#define __HIPCC__ 1
#define __HIP__ 1
#define __HIP_PLATFORM_NVIDIA__ 1
#if defined(__CUDA_ARCH__)
#define __HIP_DEVICE_COMPILE__ 1
#endif
#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];

// ---- clang's predefined names

#ifndef __INT64_TYPE__
#define __INT64_TYPE__ long
#endif
#ifndef __UINT64_TYPE__
#define __UINT64_TYPE__ unsigned long
#endif
#ifndef __INT64_MAX__
#define __INT64_MAX__ 0x7fffffffffffffffL
#endif

// ---- clang's builtin functions; nvcc has all of them in device code but the first

#if defined(__CUDA_ARCH__)
#define __builtin_trap() __trap()
#endif
#if defined(__CUDACC_RTC__)
#define __builtin_inff() (__int_as_float(0x7f800000))
#define __builtin_inf() (__longlong_as_double(0x7ff0000000000000LL))
#define __builtin_nanf(text) (__int_as_float(0x7fffffff))
#define __builtin_nan(text) (__longlong_as_double(0x7fffffffffffffffLL))
#define __builtin_fabsf(...) (::fabsf(__VA_ARGS__))
#define __builtin_fabs(...) (::fabs(__VA_ARGS__))
#define __builtin_fmaf(...) (::fmaf(__VA_ARGS__))
#define __builtin_fma(...) (::fma(__VA_ARGS__))
#define __builtin_fmaxf(...) (::fmaxf(__VA_ARGS__))
#define __builtin_fmax(...) (::fmax(__VA_ARGS__))
#define __builtin_fminf(...) (::fminf(__VA_ARGS__))
#define __builtin_fmin(...) (::fmin(__VA_ARGS__))
#define __builtin_floorf(...) (::floorf(__VA_ARGS__))
#define __builtin_floor(...) (::floor(__VA_ARGS__))
#define __builtin_ceilf(...) (::ceilf(__VA_ARGS__))
#define __builtin_ceil(...) (::ceil(__VA_ARGS__))
#define __builtin_roundf(...) (::roundf(__VA_ARGS__))
#define __builtin_round(...) (::round(__VA_ARGS__))
#define __builtin_rintf(...) (::rintf(__VA_ARGS__))
#define __builtin_rint(...) (::rint(__VA_ARGS__))
#define __builtin_truncf(...) (::truncf(__VA_ARGS__))
#define __builtin_trunc(...) (::trunc(__VA_ARGS__))
#define __builtin_sqrtf(...) (::sqrtf(__VA_ARGS__))
#define __builtin_sqrt(...) (::sqrt(__VA_ARGS__))
#define __builtin_popcount(...) (::__popc(__VA_ARGS__))
#define __builtin_clz(...) (::__clz(__VA_ARGS__))
#endif

// ---- lanes: HIP's calls have no mask of participating lanes

__device__ __forceinline__ unsigned __lane_id() {
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

// Only the two lanes of a pair wait for each other: HIP requires no more than that both are active. A fully active warp
// takes the cheaper path; all of its lanes see it fully active, so that both lanes of a pair take the same path.
template <class T>
__device__ __forceinline__ T hip_shfl_xor(T value, int mask, int width = 32) {
  if (__activemask() == 0xffffffffu) return __shfl_xor_sync(0xffffffffu, value, mask, width);
  const unsigned lane = __lane_id();
  const unsigned other = lane ^ static_cast<unsigned>(mask);
  const unsigned end = (lane + static_cast<unsigned>(width)) & ~static_cast<unsigned>(width - 1);
  return __shfl_xor_sync(1u << lane | 1u << (other < end ? other : lane), value, mask, width);
}

// The arguments do not name the participating lanes: they are the active ones.
template <class T>
__device__ __forceinline__ T hip_shfl(T value, int lane, int width = 32) {
  return __shfl_sync(__activemask(), value, lane, width);
}
template <class T>
__device__ __forceinline__ T hip_shfl_up(T value, unsigned delta, int width = 32) {
  return __shfl_up_sync(__activemask(), value, delta, width);
}
template <class T>
__device__ __forceinline__ T hip_shfl_down(T value, unsigned delta, int width = 32) {
  return __shfl_down_sync(__activemask(), value, delta, width);
}
__device__ __forceinline__ unsigned long long hip_ballot(int predicate) {
  return __ballot_sync(__activemask(), predicate);
}
__device__ __forceinline__ int hip_any(int predicate) { return __any_sync(__activemask(), predicate); }
__device__ __forceinline__ int hip_all(int predicate) { return __all_sync(__activemask(), predicate); }

// Macros, since CUDA still declares functions of these names for old GPUs.
#define __shfl_xor(...) hip_shfl_xor(__VA_ARGS__)
#define __shfl(...) hip_shfl(__VA_ARGS__)
#define __shfl_up(...) hip_shfl_up(__VA_ARGS__)
#define __shfl_down(...) hip_shfl_down(__VA_ARGS__)
#define __ballot(predicate) hip_ballot(predicate)
#define __any(predicate) hip_any(predicate)
#define __all(predicate) hip_all(predicate)

// ---- atomics

template <class T>
__device__ __forceinline__ T unsafeAtomicAdd(T *address, T value) {
  return atomicAdd(address, value);
}
template <class T>
__device__ __forceinline__ T safeAtomicAdd(T *address, T value) {
  return atomicAdd(address, value);
}
