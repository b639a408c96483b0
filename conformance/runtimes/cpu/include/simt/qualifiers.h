// Function and variable qualifiers that HIP and CUDA share, as the host compiler needs to see them.
#pragma once
#pragma GCC system_header

// Lets a kernel tell this host implementation from a GPU; no GPU compiler defines it.
#define __SIMT_CPU__ 1

// The marker that the scanner of kernels looks for: it survives preprocessing and means nothing to code generation.
#define __global__ __attribute__((annotate("simt_kernel")))
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
// __noinline__ is not a macro: standard libraries write __attribute__((__noinline__)). libhiprtc replaces the bare
// word.
// What the scanner of kernels reads: the largest block that the kernel may be launched with, as text, so that what no
// compiler can evaluate here does no harm.
#define SIMT_TEXT(...) #__VA_ARGS__
#define __launch_bounds__(...) __attribute__((annotate("simt_launch_bounds", SIMT_TEXT(__VA_ARGS__))))
#define __align__(n) __attribute__((aligned(n)))
#define __restrict__ __restrict
#define __grid_constant__
// Attributes that clang accepts on a real device kernel only. The first limits blocks; the others tune registers and do
// not affect results. LLVM gives a kernel with amdgpu_waves_per_eu alone blocks of up to 1,024 threads.
#define amdgpu_flat_work_group_size(...) annotate("simt_flat_work_group_size", SIMT_TEXT(__VA_ARGS__))
#define amdgpu_waves_per_eu(...)
#define amdgpu_num_vgpr(...)
#define amdgpu_num_sgpr(...)
#define amdgpu_max_num_work_groups(...)

// One block runs on one OS thread at a time, so a block's shared memory is that thread's copy. `used` keeps an array
// that is read but never stored from being folded to zero, which would hide reads of unwritten shared memory; and it is
// how libhiprtc tells shared memory from other thread-local data (abi.h).
#define __shared__ thread_local __attribute__((used))
#define __constant__ __attribute__((used))
#define __managed__ __attribute__((used))
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
#define HIP_DYNAMIC_SHARED_ATTRIBUTE

#define HIP_KERNEL_NAME(...) __VA_ARGS__
