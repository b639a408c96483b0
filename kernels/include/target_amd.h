// AMD GPUs; see target.h.
#pragma once

#define CANDLE_REQUIRE(condition, why) ((condition) ? void() : __builtin_trap())
#define CANDLE_ASSUME(condition) __builtin_assume(condition)
#define CANDLE_SHARED_HELPER __attribute__((always_inline)) inline
#define CANDLE_FORCE_INLINE __attribute__((always_inline)) inline
#define CANDLE_NOINLINE_NVIDIA __attribute__((always_inline)) inline
#define CANDLE_NOINLINE_GPU __attribute__((noinline))
#define CANDLE_UNROLL_COLUMNS _Pragma("unroll")

// v_dot4_i32_i8 (Vega 20, CDNA, RDNA 2), and v_dot4_i32_iu8 (RDNA 3 and 4), which takes the signedness of each operand.
#if defined(__gfx906__) || defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx940__) || defined(__gfx941__) || \
    defined(__gfx942__) || defined(__gfx950__) || defined(__gfx1011__) || defined(__gfx1012__) ||                      \
    defined(__gfx1030__) || defined(__gfx1031__) || defined(__gfx1032__) || defined(__gfx1033__) ||                    \
    defined(__gfx1034__) || defined(__gfx1035__) || defined(__gfx1036__)
#define CANDLE_SDOT4 1
#elif defined(__GFX11__) || defined(__GFX12__)
#define CANDLE_SUDOT4 1
#endif

namespace candle::target {

constexpr bool on_gpu = true;
constexpr bool integer_matrices_16x8 = false;
constexpr bool on_amd = true;

// RDNA 1 and 2: LLVM spills a quantized product's offsets there, and not on CDNA (512 registers) or later RDNA.
#if defined(__GFX10__)
constexpr bool few_registers = true;
#else
constexpr bool few_registers = false;
#endif

using portable::f32_to_bf16;
using portable::f32_to_f8;
using portable::fma_bf16;

__device__ inline f32 f16_to_f32(u16 x) { return f32(bit_cast<_Float16>(x)); }

// LLVM rounds a product that it sees as v_fma_mixlo_f16 a, b, +0, and -0 + +0 is +0 (llvm-project pull request 214544).
__device__ inline u16 f32_to_f16(f32 x) {
  asm("" : "+v"(x));
  return bit_cast<u16>(_Float16(x));
}

__device__ inline u16 fma_f16(u16 a, u16 b, u16 c) {
  return bit_cast<u16>(__builtin_fmaf16(bit_cast<_Float16>(a), bit_cast<_Float16>(b), bit_cast<_Float16>(c)));
}

__device__ inline f32 exp2(f32 x) { return __builtin_amdgcn_exp2f(x); }

__device__ inline f32 reciprocal(f32 x) { return __builtin_amdgcn_rcpf(x); }

template <class T>
constexpr bool adds = is_same<T, f16>;

__device__ inline f16 add(f16 a, f16 b) {
#pragma clang fp contract(off)
  return bit_cast<f16>(_Float16(bit_cast<_Float16>(a) + bit_cast<_Float16>(b)));
}

__device__ inline f16 multiply(f16 a, f16 b) {
#pragma clang fp contract(off)
  return bit_cast<f16>(_Float16(bit_cast<_Float16>(a) * bit_cast<_Float16>(b)));
}

// A conversion in C++ may not overflow; the instruction saturates.
__device__ inline i32 f32_to_i32(f32 x) {
  i32 result;
  asm("v_cvt_i32_f32 %0, %1" : "=v"(result) : "v"(x));
  return result;
}

__device__ inline f32 f8_to_f32(u8 x) { return f16_to_f32(portable::f8_to_f16_scaled(x)) * 256.0f; }

__device__ inline i32 dot4(u32 a, u32 b, i32 sum) {
#if defined(CANDLE_SDOT4)
  return __builtin_amdgcn_sdot4(i32(a), i32(b), sum, false);
#elif defined(CANDLE_SUDOT4)
  return __builtin_amdgcn_sudot4(true, i32(a), true, i32(b), sum, false);
#else
  return portable::dot4(a, b, sum);
#endif
}

// DPP costs no more than a register move; the other masks go through the LDS crossbar (ds_swizzle).
template <int mask>
__device__ inline u32 shuffle_xor_word(u32 x) {
  if constexpr (mask == 1) {
    return u32(__builtin_amdgcn_update_dpp(0, int(x), 0xb1, 0xf, 0xf, true));  // quad_perm:[1,0,3,2]
  } else if constexpr (mask == 2) {
    return u32(__builtin_amdgcn_update_dpp(0, int(x), 0x4e, 0xf, 0xf, true));  // quad_perm:[2,3,0,1]
  } else if constexpr (mask == 8) {
    return u32(__builtin_amdgcn_update_dpp(0, int(x), 0x128, 0xf, 0xf, true));  // row_ror:8, in rows of 16
  } else {
    return u32(__builtin_amdgcn_ds_swizzle(int(x), mask << 10 | 0x1f));  // lane ^ mask
  }
}

template <int mask>
__device__ inline u64 shuffle_xor_word(u64 x) {
  return u64(shuffle_xor_word<mask>(u32(x))) | u64(shuffle_xor_word<mask>(u32(x >> 32))) << 32;
}

// LLVM would split a store of 16-bit elements where it pairs the operations on them.
template <class T>
__device__ inline void store_whole(T *p, const T &x) {
  if constexpr (sizeof(T) % 4 == 0) {
    using Words __attribute__((ext_vector_type(sizeof(T) / 4), may_alias)) = u32;
    *reinterpret_cast<Words *>(p) = bit_cast<Words>(x);
  } else {
    *p = x;
  }
}

__device__ inline void optimization_barrier(f32 &x) { asm volatile("" : "+v"(x)); }

__device__ inline int rematerialize(int x) {
  asm volatile("" : "+v"(x));
  return x;
}

}  // namespace candle::target

#include "matrices_amd.h"
