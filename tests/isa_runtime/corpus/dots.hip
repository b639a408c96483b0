// Dot products of bytes, nibbles, shorts and halves, and small products of matrices.
#include "common.h"

__device__ inline i32 bytes_dot(u32 a, u32 b, i32 c) {
  for (int i = 0; i < 4; i++) c += i32(i8(a >> 8 * i)) * i32(i8(b >> 8 * i));
  return c;
}
KERNEL(dot_of_signed_bytes) { put(out, me(), bytes_dot(in[me()], in[me() + 1], 7)); }
KERNEL(dot_of_unsigned_bytes) {
  const u32 a = in[me()], b = in[me() + 1];
  u32 sum = 3;
  for (int i = 0; i < 4; i++) sum += (a >> 8 * i & 255) * (b >> 8 * i & 255);
  out[me()] = sum;
}
KERNEL(dot_of_mixed_bytes) {
  const u32 a = in[me()], b = in[me() + 1];
  i32 sum = 0;
  for (int i = 0; i < 4; i++) sum += i32(i8(a >> 8 * i)) * i32(b >> 8 * i & 255);
  put(out, me(), sum);
}
KERNEL(dot_of_char4) {
  const char4 a = reinterpret_cast<const char4 *>(in)[me()], b = reinterpret_cast<const char4 *>(in)[me() + 1];
  put(out, me(), a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w);
}
KERNEL(dot_of_nibbles) {
  const u32 a = in[me()], b = in[me() + 1];
  i32 sum = 0;
  for (int i = 0; i < 8; i++) sum += (i32(a << (28 - 4 * i)) >> 28) * (i32(b << (28 - 4 * i)) >> 28);
  put(out, me(), sum);
}
KERNEL(dot_of_unsigned_nibbles) {
  const u32 a = in[me()], b = in[me() + 1];
  u32 sum = 0;
  for (int i = 0; i < 8; i++) sum += (a >> 4 * i & 15) * (b >> 4 * i & 15);
  out[me()] = sum;
}
KERNEL(dot_of_shorts) {
  const u32 a = in[me()], b = in[me() + 1];
  put(out, me(), i32(i16(a)) * i32(i16(b)) + i32(i16(a >> 16) / 2) * i32(i16(b >> 16)));
}
KERNEL(dot_of_unsigned_shorts) {
  const u32 a = in[me()], b = in[me() + 1];
  out[me()] = (a & 0xffff) * (b & 0xffff) + (a >> 16) * (b >> 16);
}
KERNEL(dot_of_halves_in_float) {
  f32 sum = 0;
  for (u32 i = 0; i < 8; i++) sum += f32(get<f16>(in, 8 * me() + i)) * f32(get<f16>(in, 8 * me() + 7 - i));
  put(out, me(), sum);
}
KERNEL(dot_of_halves_in_half) {
  f16 sum = 0;
  for (u32 i = 0; i < 4; i++) sum += get<f16>(in, 4 * me() + i) * f16(0.25);
  put(out, me(), sum);
}
KERNEL(dot_of_bytes_in_int64) {
  i64 sum = 0;
  for (u32 i = 0; i < 4; i++) sum += i64(get<i32>(in, me() + i)) * get<i32>(in, me() + 4 + i);
  put(out, me(), sum);
}
KERNEL(dot_of_doubles) {
  f64 sum = 0;
  for (u32 i = 0; i < 8; i++) sum = fma(get<f64>(in, 8 * me() + i), get<f64>(in, 8 * me() + 7 - i), sum);
  put(out, me(), sum);
}
KERNEL(row_dot_by_wave) {
  i32 sum = 0;
  for (u32 i = threadIdx.x % warpSize; i < 256; i += warpSize)
    sum = bytes_dot(in[i + 256 * (me() / warpSize)], in[i + 2048], sum);
  for (int delta = warpSize / 2; delta > 0; delta /= 2) sum += __shfl_xor(sum, delta);
  put(out, me(), sum);
}
template <class T>
__device__ void matmul(const u32 *in, u32 *out) {
  __shared__ T a[8][8], b[8][8];
  const u32 t = threadIdx.x % 64, x = t % 8, y = t / 8;
  if (threadIdx.x < 64)
    a[y][x] = get<T>(in, blockIdx.x * 64 + t);
  else
    b[y][x] = get<T>(in, 512 + t);
  __syncthreads();
  if (threadIdx.x >= 64) return;
  T sum = T(0);
#pragma unroll
  for (int k = 0; k < 8; k++) sum += a[y][k] * b[k][x];
  put(out, blockIdx.x * 64 + t, sum);
}
KERNEL(matmul_f32) { matmul<f32>(in, out); }
KERNEL(matmul_f64) { matmul<f64>(in, out); }
KERNEL(matmul_i32) { matmul<i32>(in, out); }
KERNEL(matmul_u64) { matmul<u64>(in, out); }
KERNEL(matmul_i16) { matmul<i16>(in, out); }
KERNEL(matmul_u8) { matmul<u8>(in, out); }
KERNEL(matmul_registers) {
  f32 a[4][4], b[4][4];
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) {
      a[i][j] = get<f32>(in, me() + 4 * i + j);
      b[i][j] = get<f32>(in, me() + 64 + 4 * j + i);
    }
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 4; j++) {
      f32 sum = 0;
      for (int k = 0; k < 4; k++) sum += a[i][k] * b[k][j];
      put(out, 8 * me() + 4 * i + j, sum);
    }
}
KERNEL(matvec_float4) {
  f32 sum = 0;
  for (u32 row = 0; row < 4; row++) {
    const u32 at = 4 * ((me() + row) % 512);
    const float4 a = {get<f32>(in, at), get<f32>(in, at + 1), get<f32>(in, at + 2), get<f32>(in, at + 3)};
    const float4 b = {1.0f, 2.0f, -1.0f, 0.5f};
    sum += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
  }
  put(out, me(), sum);
}
KERNEL(convolution_1d) {
  __shared__ f32 tile[BLOCK + 4];
  const u32 t = threadIdx.x;
  tile[t] = get<f32>(in, me());
  if (t < 4) tile[BLOCK + t] = get<f32>(in, me() + BLOCK);
  __syncthreads();
  const f32 weights[5] = {1, -2, 4, -2, 1};
  f32 sum = 0;
  for (int i = 0; i < 5; i++) sum += weights[i] * tile[t + i];
  put(out, me(), sum);
}
KERNEL(stencil_with_a_negative_base) {
  __shared__ f32 tile[BLOCK + 32];
  const int t = threadIdx.x, halo = in[4095] ? 2 : 1;
  tile[t] = get<f32>(in, me());
  if (t < 32) tile[BLOCK + t] = 1;
  __syncthreads();
  const int j = t - halo;
  put(out, me(), tile[j + 16] + tile[j + 20] + tile[j + 24]);
}
KERNEL(polynomial_horner) {
  const i32 x = get<i32>(in, me());
  put(out, me(), ((x * 3 + 5) * x - 7) * x + 11);
}
KERNEL(sum_of_absolute_differences) {
  const u32 a = in[me()], b = in[me() + 1];
  u32 sum = 0;
  for (int i = 0; i < 4; i++) {
    const i32 difference = i32(a >> 8 * i & 255) - i32(b >> 8 * i & 255);
    sum += difference < 0 ? -difference : difference;
  }
  out[me()] = sum;
}
KERNEL(sad_functions) {
  out[me()] = __usad(in[me()], in[me() + 1], 9u) + __sad(i32(in[me() + 2] >> 1), i32(in[me() + 3] >> 1), 1u);
}

// As llama.cpp and PyTorch choose instructions by target; the host computes what they mean.
#if defined(__GFX11__) || defined(__GFX12__)
#define DOT4(a, b, c) __builtin_amdgcn_sudot4(true, a, true, b, c, false)
#define DOT8(a, b, c) __builtin_amdgcn_sudot8(true, a, true, b, c, false)
#define MIXED_DOT4(a, b, c) __builtin_amdgcn_sudot4(true, a, false, b, c, false)
#elif defined(__AMDGCN__)
#define DOT4(a, b, c) __builtin_amdgcn_sdot4(a, b, c, false)
#define DOT8(a, b, c) __builtin_amdgcn_sdot8(a, b, c, false)
#endif
template <class A, class B, int width>
__device__ i32 parts_dot(u32 a, u32 b, i32 c) {
  u32 sum = u32(c);
  for (int i = 0; i < 32; i += width) {
    const i32 p = i32(a << (32 - width - i)), q = i32(b << (32 - width - i));
    const i32 x = A(-1) < A(0) ? p >> (32 - width) : i32(u32(p) >> (32 - width));
    const i32 y = B(-1) < B(0) ? q >> (32 - width) : i32(u32(q) >> (32 - width));
    sum += u32(x) * u32(y);
  }
  return i32(sum);
}
#ifndef DOT4
#define DOT4(a, b, c) parts_dot<i32, i32, 8>(u32(a), u32(b), c)
#define DOT8(a, b, c) parts_dot<i32, i32, 4>(u32(a), u32(b), c)
#endif
#ifndef MIXED_DOT4
#define MIXED_DOT4(a, b, c) parts_dot<i32, u32, 8>(u32(a), u32(b), c)
#endif
#define DOT(name, ...)                                                                             \
  KERNEL(dot_instruction_##name) {                                                                 \
    const i32 a = get<i32>(in, me()), b = get<i32>(in, me() + 1), c = get<i32>(in, me() + 2) >> 3; \
    put(out, me(), i32(__VA_ARGS__));                                                              \
  }
DOT(sdot4, DOT4(a, b, c))
DOT(sdot8, DOT8(a, b, c))
DOT(mixed_dot4, MIXED_DOT4(a, b, c))
DOT(sum_of_dots, DOT4(a, b, DOT4(b, c, DOT4(a, c, 5))))
#ifdef __AMDGCN__
DOT(udot4, __builtin_amdgcn_udot4(u32(a), u32(b), u32(c), false))
DOT(udot8, __builtin_amdgcn_udot8(u32(a), u32(b), u32(c), false))
#else
DOT(udot4, parts_dot<u32, u32, 8>(u32(a), u32(b), c))
DOT(udot8, parts_dot<u32, u32, 4>(u32(a), u32(b), c))
#endif
KERNEL(dot_instruction_of_halves) {
  typedef f16 Pair __attribute__((ext_vector_type(2)));
  const Pair a = {get<f16>(in, me()), get<f16>(in, me() + 1)}, b = {get<f16>(in, me() + 2), get<f16>(in, me() + 3)};
  const f32 c = get<f32>(in, me() + 4);
#ifdef __AMDGCN__
  put(out, me(), __builtin_amdgcn_fdot2(a, b, c, false));
#else
  put(out, me(), f32(a.x) * f32(b.x) + f32(a.y) * f32(b.y) + c);
#endif
}
