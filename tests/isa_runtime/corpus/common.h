// What every kernel of the corpus has: words in, words out (zeros before), two blocks of 128 threads.
#pragma once
#include <hip/hip_bfloat16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>
#include <stdio.h>

using i8 = signed char;
using u8 = unsigned char;
using i16 = short;
using u16 = unsigned short;
using i32 = int;
using u32 = unsigned;
using i64 = long long;
using u64 = unsigned long long;
using f16 = _Float16;
using f32 = float;
using f64 = double;

constexpr u32 BLOCK = 128, THREADS = 256, WORDS_IN = 4096, WORDS_OUT = 2048;

#define KERNEL(name) extern "C" __global__ void __launch_bounds__(BLOCK) name(const u32 *in, u32 *out)

__device__ inline u32 me() { return blockIdx.x * BLOCK + threadIdx.x; }

template <class To, class From>
__device__ inline To bits(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To result;
  __builtin_memcpy(&result, &value, sizeof result);
  return result;
}

/// Element i of the words as a T: an integer as it is, a float as a small integer, whose sums and products are exact.
template <class T>
__device__ inline T get(const u32 *in, u32 i) {
  if constexpr (T(0.5) == T(0))
    return reinterpret_cast<const T *>(in)[i];
  else
    return T(int(in[i] & 63) - 32);
}
/// Element i of the words as a T.
template <class T>
__device__ inline void put(u32 *out, u32 i, T value) {
  reinterpret_cast<T *>(out)[i] = value;
}

template <class T>
struct Add {
  __device__ static T of(T a, T b) { return a + b; }
};
template <class T>
struct Min {
  __device__ static T of(T a, T b) { return b < a ? b : a; }
};
template <class T>
struct Max {
  __device__ static T of(T a, T b) { return a < b ? b : a; }
};
template <class T>
struct And {
  __device__ static T of(T a, T b) { return a & b; }
};
template <class T>
struct Or {
  __device__ static T of(T a, T b) { return a | b; }
};
template <class T>
struct Xor {
  __device__ static T of(T a, T b) { return a ^ b; }
};
/// Of odd numbers, so that the product does not end at zero.
template <class T>
struct Mul {
  __device__ static T of(T a, T b) { return (a | T(1)) * (b | T(1)); }
};
