// kernels/include/target.h against portable.h: wrong[k] counts the inputs on which the k-th function differs.
#include "arithmetic.h"

using namespace candle;

namespace {

__device__ u64 first() { return u64(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ u64 step() { return u64(gridDim.x) * blockDim.x; }

// splitmix64
__device__ u64 scattered(u64 i) {
  u64 z = (i + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

__device__ bool differ(f32 a, f32 b) { return bit_cast<u32>(a) != bit_cast<u32>(b) && (a == a || b == b); }

// Any pattern; or one within some powers of two of the product, where ties and cancellations are.
__device__ u16 addend(u32 random, u16 product, int mantissa_bits) {
  const u32 pattern = random >> 1 & 0xffff;
  if (random & 1) return u16(pattern);
  const u32 kept = 0x8000 | ((1u << mantissa_bits) - 1);
  const u32 exponent = product + (((random >> 17 & 31) - 16) << mantissa_bits);
  return u16((pattern & kept) | (exponent & ~kept));
}

}  // namespace

// Every f32.
extern "C" __global__ void narrowing(u32 *wrong) {
  u32 count[3] = {};
  for (u64 i = first(); i < u64(1) << 32; i += step()) {
    const f32 x = bit_cast<f32>(u32(i));
    count[0] += target::f32_to_f16(x) != portable::f32_to_f16(x);
    count[1] += target::f32_to_bf16(x) != portable::f32_to_bf16(x);
    count[2] += target::f32_to_f8(x) != portable::f32_to_f8(x);
  }
  for (int k = 0; k < 3; ++k) atomicAdd(wrong + k, count[k]);
}

// Every f16, every f8; a NaN is a NaN.
extern "C" __global__ void widening(u32 *wrong) {
  for (u64 i = first(); i < 65536; i += step()) {
    if (differ(target::f16_to_f32(u16(i)), portable::f16_to_f32(u16(i)))) atomicAdd(wrong, 1);
    const f32 f8_value = portable::f16_to_f32(portable::f8_to_f16_scaled(u8(i))) * 256.0f;
    if (differ(target::f8_to_f32(u8(i)), f8_value)) atomicAdd(wrong + 1, 1);
  }
}

extern "C" __global__ void arithmetic(u32 *wrong) {
  u32 count[3] = {};
  for (u64 i = first(); i < u64(1) << 27; i += step()) {
    const u64 random = scattered(i);
    const u16 a = u16(random), b = u16(random >> 16);
    {
      const f32 x = portable::f16_to_f32(a), y = portable::f16_to_f32(b);
      const u16 c = addend(u32(random >> 32), portable::f32_to_f16(x * y), 10);
      const u16 expected = portable::f32_to_f16(portable::fma_f16_round_to_odd(x, y, portable::f16_to_f32(c)));
      count[0] += target::fma_f16(a, b, c) != expected;
    }
    {
      const u16 product = portable::f32_to_bf16(widen(bf16{a}) * widen(bf16{b}));
      const u16 c = addend(u32(random >> 32), product, 7);
      count[1] += target::fma_bf16(a, b, c) != portable::fma_bf16(a, b, c);
    }
    const u32 low = u32(random), high = u32(random >> 32);
    count[2] += target::dot4(low, high, i32(low ^ high)) != portable::dot4(low, high, i32(low ^ high));
  }
  for (int k = 0; k < 3; ++k) atomicAdd(wrong + k, count[k]);
}
