// Arrays of a thread: in registers, in scratch memory, indexed by what is the same for a wave and by what is not.
#include "common.h"

template <class T, int n>
__device__ T indexed(const u32 *in, u32 index) {
  T array[n];
  for (int i = 0; i < n; i++) array[i] = get<T>(in, me() + i);
  return array[index % n];
}
#define INDEXED(T, n)                                                                         \
  KERNEL(array_##T##_##n##_by_uniform) { put(out, me(), indexed<T, n>(in, in[blockIdx.x])); } \
  KERNEL(array_##T##_##n##_by_value) { put(out, me(), indexed<T, n>(in, in[me()])); }
INDEXED(u32, 4)
INDEXED(u32, 16)
INDEXED(u32, 33)
INDEXED(f32, 8)
INDEXED(f64, 4)
INDEXED(f64, 16)
INDEXED(i16, 16)
INDEXED(u8, 16)
INDEXED(u64, 8)
INDEXED(f16, 8)
KERNEL(array_written_by_uniform) {
  u32 array[16] = {};
  for (u32 i = 0; i < 4; i++) array[in[blockIdx.x * 4 + i] % 16] += in[me() + i];
  u32 sum = 0;
  for (int i = 0; i < 16; i++) sum = sum * 7 + array[i];
  out[me()] = sum;
}
KERNEL(array_written_by_value) {
  u32 array[16] = {};
  for (u32 i = 0; i < 8; i++) array[in[me() + i] % 16] += i + 1;
  u32 sum = 0;
  for (int i = 0; i < 16; i++) sum = sum * 7 + array[i];
  out[me()] = sum;
}
KERNEL(array_of_bytes) {
  u8 array[32];
  for (u32 i = 0; i < 32; i++) array[i] = u8(in[me() + i] >> 8);
  u32 sum = 0;
  for (u32 i = 0; i < 8; i++) sum = sum << 3 ^ array[in[me() + 50 + i] & 31];
  out[me()] = sum;
}
KERNEL(array_sorted_by_insertion) {
  u32 key[12];
  for (int i = 0; i < 12; i++) {
    const u32 x = in[12 * (me() % 256) + i];
    int j = i - 1;
    while (j >= 0 && key[j] > x) {
      key[j + 1] = key[j];
      j--;
    }
    key[j + 1] = x;
  }
  out[2 * me()] = key[0], out[2 * me() + 1] = key[6];
}
KERNEL(array_of_two_dimensions) {
  i32 table[4][6];
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 6; j++) table[i][j] = get<i32>(in, me() + 6 * i + j);
  put(out, me(), table[in[me()] & 3][in[me() + 1] % 6]);
}
KERNEL(array_of_structures) {
  struct Item {
    u32 key;
    f32 value;
    u8 kind;
  } items[6];
  for (u32 i = 0; i < 6; i++) items[i] = {in[me() + i], get<f32>(in, me() + i + 6), u8(i)};
  const Item &chosen = items[in[me()] % 6];
  out[me()] = chosen.key ^ u32(int(chosen.value)) ^ u32(chosen.kind) << 24;
}
KERNEL(array_through_a_pointer) {
  u32 a[5], b[5];
  for (int i = 0; i < 5; i++) a[i] = in[me() + i], b[i] = in[me() + 100 + i];
  u32 *chosen = in[me()] & 1 ? a : b;
  for (int i = 0; i < 5; i++) chosen[i] += i;
  u32 sum = 0;
  for (int i = 0; i < 5; i++) sum ^= a[i] * 3 + b[(i + int(in[me()] % 5)) % 5];
  out[me()] = sum;
}
KERNEL(array_of_a_ring) {
  u32 ring[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  u32 head = in[me()] & 7;
  for (int i = 0; i < 20; i++) {
    ring[head] += ring[(head + 3) & 7];
    head = (head + 1) & 7;
  }
  out[me()] = ring[0] ^ ring[5];
}
KERNEL(array_as_a_stack) {
  u32 stack[16], depth = 0, sum = 0;
  stack[depth++] = in[me()] % 32 + 4;
  while (depth > 0) {
    const u32 x = stack[--depth];
    if (x < 4)
      sum += x + 1;
    else if (depth < 14)
      stack[depth++] = x / 2, stack[depth++] = x / 3;
  }
  out[me()] = sum;
}
__constant__ u32 primes[16] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53};
__constant__ f32 weights[3][3] = {{1, 2, 1}, {0, 0, 0}, {-1, -2, -1}};
__device__ const i8 codes[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
KERNEL(table_of_constants_by_value) { out[me()] = primes[in[me()] & 15]; }
KERNEL(table_of_constants_by_uniform) { out[me()] = primes[in[blockIdx.x] & 15] * in[me()]; }
KERNEL(table_of_floats) {
  f32 sum = 0;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) sum += weights[i][j] * get<f32>(in, me() + 16 * i + j);
  put(out, me(), sum);
}
KERNEL(table_of_bytes) {
  u32 word = 0;
  for (int i = 0; i < 4; i++) word |= u32(u8(codes[in[me()] >> 4 * i & 15])) << 8 * i;
  out[me()] = word;
}
KERNEL(table_in_the_kernel) {
  constexpr u32 table[8] = {0x12, 0xff00, 7, 0, 99, 0x80000000, 1, 5};
  out[me()] = table[in[me()] & 7];
}
KERNEL(registers_spilled) {
  f32 x[64];
  for (int i = 0; i < 64; i++) x[i] = get<f32>(in, me() + i);
  for (int turn = 0; turn < 2; turn++)
    for (int i = 0; i < 64; i++) x[i] += x[(i * 13 + 5) % 64];
  f32 sum = 0;
  for (int i = 0; i < 64; i++) sum += x[i];
  put(out, me(), sum);
}
KERNEL(array_copied) {
  struct Block {
    u32 word[20];
  };
  Block a;
  __builtin_memcpy(&a, in + me(), sizeof a);
  Block b = a;
  b.word[in[me()] % 20] = 0;
  u32 sum = 0;
  for (u32 word : b.word) sum = sum * 5 + word;
  out[me()] = sum;
}
KERNEL(array_set) {
  u8 flags[24];
  __builtin_memset(flags, 3, sizeof flags);
  flags[in[me()] % 24] = 9;
  u32 sum = 0;
  for (int i = 0; i < 24; i++) sum = sum * 3 + flags[i];
  out[me()] = sum;
}
KERNEL(bits_of_an_array) {
  u32 words[4] = {};
  for (u32 i = 0; i < 16; i++) {
    const u32 bit = in[me() + i] & 127;
    words[bit / 32] |= 1u << bit % 32;
  }
  out[me()] = words[0] ^ words[1] << 1 ^ words[2] << 2 ^ words[3] << 3;
}
