// Loads and stores of every width and address, of global, constant and generic memory.
#include "common.h"

template <class T>
__device__ void copied(const u32 *in, u32 *out) {
  reinterpret_cast<T *>(out)[me()] = reinterpret_cast<const T *>(in)[me()];
}
KERNEL(copy_u8) { copied<u8>(in, out); }
KERNEL(copy_u16) { copied<u16>(in, out); }
KERNEL(copy_u32) { copied<u32>(in, out); }
KERNEL(copy_u64) { copied<u64>(in, out); }
KERNEL(copy_uint3) { copied<uint3>(in, out); }
KERNEL(copy_uint4) { copied<uint4>(in, out); }
KERNEL(copy_ulonglong2) { copied<ulonglong2>(in, out); }
KERNEL(copy_uchar3) { copied<uchar3>(in, out); }
KERNEL(load_signed_bytes) { put(out, me(), i32(reinterpret_cast<const i8 *>(in)[me() * 3])); }
KERNEL(load_signed_shorts) { put(out, me(), i32(reinterpret_cast<const i16 *>(in)[me() * 3])); }
KERNEL(load_bytes_to_64_bits) { put(out, me(), i64(reinterpret_cast<const i8 *>(in)[me() * 5])); }
KERNEL(store_bytes_of_words) {
  u8 *to = reinterpret_cast<u8 *>(out) + 4 * me();
  const u32 x = in[me()];
  to[0] = u8(x >> 24), to[1] = u8(x >> 16), to[2] = u8(x >> 8), to[3] = u8(x);
}
KERNEL(store_high_halves) {
  u16 *to = reinterpret_cast<u16 *>(out);
  to[2 * me()] = u16(in[me()] >> 16), to[2 * me() + 1] = u16(in[me()]);
}
KERNEL(store_high_bytes) { reinterpret_cast<u8 *>(out)[me()] = u8(in[me()] >> 16); }
KERNEL(load_into_halves) {
  const u16 *from = reinterpret_cast<const u16 *>(in);
  out[me()] = from[me()] | u32(from[me() + 300]) << 16;
}
KERNEL(load_bytes_into_halves) {
  const u8 *from = reinterpret_cast<const u8 *>(in);
  out[me()] = from[me()] | u32(from[me() + 301]) << 16;
}
KERNEL(load_with_offsets) {
  const u32 *from = in + me();
  out[me()] = from[0] + from[100] * 3 + from[1000] * 5 + from[2047] * 7 + from[3000] * 11;
}
KERNEL(load_with_negative_offsets) {
  const u32 *from = in + 2000 + me();
  out[me()] = from[-1] + from[-1000] * 3 + from[-2000] * 5;
}
KERNEL(load_by_64_bit_index) { out[me()] = in[(u64(in[me()]) * 2654435761ull) % WORDS_IN]; }
KERNEL(load_by_signed_index) {
  const i32 at = i32(in[me()] % 2000) - 1000;
  out[me()] = in[at + 1500];
}
KERNEL(load_by_uniform_index) { out[me()] = in[in[blockIdx.x] % WORDS_IN] + me(); }
KERNEL(load_many_uniform_words) {
  u32 sum = 0;
  for (int i = 0; i < 16; i++) sum = sum * 3 + in[64 * blockIdx.x + i];
  out[me()] = sum + me();
}
KERNEL(load_uniform_bytes) {
  const u8 *from = reinterpret_cast<const u8 *>(in);
  out[me()] = from[5 + blockIdx.x] * me() + reinterpret_cast<const u16 *>(in)[3 + blockIdx.x];
}
KERNEL(load_chains) {
  u32 at = me();
  for (int i = 0; i < 8; i++) at = in[at] % WORDS_IN;
  out[me()] = at;
}
KERNEL(gather_and_scatter) {
  const u32 to = me() * 37 % THREADS;
  out[to] = in[in[me()] % WORDS_IN];
}
KERNEL(load_with_stride) { out[me()] = in[me() * 13 % WORDS_IN]; }
KERNEL(load_volatile) {
  const volatile u32 *from = in;
  out[me()] = from[me()] + from[me()];
}
KERNEL(load_through_ldg) { out[me()] = __ldg(in + me()) ^ __ldg(in + me() + 1); }
KERNEL(load_nontemporal) {
  const u32 x = __builtin_nontemporal_load(in + me());
  __builtin_nontemporal_store(x + 1, out + me());
}
KERNEL(load_restricted) {
  const u32 *__restrict__ from = in;
  u32 *__restrict__ to = out;
  for (u32 i = 0; i < 4; i++) to[me() + i * THREADS] = from[me() + i] * from[2048 + i];
}
KERNEL(store_and_load_again) {
  out[me()] = in[me()];
  out[me()] = out[me()] * 3;
  out[me()] += 7;
}
KERNEL(generic_pointers) {
  __shared__ u32 cell[BLOCK];
  cell[threadIdx.x] = in[me()] * 3;
  __syncthreads();
  const u32 *from = in[me()] & 1 ? cell + threadIdx.x : in + me();
  out[me()] = *from;
}
KERNEL(generic_stores) {
  __shared__ u32 cell[BLOCK];
  cell[threadIdx.x] = 1;
  u32 *to = in[me()] & 1 ? cell + threadIdx.x : out + me();
  *to = in[me()];
  __syncthreads();
  out[me() + THREADS] = cell[threadIdx.x];
}
KERNEL(generic_atomics) {
  __shared__ u32 cell;
  if (threadIdx.x == 0) cell = 0;
  __syncthreads();
  u32 *to = in[me()] & 1 ? &cell : out + 4;
  atomicAdd(to, in[me()]);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = cell;
}
KERNEL(generic_wide_loads) {
  __shared__ u64 cell[BLOCK];
  cell[threadIdx.x] = in[me()] * 5ull;
  __syncthreads();
  const u64 *from = in[me()] & 2 ? cell + threadIdx.x : reinterpret_cast<const u64 *>(in) + me();
  put(out, me(), *from);
}
KERNEL(pointers_stored_in_memory) {
  const u32 *rows[3] = {in, in + 700, in + 1400};
  out[me()] = rows[in[me()] % 3][me()];
}
__device__ u32 counter_of_module = 5;
__device__ u32 table_of_module[64];
KERNEL(variables_of_the_module) {
  if (me() < 64) table_of_module[me()] = in[me()];
  __syncthreads();
  if (me() < 64) out[me()] = table_of_module[me()] + counter_of_module;
}
KERNEL(copy_by_memcpy) {
  u32 words[7];
  __builtin_memcpy(words, in + 7 * me(), sizeof words);
  words[3] ^= words[6];
  __builtin_memcpy(out + 7 * me(), words, sizeof words);
}
KERNEL(load_unaligned) {
  u32 word;
  u64 wide;
  __builtin_memcpy(&word, reinterpret_cast<const u8 *>(in) + 5 * me() + 1, 4);
  __builtin_memcpy(&wide, reinterpret_cast<const u8 *>(in) + 9 * me() + 3, 8);
  put(out, me(), wide ^ word);
}
KERNEL(strided_rows_and_columns) {
  // A layout of dimensions and strides in memory.
  const u32 dims[3] = {4, 8, 8}, strides[3] = {1, 32, 4};
  u32 rest = me(), at = 0;
  for (int d = 2; d >= 0; d--) {
    at += rest % dims[d] * strides[d];
    rest /= dims[d];
  }
  out[me()] = in[at];
}
KERNEL(im2col) {
  const u32 x = me() % 16, y = me() / 16;
  u32 sum = 0;
  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++) {
      const int at_x = int(x) + dx, at_y = int(y) + dy;
      const bool inside = at_x >= 0 && at_x < 16 && at_y >= 0 && at_y < 16;
      sum = sum * 5 + (inside ? in[at_y * 16 + at_x] : 1);
    }
  out[me()] = sum;
}
KERNEL(nearest_neighbour) {
  const f32 step = 0.75f;
  const u32 x = me() % 16, y = me() / 16;
  out[me()] = in[u32(f32(y) * step) * 64 + u32(f32(x) * step)];
}
KERNEL(indices_and_sizes) {
  out[me()] = threadIdx.x | blockIdx.x << 8 | blockDim.x << 12 | gridDim.x << 24 | threadIdx.y | blockDim.y << 28;
}
