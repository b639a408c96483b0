// Atomics of every type, operation and scope, on shared and on global memory; their results do not depend on an order.
#include "common.h"

/// All bits but one of the lower half: what atomicAnd leaves is not zero.
template <class T>
__device__ inline T without_a_bit(const u32 *in) {
  return ~(T(1) << in[me()] % (4 * sizeof(T)));
}

// All threads of a block on one element; of floats the sums are exact.
#define SHARED(op, T, start, value)                   \
  KERNEL(shared_##op##_##T) {                         \
    __shared__ T cell;                                \
    if (threadIdx.x == 0) cell = start;               \
    __syncthreads();                                  \
    op(&cell, value);                                 \
    __syncthreads();                                  \
    if (threadIdx.x == 0) put(out, blockIdx.x, cell); \
  }
#define GLOBAL(op, T, start, value)                    \
  KERNEL(global_##op##_##T) {                          \
    T *cell = reinterpret_cast<T *>(out) + blockIdx.x; \
    if (threadIdx.x == 0) *cell = start;               \
    __syncthreads();                                   \
    op(cell, value);                                   \
  }
// Each on an element of its own, with what it held before.
#define RETURNED(op, T)                                          \
  KERNEL(shared_##op##_##T##_returned) {                         \
    __shared__ T cell[BLOCK];                                    \
    const u32 t = threadIdx.x;                                   \
    cell[t] = get<T>(in, me() + THREADS);                        \
    __syncthreads();                                             \
    const T before = op(&cell[t ^ 1], get<T>(in, me()));         \
    __syncthreads();                                             \
    put(out, 2 * me(), before), put(out, 2 * me() + 1, cell[t]); \
  }
#define GLOBAL_RETURNED(op, T)                          \
  KERNEL(global_##op##_##T##_returned) {                \
    T *cell = reinterpret_cast<T *>(out);               \
    const u32 i = me();                                 \
    cell[i] = get<T>(in, i + THREADS);                  \
    put(out, THREADS + i, op(&cell[i], get<T>(in, i))); \
  }
// The float ones of HIP 5.2's header return another value than the one before.
#define CONTENDED(op, T, start) SHARED(op, T, start, get<T>(in, me())) GLOBAL(op, T, start, get<T>(in, me()))
#define EVERYWHERE(op, T, start) CONTENDED(op, T, start) RETURNED(op, T) GLOBAL_RETURNED(op, T)
#define ANDS(T)                                     \
  SHARED(atomicAnd, T, ~T(0), without_a_bit<T>(in)) \
  GLOBAL(atomicAnd, T, ~T(0), without_a_bit<T>(in)) \
  RETURNED(atomicAnd, T) GLOBAL_RETURNED(atomicAnd, T)

EVERYWHERE(atomicAdd, i32, 5)
EVERYWHERE(atomicAdd, u32, 5)
EVERYWHERE(atomicAdd, u64, 5)
EVERYWHERE(atomicAdd, f32, 5)
EVERYWHERE(atomicAdd, f64, 5)
EVERYWHERE(atomicSub, i32, 5)
EVERYWHERE(atomicSub, u32, 5)
EVERYWHERE(atomicMin, i32, 5)
EVERYWHERE(atomicMin, u32, ~0u)
EVERYWHERE(atomicMin, u64, ~0ull)
CONTENDED(atomicMin, f32, 5)
CONTENDED(atomicMin, f64, 5)
EVERYWHERE(atomicMax, i32, 5)
EVERYWHERE(atomicMax, u32, 5)
EVERYWHERE(atomicMax, u64, 5)
CONTENDED(atomicMax, f32, -50)
CONTENDED(atomicMax, f64, -50)
ANDS(u32)
ANDS(i32)
ANDS(u64)
EVERYWHERE(atomicOr, u32, 0)
EVERYWHERE(atomicOr, i32, 0)
EVERYWHERE(atomicOr, u64, 0)
EVERYWHERE(atomicXor, u32, 0)
EVERYWHERE(atomicXor, i32, 0)
EVERYWHERE(atomicXor, u64, 0)
RETURNED(atomicExch, u32)
RETURNED(atomicExch, i32)
RETURNED(atomicExch, u64)
RETURNED(atomicExch, f32)
GLOBAL_RETURNED(atomicExch, u32)
GLOBAL_RETURNED(atomicExch, u64)
GLOBAL_RETURNED(atomicExch, f32)

KERNEL(shared_atomicInc) {
  __shared__ u32 cell;
  if (threadIdx.x == 0) cell = 0;
  __syncthreads();
  __builtin_amdgcn_atomic_inc32(&cell, 100u, __ATOMIC_RELAXED, "agent");
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = cell;
}
KERNEL(shared_atomicDec) {
  __shared__ u32 cell;
  if (threadIdx.x == 0) cell = 0;
  __syncthreads();
  __builtin_amdgcn_atomic_dec32(&cell, 100u, __ATOMIC_RELAXED, "agent");
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = cell;
}
KERNEL(global_atomicInc_returned) { out[1 + __builtin_amdgcn_atomic_inc32(out, 1000u, __ATOMIC_RELAXED, "agent")] = 7; }
KERNEL(global_atomicDec_returned) { out[1 + __builtin_amdgcn_atomic_dec32(out, 600u, __ATOMIC_RELAXED, "agent")] = 7; }
KERNEL(global_atomicInc) { __builtin_amdgcn_atomic_inc32(out, 100u, __ATOMIC_RELAXED, "agent"); }
KERNEL(global_atomicDec) { __builtin_amdgcn_atomic_dec32(out, 100u, __ATOMIC_RELAXED, "agent"); }
KERNEL(shared_tickets) {
  __shared__ u32 next;
  if (threadIdx.x == 0) next = 0;
  __syncthreads();
  const u32 ticket = atomicAdd(&next, 1u);
  out[blockIdx.x * BLOCK + ticket] = 1;
}
KERNEL(global_tickets) { out[1 + atomicAdd(out, 1u)] = 1; }
KERNEL(global_tickets_of_wave) {
  u32 first = 0;
  const u32 lane = threadIdx.x % warpSize;
  if (lane == 0) first = atomicAdd(out, u32(warpSize));
  out[1 + __shfl(first, 0) + lane] = 1;
}

// Loops of compare and swap.
template <class Word, class T, template <class> class Op>
__device__ void by_swaps(T *address, T value) {
  Word *word = reinterpret_cast<Word *>(address);
  Word seen = *word, assumed;
  do {
    assumed = seen;
    seen = atomicCAS(word, assumed, bits<Word>(Op<T>::of(bits<T>(assumed), value)));
  } while (assumed != seen);
}
#define SWAPS(Word, T, Op)                            \
  KERNEL(shared_swaps_##Op##_##T) {                   \
    __shared__ T cell;                                \
    if (threadIdx.x == 0) cell = T(1);                \
    __syncthreads();                                  \
    by_swaps<Word, T, Op>(&cell, get<T>(in, me()));   \
    __syncthreads();                                  \
    if (threadIdx.x == 0) put(out, blockIdx.x, cell); \
  }                                                   \
  KERNEL(global_swaps_##Op##_##T) { by_swaps<Word, T, Op>(reinterpret_cast<T *>(out), get<T>(in, me())); }
SWAPS(u32, u32, Xor)
SWAPS(u32, i32, Max)
SWAPS(u32, f32, Add)
SWAPS(u32, f32, Max)
SWAPS(u64, f64, Add)
SWAPS(u64, f64, Min)
SWAPS(u64, u64, Add)
SWAPS(u64, i64, Min)

// As PyTorch adds halves: in the word that has them.
KERNEL(global_add_of_halves) {
  u32 *word = out + (threadIdx.x & 7);
  const bool upper = threadIdx.x & 8;
  u32 seen = *word, assumed;
  do {
    assumed = seen;
    const f16 old = bits<f16>(u16(upper ? assumed >> 16 : assumed));
    const u32 sum = bits<u16>(f16(old + f16(f32(in[me()] & 3))));
    seen = atomicCAS(word, assumed, upper ? (assumed & 0xffff) | sum << 16 : (assumed & 0xffff0000) | sum);
  } while (assumed != seen);
}
KERNEL(global_max_of_floats_as_integers) {
  const f32 x = get<f32>(in, me());
  if (x >= 0)
    atomicMax(reinterpret_cast<i32 *>(out), __float_as_int(x));
  else
    atomicMin(out + 1, __float_as_uint(x));
}
KERNEL(unsafe_add_f32) { unsafeAtomicAdd(reinterpret_cast<f32 *>(out) + threadIdx.x % 3, get<f32>(in, me())); }
KERNEL(unsafe_add_f64) { unsafeAtomicAdd(reinterpret_cast<f64 *>(out) + threadIdx.x % 3, get<f64>(in, me())); }

// With orders and scopes.
#define SCOPED(scope)                                                                                       \
  KERNEL(scoped_add_##scope) {                                                                              \
    __hip_atomic_fetch_add(out + threadIdx.x % 5, in[me()], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_##scope);  \
  }                                                                                                         \
  KERNEL(scoped_load_and_store_##scope) {                                                                   \
    __hip_atomic_store(out + me(), in[me()] + 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_##scope);             \
    out[me() + THREADS] = __hip_atomic_load(out + me(), __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_##scope);      \
  }                                                                                                         \
  KERNEL(scoped_shared_##scope) {                                                                           \
    __shared__ u32 cell[2];                                                                                 \
    if (threadIdx.x < 2) cell[threadIdx.x] = 0;                                                             \
    __syncthreads();                                                                                        \
    __hip_atomic_fetch_add(&cell[threadIdx.x & 1], in[me()], __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_##scope); \
    __syncthreads();                                                                                        \
    if (threadIdx.x < 2) out[2 * blockIdx.x + threadIdx.x] = cell[threadIdx.x];                             \
  }
SCOPED(WORKGROUP)
SCOPED(AGENT)
SCOPED(SYSTEM)
SCOPED(WAVEFRONT)

#define SCOPED_OP(op, T)                                                                                          \
  KERNEL(scoped_##op##_##T) {                                                                                     \
    T *cell = reinterpret_cast<T *>(out);                                                                         \
    __shared__ T shared;                                                                                          \
    if (threadIdx.x == 0) shared = T(1);                                                                          \
    __syncthreads();                                                                                              \
    __hip_atomic_fetch_##op(cell + 4, get<T>(in, me()), __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);              \
    __hip_atomic_fetch_##op(&shared, get<T>(in, me() + THREADS), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP); \
    __syncthreads();                                                                                              \
    if (threadIdx.x == 0) cell[blockIdx.x] = shared;                                                              \
  }
SCOPED_OP(min, i32)
SCOPED_OP(max, u32)
SCOPED_OP(min, u64)
SCOPED_OP(max, i64)
SCOPED_OP(or, u64)
SCOPED_OP(xor, u32)
SCOPED_OP(add, u64)
SCOPED_OP(add, f32)
SCOPED_OP(add, f64)
KERNEL(scoped_and_u32) {
  if (threadIdx.x == 0) out[blockIdx.x] = ~0u;
  __syncthreads();
  __hip_atomic_fetch_and(out + blockIdx.x, without_a_bit<u32>(in), __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
}
KERNEL(scoped_exchange) {
  out[me()] = in[me()];
  const u32 before = __hip_atomic_exchange(out + me(), in[me() + 1], __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_SYSTEM);
  out[me() + THREADS] = before;
}
KERNEL(scoped_compare_exchange) {
  u32 expected = 0;
  while (!__hip_atomic_compare_exchange_strong(out + (threadIdx.x & 3), &expected, expected + (in[me()] & 15),
                                               __ATOMIC_ACQ_REL, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)) {
  }
}
KERNEL(system_atomics) {
  atomicAdd_system(out, in[me()]);
  atomicMax_system(out + 1, in[me()]);
  atomicXor_system(out + 2, in[me()]);
}
KERNEL(fences) {
  out[me()] = in[me()];
  __threadfence_block();
  out[me() + THREADS] = in[me()] * 3;
  __threadfence();
  out[me() + 2 * THREADS] = out[me()];
  __threadfence_system();
}
KERNEL(last_block_sums) {
  __shared__ bool last;
  __shared__ u32 sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, in[me()]);
  __syncthreads();
  if (threadIdx.x == 0) {
    out[2 + blockIdx.x] = sum;
    __threadfence();
    last = atomicAdd(out, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    __threadfence();
    u32 all = 0;
    for (u32 i = 0; i < gridDim.x; i++)
      all += __hip_atomic_load(out + 2 + i, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    out[1] = all;
  }
}
KERNEL(lock_of_a_block) {
  // One thread of each block takes the lock.
  if (threadIdx.x == 0) {
    while (atomicCAS(out, 0u, 1u) != 0) {
    }
    __threadfence();
    volatile u32 *sum = out + 1;
    *sum = *sum + in[blockIdx.x];
    __threadfence();
    atomicExch(out, 0u);
  }
}
