// Blocks of quantized weights in llama.cpp's manner, with layouts of our own; scales are powers of two or small halves.
#include "common.h"

__device__ inline f32 scale_at(const u32 *in, u32 i) { return f32(int(in[i] & 15) + 1) * 0.0625f; }
__device__ inline u8 byte_at(const u32 *in, u32 i) { return reinterpret_cast<const u8 *>(in)[i]; }

KERNEL(dequantize_4_bits) {
  const u32 block = me() / 16, i = me() % 16;
  const f32 d = scale_at(in, block);
  const u8 q = byte_at(in, 64 + block * 16 + i);
  put(out, block * 32 + i, d * f32(int(q & 15) - 8));
  put(out, block * 32 + 16 + i, d * f32(int(q >> 4) - 8));
}
KERNEL(dequantize_4_bits_with_minimum) {
  const u32 block = me() / 16, i = me() % 16;
  const f32 d = scale_at(in, block), m = scale_at(in, block + 77);
  const u8 q = byte_at(in, 64 + block * 16 + i);
  put(out, block * 32 + i, d * f32(q & 15) + m);
  put(out, block * 32 + 16 + i, d * f32(q >> 4) + m);
}
KERNEL(dequantize_5_bits) {
  const u32 block = me() / 16, i = me() % 16;
  const f32 d = scale_at(in, block);
  const u32 high = in[32 + block];
  const u8 q = byte_at(in, 512 + block * 16 + i);
  put(out, block * 32 + i, d * f32(int((q & 15) | (high >> i << 4 & 16)) - 16));
  put(out, block * 32 + 16 + i, d * f32(int((q >> 4) | (high >> (i + 12) & 16)) - 16));
}
KERNEL(dequantize_8_bits) {
  const i8 q = i8(byte_at(in, me()));
  put(out, me(), scale_at(in, me() / 32 + 512) * f32(q));
}
KERNEL(dequantize_8_bits_to_halves) {
  const char4 q = reinterpret_cast<const char4 *>(in)[me()];
  const f16 d = f16(scale_at(in, me() / 8 + 512));
  put(out, 4 * me(), f16(d * f16(int(q.x)))), put(out, 4 * me() + 1, f16(d * f16(int(q.y))));
  put(out, 4 * me() + 2, f16(d * f16(int(q.z)))), put(out, 4 * me() + 3, f16(d * f16(int(q.w))));
}
KERNEL(dequantize_2_bits) {
  const u8 q = byte_at(in, me() / 4 + 100);
  const u8 scales = byte_at(in, me() / 16);
  const f32 d = f32(scales & 15), m = f32(scales >> 4);
  put(out, me(), d * f32(q >> 2 * (me() & 3) & 3) - m);
}
KERNEL(dequantize_3_bits) {
  const u32 i = me();
  const u8 low = byte_at(in, i / 4), high = byte_at(in, 256 + i / 8);
  const int q = (low >> 2 * (i & 3) & 3) - (high >> (i & 7) & 1 ? 0 : 4);
  put(out, i, f32(int(byte_at(in, 512 + i / 16) & 63) - 32) * f32(q));
}
KERNEL(dequantize_6_bits) {
  const u32 i = me();
  const u8 low = byte_at(in, i / 2), high = byte_at(in, 256 + i / 4);
  const int q = (i & 1 ? low >> 4 : low & 15) | (high >> 2 * (i & 3) & 3) << 4;
  put(out, i, f32(i8(byte_at(in, 512 + i / 16))) * f32(q - 32));
}
KERNEL(unpack_scales_of_6_bits) {
  const u32 j = me() & 7, base = me() / 8 * 12;
  u8 scale, minimum;
  if (j < 4) {
    scale = byte_at(in, base + j) & 63, minimum = byte_at(in, base + j + 4) & 63;
  } else {
    scale = (byte_at(in, base + j + 4) & 15) | (byte_at(in, base + j - 4) >> 6) << 4;
    minimum = byte_at(in, base + j + 4) >> 4 | (byte_at(in, base + j) >> 6) << 4;
  }
  out[me()] = scale << 8 | minimum;
}
KERNEL(dequantize_by_a_table) {
  __shared__ i8 table[16];
  if (threadIdx.x < 16) table[threadIdx.x] = i8(threadIdx.x * threadIdx.x) - 60;
  __syncthreads();
  const u8 q = byte_at(in, me());
  put(out, 2 * me(), f32(table[q & 15])), put(out, 2 * me() + 1, f32(table[q >> 4]));
}
KERNEL(dot_of_4_bits_with_8_bits) {
  const u32 q = in[me()], low = q & 0x0f0f0f0f, high = q >> 4 & 0x0f0f0f0f;
  i32 sum = 0;
  for (int i = 0; i < 4; i++) {
    sum += i32(low >> 8 * i & 15) * i32(i8(in[me() + 1] >> 8 * i));
    sum += i32(high >> 8 * i & 15) * i32(i8(in[me() + 2] >> 8 * i));
  }
  put(out, me(), scale_at(in, me()) * f32(sum));
}
KERNEL(dot_of_5_bits_with_8_bits) {
  const u32 q = in[me()], high = in[me() + 9];
  u32 words[2] = {q & 0x0f0f0f0f, q >> 4 & 0x0f0f0f0f};
  words[0] |= high << 4 & 0x10 | high << 11 & 0x1000 | high << 18 & 0x100000 | high << 25 & 0x10000000;
  words[1] |= high >> 12 & 0x10 | high >> 5 & 0x1000 | high << 2 & 0x100000 | high << 9 & 0x10000000;
  i32 sum = 0;
  for (int w = 0; w < 2; w++)
    for (int i = 0; i < 4; i++) sum += i32(i8(words[w] >> 8 * i)) * i32(i8(in[me() + 1 + w] >> 8 * i));
  put(out, me(), sum);
}
KERNEL(bytes_without_a_borrow) {
  // A byte less 32 in each, as for 6 bits.
  const u32 q = in[me()] & 0x3f3f3f3f;
  u32 word = 0;
  for (int i = 0; i < 4; i++) word |= u32(u8(i8(q >> 8 * i) - 32)) << 8 * i;
  out[me()] = word;
}
KERNEL(quantize_8_bits) {
  // Scales are powers of two, so that quotients are exact.
  const f32 x = get<f32>(in, me());
  f32 largest = fabsf(x);
  for (int mask = 16; mask > 0; mask /= 2) largest = fmaxf(largest, __shfl_xor(largest, mask, 32));
  int exponent;
  frexpf(largest, &exponent);
  const f32 d = ldexpf(1.0f, exponent - 7);
  put(out, me(), i32(i8(roundf(x / d))));
}
KERNEL(quantize_4_bits) {
  const u32 i = me() * 2;
  const f32 x = get<f32>(in, i) * 0.25f, y = get<f32>(in, i + 1) * 0.25f;
  const u32 a = u32(min(15, int(x + 8.5f))), b = u32(min(15, int(y + 8.5f)));
  out[me()] = (a & 15) | (b & 15) << 4;
}
KERNEL(quantize_sums_of_blocks) {
  i32 q = i8(byte_at(in, me()));
  for (int mask = 16; mask > 0; mask /= 2) q += __shfl_xor(q, mask, 32);
  put(out, me(), q);
}
KERNEL(pack_nibbles) {
  const uint4 x = reinterpret_cast<const uint4 *>(in)[me()];
  out[me()] = (x.x & 15) | (x.y & 15) << 4 | (x.z & 15) << 8 | (x.w & 15) << 12;
}
KERNEL(loads_of_halfwords) {
  // A block of 18 bytes: words that are only aligned to 2.
  const u8 *block = reinterpret_cast<const u8 *>(in) + 18 * me();
  const u16 *half = reinterpret_cast<const u16 *>(block + 2);
  u32 sum = *reinterpret_cast<const u16 *>(block);
  for (int i = 0; i < 4; i++) sum = sum * 31 + (half[2 * i] | u32(half[2 * i + 1]) << 16);
  out[me()] = sum;
}
KERNEL(loads_of_a_packed_structure) {
  struct __attribute__((packed)) Block {
    u16 scale;
    u8 high[4];
    u8 low[16];
  };
  const Block &block = reinterpret_cast<const Block *>(in)[me() % 128];
  u32 high;
  __builtin_memcpy(&high, block.high, 4);
  out[me()] = block.scale ^ high ^ u32(block.low[in[me()] & 15]) << 16;
}
KERNEL(signs_of_a_table) {
  const u32 word = in[me()];
  const u8 signs = u8(word ^ word >> 8);
  i32 sum = 0;
  for (int i = 0; i < 8; i++) sum += (signs >> i & 1 ? -1 : 1) * i32(word >> (4 * i) & 15);
  put(out, me(), sum);
}
KERNEL(ternary_digits) {
  u8 q = byte_at(in, me());
  u32 word = 0;
  for (int i = 0; i < 5; i++) {
    const u32 digit = u32(u16(q) * 3) >> 8;
    word |= digit << 2 * i;
    q = u8(q * 3);
  }
  out[me()] = word;
}
KERNEL(float_of_8_bits_e4m3) {
  const u32 x = byte_at(in, me()), exponent = x >> 3 & 15, fraction = x & 7;
  const f32 size = exponent ? ldexpf(f32(8 + fraction), int(exponent) - 10) : ldexpf(f32(fraction), -9);
  put(out, me(), x & 0x80 ? -size : size);
}
KERNEL(float_of_4_bits) {
  const u8 q = byte_at(in, me());
  f32 y[2];
  for (int i = 0; i < 2; i++) {
    const u32 x = q >> 4 * i & 15, exponent = x >> 1 & 3;
    const f32 size = exponent ? f32(2 + (x & 1)) * f32(1u << (exponent - 1)) * 0.5f : f32(x & 1) * 0.5f;
    y[i] = x & 8 ? -size : size;
  }
  put(out, 2 * me(), y[0]), put(out, 2 * me() + 1, y[1]);
}
KERNEL(exponent_of_a_byte) {
  const u32 x = byte_at(in, me()) % 254 + 1;
  put(out, me(), bits<f32>(x << 23));
}
KERNEL(matvec_of_a_quantized_row) {
  i32 sum = 0;
  const u32 row = me() / warpSize, lane = threadIdx.x % warpSize;
  for (u32 i = lane; i < 128; i += warpSize) {
    const u32 q = in[row * 128 + i], x = in[2048 + i];
    for (int k = 0; k < 4; k++) sum += i32(i8(q >> 8 * k)) * i32(i8(x >> 8 * k));
  }
  for (int delta = warpSize / 2; delta > 0; delta /= 2) sum += __shfl_down(sum, delta);
  if (lane == 0) put(out, row, f32(sum) * 0.5f);
}
