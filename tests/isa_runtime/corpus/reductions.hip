// Reductions of blocks and waves, as rocPRIM, hipCUB and PyTorch write them.
#include "common.h"

template <class T, template <class> class Op>
__device__ void in_tree(const u32 *in, u32 *out) {
  __shared__ T part[BLOCK];
  const u32 t = threadIdx.x;
  part[t] = get<T>(in, me());
  __syncthreads();
  for (u32 half = BLOCK / 2; half > 0; half /= 2) {
    if (t < half) part[t] = Op<T>::of(part[t], part[t + half]);
    __syncthreads();
  }
  if (t == 0) put(out, blockIdx.x, part[0]);
}
#define TREE(T, Op) \
  KERNEL(reduce_tree_##Op##_##T) { in_tree<T, Op>(in, out); }
#define TREES(T) TREE(T, Add) TREE(T, Min) TREE(T, Max)
TREES(i32)
TREES(u32)
TREES(i64)
TREES(u64)
TREES(f32)
TREES(f64)
TREES(f16)
TREES(i16)
TREES(u16)
TREE(u32, Or)
TREE(u32, Xor)
TREE(u64, Xor)
TREE(i32, Mul)
TREE(u64, Mul)

template <class T, template <class> class Op>
__device__ T of_wave(T value) {
  for (int delta = warpSize / 2; delta > 0; delta /= 2) value = Op<T>::of(value, __shfl_down(value, delta));
  return value;
}
template <class T, template <class> class Op>
__device__ void by_waves(const u32 *in, u32 *out) {
  __shared__ T part[4];
  const int waves = BLOCK / warpSize;
  const T value = of_wave<T, Op>(get<T>(in, me()));
  if (threadIdx.x % warpSize == 0) part[threadIdx.x / warpSize] = value;
  __syncthreads();
  if (threadIdx.x == 0) {
    T all = part[0];
    for (int i = 1; i < waves; i++) all = Op<T>::of(all, part[i]);
    put(out, blockIdx.x, all);
  }
}
#define WAVES(T, Op) \
  KERNEL(reduce_waves_##Op##_##T) { by_waves<T, Op>(in, out); }
WAVES(i32, Add)
WAVES(i32, Max)
WAVES(u32, Min)
WAVES(i64, Add)
WAVES(u64, Max)
WAVES(f32, Add)
WAVES(f32, Max)
WAVES(f64, Add)
WAVES(f64, Min)
WAVES(u32, Xor)

// Every lane gets the result.
template <class T, template <class> class Op>
__device__ void by_butterfly(const u32 *in, u32 *out) {
  T value = get<T>(in, me());
  for (int mask = 1; mask < warpSize; mask *= 2) value = Op<T>::of(value, __shfl_xor(value, mask));
  put(out, me(), value);
}
#define BUTTERFLY(T, Op) \
  KERNEL(reduce_butterfly_##Op##_##T) { by_butterfly<T, Op>(in, out); }
BUTTERFLY(i32, Add)
BUTTERFLY(u32, Or)
BUTTERFLY(f32, Add)
BUTTERFLY(f32, Min)
BUTTERFLY(f64, Max)
BUTTERFLY(i64, Min)

// Parts of a wave: softmax of short rows.
template <int width>
__device__ void of_parts(const u32 *in, u32 *out) {
  int value = get<i32>(in, me());
  for (int delta = width / 2; delta > 0; delta /= 2) value = max(value, __shfl_xor(value, delta, width));
  put(out, me(), value);
}
KERNEL(reduce_parts_of_4) { of_parts<4>(in, out); }
KERNEL(reduce_parts_of_8) { of_parts<8>(in, out); }
KERNEL(reduce_parts_of_16) { of_parts<16>(in, out); }
KERNEL(reduce_parts_of_32) { of_parts<32>(in, out); }

struct Best {
  float value;
  int index;
};
__device__ inline Best better(Best a, Best b) {
  return b.value > a.value || (b.value == a.value && b.index < a.index) ? b : a;
}
KERNEL(argmax_of_block) {
  __shared__ Best part[BLOCK];
  const u32 t = threadIdx.x;
  part[t] = {get<f32>(in, me()), int(t)};
  __syncthreads();
  for (u32 half = BLOCK / 2; half > 0; half >>= 1) {
    if (t < half) part[t] = better(part[t], part[t + half]);
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = part[0].index;
}
KERNEL(argmax_of_wave) {
  Best best = {get<f32>(in, me()), int(threadIdx.x)};
  for (int delta = warpSize / 2; delta > 0; delta /= 2)
    best = better(best, {__shfl_xor(best.value, delta), __shfl_xor(best.index, delta)});
  out[me()] = best.index;
}
KERNEL(argmin_in_packed_words) {
  u64 best = ~0ull;
  for (u32 i = threadIdx.x; i < 1024; i += BLOCK) best = min(best, u64(in[i]) << 32 | i);
  for (int delta = warpSize / 2; delta > 0; delta /= 2) best = min(best, __shfl_xor(best, delta));
  out[me()] = u32(best);
}

// Welford's mean and variance of four numbers each, then of the block, in exact quarters.
KERNEL(sums_and_squares) {
  __shared__ f32 sum[BLOCK], squares[BLOCK];
  f32 s = 0, q = 0;
  for (u32 i = 0; i < 4; i++) {
    const f32 x = get<f32>(in, me() * 4 + i);
    s += x, q += x * x;
  }
  sum[threadIdx.x] = s, squares[threadIdx.x] = q;
  for (u32 half = BLOCK / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      sum[threadIdx.x] += sum[threadIdx.x + half];
      squares[threadIdx.x] += squares[threadIdx.x + half];
    }
  }
  if (threadIdx.x == 0) put(out, 2 * blockIdx.x, sum[0]), put(out, 2 * blockIdx.x + 1, squares[0]);
}
KERNEL(reduce_float4) {
  const float4 x = reinterpret_cast<const float4 *>(in)[me()];
  put(out, me(), u32(__float_as_uint(x.x) ^ __float_as_uint(x.y) ^ __float_as_uint(x.z) ^ __float_as_uint(x.w)));
}
KERNEL(reduce_grid_stride) {
  u32 sum = 0;
  for (u32 i = me(); i < WORDS_IN; i += gridDim.x * blockDim.x) sum += in[i];
  out[me()] = sum;
}
KERNEL(reduce_unrolled_by_8) {
  u32 sum = 0;
#pragma unroll
  for (u32 i = 0; i < 8; i++) sum = sum * 31 + in[me() + i * THREADS];
  out[me()] = sum;
}
KERNEL(reduce_columns) {
  __shared__ i32 tile[16][17];
  const u32 x = threadIdx.x % 16, y = threadIdx.x / 16;
  tile[y][x] = get<i32>(in, me());
  tile[y + 8][x] = get<i32>(in, me() + 1024);
  __syncthreads();
  if (threadIdx.x < 16) {
    i32 sum = 0;
    for (int row = 0; row < 16; row++) sum += tile[row][threadIdx.x];
    out[blockIdx.x * 16 + threadIdx.x] = sum;
  }
}
KERNEL(reduce_last_block_by_atomics) {
  __shared__ u32 sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, in[me()] >> 8);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(out, sum);
}
#if defined(__OPTIMIZE__) || !defined(__AMDGCN__) || defined(__GFX9__)  // corpus.py: OPTIMIZED
KERNEL(reduce_logic_of_block) {
  const bool odd = in[me()] & 1;
  const int all = __syncthreads_and(odd || threadIdx.x > 100), any = __syncthreads_or(in[me()] == 12345u);
  out[me()] = all << 20 | any << 10 | __syncthreads_count(odd);
}
#endif
KERNEL(reduce_half2_pairs) {
  f32 sum = 0;
  for (u32 i = 0; i < 4; i++) {
    const __half2 pair = __floats2half2_rn(get<f32>(in, 8 * me() + 2 * i), get<f32>(in, 8 * me() + 2 * i + 1));
    const float2 wide = __half22float2(__hadd2(pair, pair));
    sum += wide.x - wide.y;
  }
  put(out, me(), sum);
}
