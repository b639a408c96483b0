// The packed formats of quantized weights and activations, little endian. Integers are stored as bytes, as a block may
// start at any multiple of its alignment.
#pragma once

#include "../target.h"
#include "../types.h"

namespace candle {

// Four bytes at an address that is a multiple of `alignment`: one load if the target supports it.
template <int alignment>
struct __attribute__((packed, aligned(alignment))) UnalignedWord {
  u32 bits;
};

template <int alignment>
__device__ inline u32 load_word(const void *p) {
  return static_cast<const UnalignedWord<alignment> *>(p)->bits;
}

// A word whose load may still be in flight: halves are joined where the word is used, so that nothing waits for them
// earlier.
template <int alignment>
struct PendingWord {
  u32 bits;
  __device__ u32 word() const { return bits; }
};
template <>
struct PendingWord<2> {
  u16 low, high;
  __device__ u32 word() const { return low | u32(high) << 16; }
};

template <int alignment>
__device__ inline PendingWord<alignment> begin_load(const void *p) {
  if constexpr (alignment == 2) {
    return {static_cast<const u16 *>(p)[0], static_cast<const u16 *>(p)[1]};
  } else {
    return {load_word<alignment>(p)};
  }
}

// Two bytes at an even address.
__device__ inline u32 load_half(const void *p) { return *static_cast<const u16 *>(p); }

struct WordPair {
  u32 first, second;
};

// Neighbouring words at an even address, of which NVIDIA GPUs would load each half by itself. The word before p has to
// be readable where p is not a multiple of four.
__device__ inline WordPair load_word_pair(const void *p) {
  if constexpr (target::on_gpu && !target::on_amd) {
    const size_t address = reinterpret_cast<size_t>(p);
    const u32 *words = reinterpret_cast<const u32 *>(address & ~size_t(3));
    const u32 shift = u32(address & 2) * 8;
    const u32 a = words[0], b = words[1], c = shift != 0 ? load_half(words + 2) : 0;
    return {u32((u64(b) << 32 | a) >> shift), u32((u64(c) << 32 | b) >> shift)};
  } else {
    return {load_word<2>(p), load_word<2>(static_cast<const u8 *>(p) + 4)};
  }
}

constexpr int group_length = 32;         // values that share one scale of the activations
constexpr int super_block_length = 256;  // values of a K-quant super-block

struct BlockQ4_0 {
  f16 d;
  u8 qs[16];
};
struct alignas(4) BlockQ4_1 {
  f16 d, m;
  u8 qs[16];
};
struct BlockQ5_0 {
  f16 d;
  u8 qh[4];
  u8 qs[16];
};
struct alignas(4) BlockQ5_1 {
  f16 d, m;
  u8 qh[4];
  u8 qs[16];
};
struct BlockQ8_0 {
  f16 d;
  u8 qs[32];
};
// Activations; s is the sum of the 32 values before they were quantized.
struct alignas(4) BlockQ8_1 {
  f16 d, s;
  u8 qs[32];
};
// Activations of the tiled products: 128 values behind 16 bytes of scales and sums, in one of three layouts.
struct alignas(16) BlockQ8_1Tiled {
  u32 header[4];
  u8 qs[128];
};
struct alignas(4) BlockQ2_K {
  u8 scales[16];
  u8 qs[64];
  f16 d, m;
};
struct BlockQ3_K {
  u8 hmask[32];
  u8 qs[64];
  u8 scales[12];
  f16 d;
};
struct alignas(4) BlockQ4_K {
  f16 d, m;
  u8 scales[12];
  u8 qs[128];
};
struct alignas(4) BlockQ5_K {
  f16 d, m;
  u8 scales[12];
  u8 qh[32];
  u8 qs[128];
};
struct BlockQ6_K {
  u8 ql[128];
  u8 qh[64];
  u8 scales[16];
  f16 d;
};
struct alignas(4) BlockQ8_K {
  f32 d;
  u8 qs[256];
  i16 sums[16];
};

static_assert(sizeof(BlockQ4_0) == 18 && sizeof(BlockQ4_1) == 20 && sizeof(BlockQ5_0) == 22, "packed");
static_assert(sizeof(BlockQ5_1) == 24 && sizeof(BlockQ8_0) == 34 && sizeof(BlockQ8_1) == 36, "packed");
static_assert(sizeof(BlockQ2_K) == 84 && sizeof(BlockQ3_K) == 110 && sizeof(BlockQ4_K) == 144, "packed");
static_assert(sizeof(BlockQ5_K) == 176 && sizeof(BlockQ6_K) == 210 && sizeof(BlockQ8_K) == 292, "packed");
static_assert(sizeof(BlockQ8_1Tiled) == 144, "packed");
static_assert(alignof(BlockQ4_0) == 2 && alignof(BlockQ5_0) == 2 && alignof(BlockQ8_0) == 2, "2-byte aligned");
static_assert(alignof(BlockQ3_K) == 2 && alignof(BlockQ6_K) == 2, "2-byte aligned");

}  // namespace candle
