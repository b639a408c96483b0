// The part of HIP's device side that the kernels of this repository use, for a clang without HIP's own headers.
//
// Written for AMD targets only. Mathematics comes from the device libraries (ocml); nothing here is for the host, so
// that a source with host code needs the real headers (Debian: libamdhip64-dev).
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))

// As HIP's own: clang's launch_bounds has no effect on AMD targets.
#define CANDLE_PARITY_THREADS(threads) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#define CANDLE_PARITY_THREADS_WAVES(threads, waves) \
  __attribute__((amdgpu_flat_work_group_size(1, threads), amdgpu_waves_per_eu(waves)))
#define CANDLE_PARITY_THIRD(first, second, third, ...) third
#define __launch_bounds__(...) \
  CANDLE_PARITY_THIRD(__VA_ARGS__, CANDLE_PARITY_THREADS_WAVES, CANDLE_PARITY_THREADS, )(__VA_ARGS__)

#define HIP_INCLUDE_HIP_HIP_RUNTIME_H
#define CANDLE_PARITY_MINIMAL_HIP 1

using size_t = __SIZE_TYPE__;

// threadIdx and its kin: each member is read from the hardware when it is named.
#define CANDLE_PARITY_COORDINATES(name, X, Y, Z)                     \
  struct name {                                                      \
    __declspec(property(get = get_x)) unsigned x;                    \
    __declspec(property(get = get_y)) unsigned y;                    \
    __declspec(property(get = get_z)) unsigned z;                    \
    __device__ static __forceinline__ unsigned get_x() { return X; } \
    __device__ static __forceinline__ unsigned get_y() { return Y; } \
    __device__ static __forceinline__ unsigned get_z() { return Z; } \
  }

extern "C" __device__ __attribute__((const)) size_t __ockl_get_local_size(unsigned);
extern "C" __device__ __attribute__((const)) size_t __ockl_get_num_groups(unsigned);

namespace candle_parity_hip {
CANDLE_PARITY_COORDINATES(Thread, __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(),
                          __builtin_amdgcn_workitem_id_z());
CANDLE_PARITY_COORDINATES(Block, __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(),
                          __builtin_amdgcn_workgroup_id_z());
CANDLE_PARITY_COORDINATES(BlockSize, static_cast<unsigned>(__ockl_get_local_size(0)),
                          static_cast<unsigned>(__ockl_get_local_size(1)),
                          static_cast<unsigned>(__ockl_get_local_size(2)));
CANDLE_PARITY_COORDINATES(GridSize, static_cast<unsigned>(__ockl_get_num_groups(0)),
                          static_cast<unsigned>(__ockl_get_num_groups(1)),
                          static_cast<unsigned>(__ockl_get_num_groups(2)));
}  // namespace candle_parity_hip

#undef CANDLE_PARITY_COORDINATES

extern const __device__ __attribute__((weak)) candle_parity_hip::Thread threadIdx;
extern const __device__ __attribute__((weak)) candle_parity_hip::Block blockIdx;
extern const __device__ __attribute__((weak)) candle_parity_hip::BlockSize blockDim;
extern const __device__ __attribute__((weak)) candle_parity_hip::GridSize gridDim;

__device__ inline void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

extern "C" __device__ __attribute__((convergent)) int __ockl_wgred_add_i32(int);
extern "C" __device__ __attribute__((convergent)) int __ockl_wgred_and_i32(int);
extern "C" __device__ __attribute__((convergent)) int __ockl_wgred_or_i32(int);

// Barriers that tell in how many threads of the thread block a predicate holds, in all or in any.
__device__ inline int __syncthreads_count(int predicate) { return __ockl_wgred_add_i32(predicate != 0); }
__device__ inline int __syncthreads_and(int predicate) { return __ockl_wgred_and_i32(predicate != 0); }
__device__ inline int __syncthreads_or(int predicate) { return __ockl_wgred_or_i32(predicate != 0); }

__device__ inline unsigned __lane_id() { return __builtin_amdgcn_mbcnt_hi(-1, __builtin_amdgcn_mbcnt_lo(-1, 0)); }

__device__ inline int __ffs(unsigned value) { return value == 0 ? 0 : __builtin_ctz(value) + 1; }
__device__ inline int __ffs(int value) { return __ffs(static_cast<unsigned>(value)); }

// The value of lane `lane`, in registers of four bytes.
template <class T>
__device__ inline T candle_parity_from_lane(T value, int lane) {
  static_assert(sizeof(T) % 4 == 0, "whole registers");
  struct Words {
    int at[sizeof(T) / 4];
  } words = __builtin_bit_cast(Words, value);
  for (unsigned k = 0; k < sizeof(T) / 4; ++k) words.at[k] = __builtin_amdgcn_ds_bpermute(lane << 2, words.at[k]);
  return __builtin_bit_cast(T, words);
}

// As in HIP, a lane whose partner is outside its group of `width` lanes gets its own value.
template <class T>
__device__ inline T __shfl_xor(T value, int mask, int width = __builtin_amdgcn_wavefrontsize()) {
  const int self = static_cast<int>(__lane_id());
  const int other = self ^ mask;
  return candle_parity_from_lane(value, other < ((self + width) & ~(width - 1)) ? other : self);
}

template <class T>
__device__ inline T __shfl_down(T value, unsigned delta, int width = __builtin_amdgcn_wavefrontsize()) {
  const int self = static_cast<int>(__lane_id());
  const int place = (self & (width - 1)) + static_cast<int>(delta);
  return candle_parity_from_lane(value, place < width ? self + static_cast<int>(delta) : self);
}

template <class T>
__device__ inline T __shfl(T value, int lane, int width = __builtin_amdgcn_wavefrontsize()) {
  const int self = static_cast<int>(__lane_id());
  return candle_parity_from_lane(value, (self & ~(width - 1)) + (lane & (width - 1)));
}

template <class T>
__device__ inline T atomicAdd(T *place, T value) {
  return __hip_atomic_fetch_add(place, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

template <class T>
__device__ inline T atomicCAS(T *place, T compare, T value) {
  __hip_atomic_compare_exchange_strong(place, &compare, value, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                       __HIP_MEMORY_SCOPE_AGENT);
  return compare;
}

#define CANDLE_PARITY_FUNCTION(name)                                          \
  extern "C" __device__ float __ocml_##name##_f32(float);                     \
  extern "C" __device__ double __ocml_##name##_f64(double);                   \
  __device__ inline float name##f(float x) { return __ocml_##name##_f32(x); } \
  __device__ inline double name(double x) { return __ocml_##name##_f64(x); }

CANDLE_PARITY_FUNCTION(sin)
CANDLE_PARITY_FUNCTION(cos)
CANDLE_PARITY_FUNCTION(exp)
CANDLE_PARITY_FUNCTION(log)
CANDLE_PARITY_FUNCTION(tanh)
CANDLE_PARITY_FUNCTION(erf)
CANDLE_PARITY_FUNCTION(erfc)
CANDLE_PARITY_FUNCTION(sqrt)
CANDLE_PARITY_FUNCTION(rsqrt)
#undef CANDLE_PARITY_FUNCTION

extern "C" __device__ float __ocml_pow_f32(float, float);
extern "C" __device__ double __ocml_pow_f64(double, double);
__device__ inline float powf(float x, float y) { return __ocml_pow_f32(x, y); }
__device__ inline double pow(double x, double y) { return __ocml_pow_f64(x, y); }
