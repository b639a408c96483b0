// A mistake a kernel, or what is legal and looks like one; test_mistakes.py says what becomes of each. Where `wrong` is
// false the kernel does the same as it should be done.
#include "corpus/common.h"

#if defined(TOO_LARGE)  // compiled alone: more shared memory than there is
KERNEL(too_large) {
  __shared__ u32 s[16400];
  s[threadIdx.x] = in[me()];
  __syncthreads();
  out[me()] = s[in[me()] % 16400];
}
#else

#define MISTAKE(name)                                                                  \
  template <bool wrong>                                                                \
  __device__ __attribute__((always_inline)) void body_##name(const u32 *in, u32 *out); \
  KERNEL(name) { body_##name<true>(in, out); }                                         \
  KERNEL(mended_##name) { body_##name<false>(in, out); }                               \
  template <bool wrong>                                                                \
  __device__ __attribute__((always_inline)) void body_##name(const u32 *in, u32 *out)

#if defined(__GFX12__)
#define LOAD_SCALAR "s_load_b32 %0, %1, 0x0\n s_wait_kmcnt 0x0"
#else
#define LOAD_SCALAR "s_load_dword %0, %1, 0x0\n s_waitcnt lgkmcnt(0)"
#endif

#if defined(__GFX9__)
#define VCC "vcc"
#else
#define VCC "vcc_lo"
#endif

__device__ inline u32 lane() { return threadIdx.x & (warpSize - 1); }
__device__ inline u64 below(u32 bit) { return (u64(1) << bit) - 1; }
__device__ inline f32 subnormal(u32 word) { return bits<f32>((word & 0x7fffff) | 0x400000); }
__device__ inline f32 between(u32 word, f32 low, f32 high) { return low + f32(word) * 0x1p-32f * (high - low); }

// Waves

MISTAKE(exchange_without_barrier) {
  __shared__ u32 s[BLOCK];
  s[threadIdx.x] = in[me()];
  if (!wrong) __syncthreads();
  out[me()] = s[threadIdx.x ^ 64];
}
MISTAKE(ballot_of_32_bits) {
  const u64 odd = __ballot(in[me()] & 1);
  out[me()] = __popcll((wrong ? u32(odd) : odd) & below(lane()));
}
MISTAKE(popc_of_64_bits) {
  const u64 odd = __ballot(in[me()] & 1);
  out[me()] = wrong ? __popc(odd) : __popcll(odd);
}
MISTAKE(shuffle_from_32_lanes) { out[me()] = __shfl(int(in[me()]), int(wrong ? lane() & 31 : lane()) ^ 1); }
MISTAKE(sum_of_32_lanes) {
  u32 sum = in[me()];
  for (int step = wrong ? 16 : warpSize / 2; step; step /= 2) sum += __shfl_xor(int(sum), step);
  out[me()] = sum;
}
MISTAKE(waves_of_64_assumed) {
  __shared__ volatile u32 s[BLOCK];
  s[threadIdx.x] = in[me()];
  if (!wrong) __syncthreads();
  out[me()] = s[threadIdx.x ^ 32];
}
MISTAKE(first_lane_of_64) {
  const u32 row = threadIdx.x >> 5;
  out[me()] = in[wrong ? __builtin_amdgcn_readfirstlane(row) : row];
}
MISTAKE(lane_bit_in_an_int) {
  const u64 mine = wrong ? u64(1 << lane()) : u64(1) << lane();
  out[me()] = (__ballot(in[me()] & 1) & mine) != 0;
}
MISTAKE(shuffle_of_one_half) {
  const u64 value = u64(in[me()]) << 32 | in[me() + 1];
  const u64 other = wrong ? u64(u32(__shfl_xor(int(value), 1))) : u64(__shfl_xor((long long)value, 1));
  out[me()] = u32(other >> 32);
}
MISTAKE(inactive_lanes_are_read) {
  const u32 before = __shfl(int(in[me()]), int(lane() & ~1u));
  if (!(threadIdx.x & 1)) return;
  out[me()] = wrong ? __shfl(int(in[me()]), int(lane() & ~1u)) : before;
}
MISTAKE(lockstep_across_a_branch) {
  __shared__ volatile u32 odd[BLOCK];
  __shared__ volatile u64 even[BLOCK];
  const u32 t = threadIdx.x;
  if constexpr (wrong) {
    if (t & 1) {
      odd[t] = in[me()];
      out[me()] = u32(even[t - 1]);
    } else {
      even[t] = in[me()];
      out[me()] = odd[t + 1];
    }
  } else {
    out[me()] = in[me() ^ 1];
  }
}
MISTAKE(dpp_behind_its_source) {
  u32 value;
  if constexpr (wrong)
    asm volatile("v_mov_b32 %0, %1\n v_mov_b32_dpp %0, %0 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf"
                 : "=v"(value)
                 : "v"(in[me()]));
  else
    value = in[me() ^ 1];
  out[me()] = value;
}

// Arithmetic

#define NATIVE(name, T, argument, native, mended) \
  MISTAKE(native_##name) {                        \
    const T x = argument;                         \
    put<T>(out, me(), wrong ? native : mended);   \
  }
NATIVE(sqrt, f32, subnormal(in[me()]), __builtin_amdgcn_sqrtf(x), sqrtf(x))
NATIVE(rcp, f32, subnormal(in[me()]), __builtin_amdgcn_rcpf(x), 1 / x)
NATIVE(exp, f32, between(in[me()], 60, 80), __expf(x), expf(x))
NATIVE(log, f32, subnormal(in[me()]), 0.693147181f * __builtin_amdgcn_logf(x), logf(x))
NATIVE(sin, f32, between(in[me()], 0, 1e5f), __sinf(x), sinf(x))
NATIVE(cos, f32, between(in[me()], 0, 1e5f), __cosf(x), cosf(x))
NATIVE(rcp_f64, f64, between(in[me()], 1, 2), __builtin_amdgcn_rcp(x), 1 / x)
NATIVE(sqrt_f64, f64, between(in[me()], 1, 2), __builtin_amdgcn_sqrt(x), sqrt(x))
MISTAKE(float_mode) {
  if (wrong) asm volatile("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 6, 2), 0");
  out[me()] = in[me()];
}
MISTAKE(output_modifier) {
  f32 x = between(in[me()], 1, 2), twice = 2 * (x + x);
  if (wrong) asm("v_add_f32_e64 %0, %1, %1 mul:2" : "=v"(twice) : "v"(x));
  put(out, me(), twice);
}
MISTAKE(early_clobber) {
  u32 sum = in[me()] + 5;
  if (wrong) asm("v_mov_b32 %0, 5\n v_add3_u32 %0, %0, %1, 0" : "=v"(sum) : "v"(in[me()]));
  out[me()] = sum;
}
MISTAKE(vcc_not_declared) {
  const bool less = in[me()] < in[me() + 1];
  u32 one = less;
  if (wrong) asm volatile("v_cmp_eq_u32 " VCC ", %0, %0" : "+v"(one));
  out[me()] = less ? one : in[me() + 2];
}

// Memory

MISTAKE(shared_memory_unwritten) {
  __shared__ u32 s[BLOCK];
  if (!wrong || in[0] == 77) s[threadIdx.x] = 0;
  __syncthreads();
  out[me()] = in[me()] + s[threadIdx.x ^ 1];
}
MISTAKE(local_array_past_its_end) {
  volatile u32 first[4], second[4];
  const u32 size = wrong ? 5 : 4;
  for (u32 k = 0; k < size + in[0] / ~0u; ++k) first[k] = in[me() + k];
  for (u32 k = 0; k < 4; ++k) second[k] = in[me() + k] ^ 1;
  out[me()] = first[in[me()] & 3] + second[in[me() + 1] & 3];
}
MISTAKE(store_without_wait) {
  __shared__ u32 s[BLOCK];
  s[threadIdx.x] = 0;
  __syncthreads();
  if constexpr (wrong)
    asm volatile("ds_write_b32 %0, %1" ::"v"((__attribute__((address_space(3))) u32 *)s + (threadIdx.x ^ 64)),
                 "v"(in[me()])
                 : "memory");
  else
    s[threadIdx.x ^ 64] = in[me()];
  if constexpr (wrong)
    __builtin_amdgcn_s_barrier();
  else
    __syncthreads();
  out[me()] = reinterpret_cast<volatile u32 *>(s)[threadIdx.x];
}
MISTAKE(stale_scalar_cache) {
  u32 *const cell = out + blockIdx.x * BLOCK, before, after;
  asm volatile(LOAD_SCALAR : "=s"(before) : "s"(cell) : "memory");
  __syncthreads();
  if (threadIdx.x == 0) *cell = before + 7;
  __threadfence();
  __syncthreads();
  if (!wrong) asm volatile("s_dcache_inv" ::: "memory");
  asm volatile(LOAD_SCALAR : "=s"(after) : "s"(cell) : "memory");
  if (threadIdx.x) out[me()] = after;
}
MISTAKE(last_block_without_fence) {
  __shared__ bool last;
  u32 *const finished = out + 1;
  u32 *const sums = out + 2;
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = in[me()];
    if (!wrong) __threadfence();
    last = atomicAdd(finished, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  if (!wrong) __threadfence();
  u32 sum = 0;
  for (u32 block = 0; block < gridDim.x; ++block) sum += reinterpret_cast<volatile u32 *>(sums)[block];
  if (threadIdx.x == 0) out[0] = sum;
}
MISTAKE(flag_without_fence) {
  u32 *const flag = out + 1;
  if (threadIdx.x) return;
  if (blockIdx.x == gridDim.x - 1) {
    out[2] = in[0];
    if (!wrong) __threadfence();
    atomicExch(flag, 1);
  } else if (blockIdx.x == 0) {
    while (atomicAdd(flag, 0) == 0) __builtin_amdgcn_s_sleep(1);
    if (!wrong) __threadfence();
    out[0] = reinterpret_cast<volatile u32 *>(out)[2];
  }
}
MISTAKE(lock_between_lanes) {
  u32 *const lock = out, *const count = out + 1;
  if (blockIdx.x) return;
  if constexpr (wrong) {
    while (atomicCAS(lock, 0, 1)) {
    }
    *reinterpret_cast<volatile u32 *>(count) += 1;
    __threadfence();
    atomicExch(lock, 0);
  } else {
    atomicAdd(count, 1);
  }
}
MISTAKE(misaligned_atomic) {
  u64 *const at = reinterpret_cast<u64 *>(out + 2 * (me() & 511) + (wrong ? 1 : 0));
  atomicMax(reinterpret_cast<unsigned long long *>(at), u64(in[me()]));
}

// Legal

MISTAKE(wait_for_another_block) {
  u32 *const flag = out + 1;
  if (threadIdx.x) return;
  if (wrong && blockIdx.x == 0)
    while (atomicAdd(flag, 0) != gridDim.x - 1) __builtin_amdgcn_s_sleep(1);
  atomicAdd(flag, 1);
}
MISTAKE(barrier_in_a_branch_of_waves) {
  __shared__ u32 s[BLOCK];
  s[threadIdx.x] = in[me()];
  if (!wrong || threadIdx.x < 64) {
    __syncthreads();
    out[me()] = threadIdx.x < 64 ? s[threadIdx.x ^ 1] : 0;
  }
}
MISTAKE(barrier_in_a_branch_of_lanes) {
  if (!wrong || threadIdx.x & 1) __syncthreads();
  out[me()] = in[me()];
}
MISTAKE(shared_memory_below_a_base) {
  __shared__ u32 s[2 * BLOCK];
  const u32 t = threadIdx.x;
  s[t] = in[t];
  s[t + BLOCK] = in[t];
  __syncthreads();
  const int j = int(t) - int(in[0] / ~0u) - 2;
  out[me()] =
      wrong ? s[j + 16] + s[j + 20] + s[j + 24] : in[(t + 14) % BLOCK] + in[(t + 18) % BLOCK] + in[(t + 22) % BLOCK];
}
MISTAKE(print) {
  if (wrong && me() == 3) printf("thread %u\n", u32(threadIdx.x));
  out[me()] = in[me()];
}
MISTAKE(clamp) {
  const f32 x = between(in[me()], -9, 9);
  put(out, me(), wrong ? fminf(fmaxf(x, 0), 6) : x < 0 ? 0 : x > 6 ? 6 : x);
}
MISTAKE(exchange_in_shared_memory) {
  __shared__ u32 s[BLOCK];
  s[threadIdx.x] = 0;
  __syncthreads();
  if (wrong)
    atomicExch(&s[threadIdx.x ^ 1], in[me()]);
  else
    s[threadIdx.x ^ 1] = in[me()];
  __syncthreads();
  out[me()] = s[threadIdx.x];
}
MISTAKE(compare_and_swap_in_shared_memory) {
  __shared__ u32 largest;
  largest = 0;
  __syncthreads();
  if (wrong)
    for (u32 seen = 0; seen < in[me()];) {
      const u32 found = atomicCAS(&largest, seen, in[me()]);
      if (found == seen) break;
      seen = found;
    }
  else
    atomicMax(&largest, in[me()]);
  __syncthreads();
  out[me()] = largest;
}
MISTAKE(array_by_a_uniform_index) {
  u32 kept[16];
  for (u32 k = 0; k < 16; ++k) kept[k] = in[me() + k];
  const u32 j = in[blockIdx.x] & 15;
  out[me()] = wrong ? kept[j] : in[me() + j];
}
MISTAKE(malloc_that_is_not_reached) {
  out[me()] = in[me()];
  if (!wrong || in[0] != 77) return;
  u32 *const memory = static_cast<u32 *>(malloc(4 * in[1]));
  memory[in[2]] = 1;
  out[me()] = memory[in[3]];
  free(memory);
}
MISTAKE(load_of_16_bytes_at_8) {
  const u32 *const at = in + 2 * me();
  const uint4 four = wrong ? *reinterpret_cast<const uint4 *>(at) : make_uint4(at[0], at[1], at[2], at[3]);
  out[me()] = four.x ^ four.y ^ four.z ^ four.w;
}
#endif
