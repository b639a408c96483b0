// Element types of the kernels. Includes no standard header: hipRTC has none.
#pragma once

#include <hip/hip_runtime.h>

namespace candle {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = __UINT64_TYPE__;
using i16 = short;
using i32 = int;
using i64 = __INT64_TYPE__;
using f32 = float;
using f64 = double;

// f16, bf16 and f8 hold raw bits; their arithmetic, in arithmetic.h, rounds after every operation.
struct f16 {
  u16 bits;
};
struct bf16 {
  u16 bits;
};
// OCP e4m3fn: bias 7, largest 448, no infinity, NaN = 0x7f and 0xff. Not AMD's fnuz format.
struct f8 {
  u8 bits;
};
// Candle spells fp8 in two ways.
using f8_e4m3 = f8;
using fp8_e4m3 = f8;

static_assert(sizeof(u32) == 4 && sizeof(u64) == 8 && sizeof(size_t) == 8, "an LP64 target");
static_assert(sizeof(f16) == 2 && sizeof(bf16) == 2 && sizeof(f8) == 1, "packed storage");

// The most elements that a thread processes at a time: more would leave too few threads to fill the GPU.
constexpr int default_max_per_thread = 8;

template <class A, class B>
constexpr bool is_same = false;
template <class A>
constexpr bool is_same<A, A> = true;

template <class T>
constexpr bool is_half = is_same<T, f16> || is_same<T, bf16>;
template <class T>
constexpr bool is_f8 = is_same<T, f8>;
template <class T>
constexpr bool is_integer = is_same<T, u8> || is_same<T, u32> || is_same<T, i16> || is_same<T, i32> || is_same<T, i64>;

template <class To, class From>
__device__ inline To bit_cast(From x) {
  static_assert(sizeof(To) == sizeof(From), "the same size");
  return __builtin_bit_cast(To, x);
}

}  // namespace candle
