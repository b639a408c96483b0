// Shared memory: tiles, types of every width, unions, several arrays, addresses that are computed.
#include "common.h"

template <class T>
__device__ void reversed(const u32 *in, u32 *out) {
  __shared__ T tile[BLOCK];
  tile[threadIdx.x] = reinterpret_cast<const T *>(in)[me()];
  __syncthreads();
  reinterpret_cast<T *>(out)[me()] = tile[BLOCK - 1 - threadIdx.x];
}
KERNEL(shared_reversed_u8) { reversed<u8>(in, out); }
KERNEL(shared_reversed_i16) { reversed<i16>(in, out); }
KERNEL(shared_reversed_u32) { reversed<u32>(in, out); }
KERNEL(shared_reversed_u64) { reversed<u64>(in, out); }
KERNEL(shared_reversed_uint2) { reversed<uint2>(in, out); }
KERNEL(shared_reversed_uint3) { reversed<uint3>(in, out); }
KERNEL(shared_reversed_uint4) { reversed<uint4>(in, out); }
KERNEL(shared_reversed_char2) { reversed<char2>(in, out); }
KERNEL(shared_reversed_short4) { reversed<short4>(in, out); }
template <int width>
__device__ void transposed(const u32 *in, u32 *out) {
  __shared__ u32 tile[width][width + 1];
  for (u32 i = threadIdx.x; i < width * width; i += BLOCK)
    tile[i / width][i % width] = in[blockIdx.x * width * width + i];
  __syncthreads();
  for (u32 i = threadIdx.x; i < width * width; i += BLOCK)
    out[blockIdx.x * width * width + i] = tile[i % width][i / width];
}
KERNEL(shared_transposed_8) { transposed<8>(in, out); }
KERNEL(shared_transposed_16) { transposed<16>(in, out); }
KERNEL(shared_transposed_32) { transposed<32>(in, out); }
KERNEL(shared_three_arrays) {
  __shared__ u32 a[BLOCK];
  __shared__ u16 b[BLOCK];
  __shared__ f64 c[BLOCK];
  const u32 t = threadIdx.x;
  a[t] = in[me()], b[t] = u16(in[me()] >> 16), c[t] = f64(i32(in[me()]));
  __syncthreads();
  const u32 u = (t + 31) % BLOCK;
  put(out, 2 * me(), a[u] ^ b[u]), put(out, 2 * me() + 1, i32(c[u] * 0.5));
}
KERNEL(shared_union) {
  __shared__ union {
    u32 words[BLOCK];
    u8 bytes[4 * BLOCK];
  } both;
  both.words[threadIdx.x] = in[me()];
  __syncthreads();
  out[me()] = both.bytes[(threadIdx.x * 7 + 1) % (4 * BLOCK)];
}
KERNEL(shared_structures) {
  struct Item {
    u32 key;
    u8 tag;
    u64 value;
  };
  __shared__ Item item[BLOCK];
  item[threadIdx.x] = {in[me()], u8(threadIdx.x), u64(in[me()]) * 3};
  __syncthreads();
  const Item got = item[threadIdx.x ^ 5];
  put(out, me(), got.value + got.key + got.tag);
}
KERNEL(shared_by_computed_index) {
  __shared__ u32 cell[256];
  cell[threadIdx.x] = in[me()];
  cell[threadIdx.x + 128] = in[me() + 64];
  __syncthreads();
  u32 at = in[me()] & 255, sum = 0;
  for (int i = 0; i < 6; i++) {
    sum += cell[at];
    at = cell[at] & 255;
  }
  out[me()] = sum;
}
KERNEL(shared_with_offsets) {
  __shared__ u32 cell[BLOCK + 64];
  cell[threadIdx.x] = in[me()];
  if (threadIdx.x < 64) cell[BLOCK + threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  const u32 *from = cell + threadIdx.x;
  out[me()] = from[0] + from[1] * 3 + from[16] * 5 + from[17] * 7 + from[63] * 11;
}
KERNEL(shared_with_negative_offsets) {
  __shared__ u32 cell[BLOCK];
  cell[threadIdx.x] = in[me()];
  __syncthreads();
  u32 sum = 0;
  for (int i = -3; i <= 3; i++) {
    const int at = int(threadIdx.x) + i;
    if (at >= 0 && at < int(BLOCK)) sum += cell[at] * u32(i + 4);
  }
  out[me()] = sum;
}
KERNEL(shared_window_before) {
  __shared__ u32 cell[BLOCK];
  cell[threadIdx.x] = in[me()];
  __syncthreads();
  const u32 n = in[4090] ? 2 : 3, j = threadIdx.x - n;
  if (threadIdx.x >= 8 && threadIdx.x < 100) out[me()] = cell[j] + cell[j + 4] + cell[j + 20];
}
KERNEL(shared_double_buffer) {
  __shared__ u32 buffer[2][BLOCK];
  u32 x = in[me()];
  for (int i = 0; i < 5; i++) {
    buffer[i & 1][threadIdx.x] = x;
    __syncthreads();
    x = x * 3 + buffer[i & 1][(threadIdx.x + 1) % BLOCK];
  }
  out[me()] = x;
}
KERNEL(shared_volatile) {
  __shared__ volatile u32 cell[BLOCK];
  cell[threadIdx.x] = in[me()];
  __syncthreads();
  const u32 x = cell[threadIdx.x ^ 64];
  out[me()] = x + cell[threadIdx.x];
}
KERNEL(shared_broadcast) {
  __shared__ u32 value;
  if (threadIdx.x == 77) value = in[me()];
  __syncthreads();
  out[me()] = value + threadIdx.x;
}
KERNEL(shared_queue) {
  __shared__ u32 queue[BLOCK], count, sum;
  if (threadIdx.x == 0) count = sum = 0;
  __syncthreads();
  if (in[me()] % 4 == 1) queue[atomicAdd(&count, 1u)] = in[me()];
  __syncthreads();
  for (u32 i = threadIdx.x; i < count; i += BLOCK) atomicAdd(&sum, queue[i] >> 3);
  __syncthreads();
  out[me()] = sum + count;
}
KERNEL(shared_hash_table) {
  __shared__ u32 key[256], count[256];
  for (u32 i = threadIdx.x; i < 256; i += BLOCK) key[i] = ~0u, count[i] = 0;
  __syncthreads();
  const u32 mine = in[me()] % 50;
  u32 at = mine * 41 & 255;
  for (;;) {
    const u32 before = atomicCAS(&key[at], ~0u, mine);
    if (before == ~0u || before == mine) break;
    at = (at + 1) & 255;
  }
  atomicAdd(&count[at], 1u);
  __syncthreads();
  for (u32 i = threadIdx.x; i < 256; i += BLOCK)
    if (key[i] != ~0u) out[blockIdx.x * 64 + key[i]] = count[i];
}
KERNEL(shared_bits_set) {
  __shared__ u32 mask[8];
  if (threadIdx.x < 8) mask[threadIdx.x] = 0;
  __syncthreads();
  const u32 bit = in[me()] & 255;
  atomicOr(&mask[bit / 32], 1u << bit % 32);
  __syncthreads();
  if (threadIdx.x < 8) out[blockIdx.x * 8 + threadIdx.x] = mask[threadIdx.x];
}
KERNEL(shared_of_32_kilobytes) {
  __shared__ u32 cell[8192];
  for (u32 i = threadIdx.x; i < 8192; i += BLOCK) cell[i] = i * 2654435761u;
  __syncthreads();
  out[me()] = cell[in[me()] & 8191];
}
KERNEL(shared_pairs_at_once) {
  __shared__ u32 cell[2 * BLOCK];
  cell[threadIdx.x] = in[me()], cell[threadIdx.x + BLOCK] = ~in[me()];
  __syncthreads();
  const u32 a = cell[2 * threadIdx.x], b = cell[2 * threadIdx.x + 1];
  out[me()] = a * 3 ^ b;
}
KERNEL(shared_strides_of_64) {
  __shared__ u32 cell[BLOCK + 192];
  for (u32 i = threadIdx.x; i < BLOCK + 192; i += BLOCK) cell[i] = in[i];
  __syncthreads();
  out[me()] =
      cell[threadIdx.x] + cell[threadIdx.x + 64] * 3 + cell[threadIdx.x + 128] * 5 + cell[threadIdx.x + 192] * 7;
}
