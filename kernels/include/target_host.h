// The host; see target.h.
#pragma once

// assert rather than a trap: it says why.
#define CANDLE_REQUIRE(condition, why) assert((condition) && why)
#define CANDLE_ASSUME(condition) static_cast<void>(0)  // g++ has no such builtin
// Out of line: inlining these into every kernel took a third of the compile time.
#define CANDLE_SHARED_HELPER __attribute__((noinline)) inline
#define CANDLE_FORCE_INLINE inline
#define CANDLE_NOINLINE_NVIDIA inline
#define CANDLE_NOINLINE_GPU inline
// No unrolling: it multiplies the code, and clang 19 miscompiles (vectorizes) the four or eight copies for q8_0.
#define CANDLE_UNROLL_COLUMNS

namespace candle::target {

constexpr bool on_gpu = false;
constexpr bool integer_matrices_16x8 = false;
using Matrices = NoMatrices;
constexpr bool on_amd = false;
constexpr bool few_registers = false;
template <class T>
constexpr bool adds = false;

// Off by about an ulp, as a GPU's are: what needs exact ones fails on the host too.
__device__ inline f32 exp2(f32 x) { return __builtin_exp2f(x) * 0x1.000002p0f; }

__device__ inline f32 reciprocal(f32 x) { return 1.0f / x * 0x1.000002p0f; }

using portable::dot4;
using portable::f32_to_bf16;
using portable::f32_to_f8;
using portable::f32_to_i32;
using portable::fma_bf16;

#ifdef __F16C__
__device__ inline f32 f16_to_f32(u16 x) { return f32(bit_cast<_Float16>(x)); }

__device__ inline u16 f32_to_f16(f32 x) { return bit_cast<u16>(_Float16(x)); }
#else  // without F16C the compiler would call a library function
using portable::f16_to_f32;
using portable::f32_to_f16;
#endif

__device__ inline u16 fma_f16(u16 a, u16 b, u16 c) {
  return f32_to_f16(portable::fma_f16_round_to_odd(f16_to_f32(a), f16_to_f32(b), f16_to_f32(c)));
}

__device__ inline f32 f8_to_f32(u8 x) { return f16_to_f32(portable::f8_to_f16_scaled(x)) * 256.0f; }

template <int mask, class Word>
__device__ inline Word shuffle_xor_word(Word x) {
  return __shfl_xor(x, mask, 32);
}

template <class T>
__device__ inline void store_whole(T *p, const T &x) {
  *p = x;
}

__device__ inline void optimization_barrier(f32 &) {}

__device__ inline int rematerialize(int x) { return x; }

}  // namespace candle::target
