// Built-in variables, barriers, fences and traps of device code, on top of the runtime's entry points.
#pragma once
#pragma GCC system_header

#include "abi.h"
#include "traits.h"

// The location of the call in the kernel's source, as default arguments of everything that can wait or fail.
#if defined(__clang__)
#define SIMT_HERE \
  const char *file = __builtin_FILE(), int location = SIMT_LOCATION(__builtin_LINE(), __builtin_COLUMN())
#else
#define SIMT_HERE const char *file = __builtin_FILE(), int location = SIMT_LOCATION(__builtin_LINE(), 0)
#endif

#if !defined(SIMT_PROGRAM)  // whose header of HIP has it
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
#endif

// The state lives behind a thread-local pointer, and kernels may only read it. Objects, so that a variable may have the
// same name; their properties are an extension that g++ does not have.
#if defined(__clang__)
#define SIMT_INDEX(Type, name)                                                  \
  namespace simt {                                                              \
  struct Type {                                                                 \
    SIMT_INLINE unsigned get_x() const { return simt_self->name.x; }            \
    SIMT_INLINE unsigned get_y() const { return simt_self->name.y; }            \
    SIMT_INLINE unsigned get_z() const { return simt_self->name.z; }            \
    __declspec(property(get = get_x)) unsigned x;                               \
    __declspec(property(get = get_y)) unsigned y;                               \
    __declspec(property(get = get_z)) unsigned z;                               \
    SIMT_INLINE operator const simt_index &() const { return simt_self->name; } \
    SIMT_INLINE operator dim3() const { return {get_x(), get_y(), get_z()}; }   \
  };                                                                            \
  }                                                                             \
  static const simt::Type name;
SIMT_INDEX(ThreadIndex, threadIdx)
SIMT_INDEX(BlockIndex, blockIdx)
SIMT_INDEX(BlockSize, blockDim)
SIMT_INDEX(GridSize, gridDim)
#undef SIMT_INDEX
#else
#define threadIdx (static_cast<const simt_index &>(simt_self->threadIdx))
#define blockIdx (static_cast<const simt_index &>(simt_self->blockIdx))
#define blockDim (static_cast<const simt_index &>(simt_self->blockDim))
#define gridDim (static_cast<const simt_index &>(simt_self->gridDim))
#endif
#if defined(SIMT_LAUNCHERS)  // no macro: host code has a member of this name in hipDeviceProp_t
namespace simt {
struct WarpSize {
  SIMT_INLINE operator int() const { return static_cast<int>(simt_self->wave_size); }
};
}  // namespace simt
static const simt::WarpSize warpSize;
#else
#define warpSize (static_cast<int>(simt_self->wave_size))
#endif

#define hipThreadIdx_x (threadIdx.x)
#define hipThreadIdx_y (threadIdx.y)
#define hipThreadIdx_z (threadIdx.z)
#define hipBlockIdx_x (blockIdx.x)
#define hipBlockIdx_y (blockIdx.y)
#define hipBlockIdx_z (blockIdx.z)
#define hipBlockDim_x (blockDim.x)
#define hipBlockDim_y (blockDim.y)
#define hipBlockDim_z (blockDim.z)
#define hipGridDim_x (gridDim.x)
#define hipGridDim_y (gridDim.y)
#define hipGridDim_z (gridDim.z)
#define __builtin_amdgcn_workitem_id_x() (threadIdx.x)
#define __builtin_amdgcn_workitem_id_y() (threadIdx.y)
#define __builtin_amdgcn_workitem_id_z() (threadIdx.z)
#define __builtin_amdgcn_workgroup_id_x() (blockIdx.x)
#define __builtin_amdgcn_workgroup_id_y() (blockIdx.y)
#define __builtin_amdgcn_workgroup_id_z() (blockIdx.z)
#define __builtin_amdgcn_workgroup_size_x() (blockDim.x)
#define __builtin_amdgcn_wavefrontsize() (simt_self->wave_size)

SIMT_INLINE void __syncthreads(SIMT_HERE) { simt_barrier(file, location); }
#define __builtin_amdgcn_s_barrier() __syncthreads()
#define __builtin_amdgcn_fence(order, scope) __atomic_thread_fence(order)
#define __builtin_amdgcn_s_sleep(n) ((void)(n))

namespace simt {
/// How many threads of the block pass a true predicate. Three barriers: before the counter is cleared, so that the
/// last vote has been read; after it; and before it is read. Atomic, as an order may change threads before a store.
SIMT_INLINE int block_count(bool predicate, const char *file, int location) {
  static thread_local int count __attribute__((used));
  simt_barrier(file, location);
  if (simt_thread() == 0) count = 0;
  simt_barrier(file, location);
  __atomic_fetch_add(&count, static_cast<int>(predicate), __ATOMIC_RELAXED);
  simt_barrier(file, location);
  return count;
}
}  // namespace simt
SIMT_INLINE int __syncthreads_count(int predicate, SIMT_HERE) {
  return simt::block_count(predicate != 0, file, location);
}
SIMT_INLINE int __syncthreads_and(int predicate, SIMT_HERE) {
  return simt::block_count(predicate == 0, file, location) == 0;
}
SIMT_INLINE int __syncthreads_or(int predicate, SIMT_HERE) {
  return simt::block_count(predicate != 0, file, location) != 0;
}

SIMT_INLINE void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
SIMT_INLINE void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
SIMT_INLINE void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

#if defined(SIMT_CUDA)
[[noreturn]] SIMT_INLINE void __trap(SIMT_HERE) { simt_trap("__trap()", file, location); }
#endif

SIMT_INLINE long long clock64() { return static_cast<long long>(__builtin_ia32_rdtsc()); }
SIMT_INLINE long long wall_clock64() { return static_cast<long long>(__builtin_ia32_rdtsc()); }
