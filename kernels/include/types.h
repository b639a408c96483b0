// The element types of the kernels. No standard header: hiprtc has none.
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

// The narrow floats are bits in storage; arithmetic is in number.h and rounds after every operation.
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

// No limit on the elements a thread takes at a time but the eight that keep enough threads busy.
constexpr int any_number = 8;

template <class A, class B>
constexpr bool same = false;
template <class A>
constexpr bool same<A, A> = true;

template <class T>
constexpr bool is_half = same<T, f16> || same<T, bf16>;
template <class T>
constexpr bool is_f8 = same<T, f8>;
template <class T>
constexpr bool is_integer = same<T, u8> || same<T, u32> || same<T, i16> || same<T, i32> || same<T, i64>;

template <class To, class From>
__device__ inline To bit_cast(From x) {
  static_assert(sizeof(To) == sizeof(From), "the same width");
  return __builtin_bit_cast(To, x);
}

}  // namespace candle
