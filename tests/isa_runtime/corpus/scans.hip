// Prefix sums, compaction, sorting and searching, as rocPRIM and hipCUB build them.
#include "common.h"

template <class T, template <class> class Op>
__device__ void inclusive_of_block(const u32 *in, u32 *out) {
  __shared__ T buffer[2][BLOCK];
  const u32 t = threadIdx.x;
  int from = 0;
  buffer[0][t] = get<T>(in, me());
  __syncthreads();
  for (u32 offset = 1; offset < BLOCK; offset *= 2) {
    buffer[1 - from][t] = t >= offset ? Op<T>::of(buffer[from][t - offset], buffer[from][t]) : buffer[from][t];
    from = 1 - from;
    __syncthreads();
  }
  put(out, me(), buffer[from][t]);
}
#define INCLUSIVE(T, Op) \
  KERNEL(scan_block_##Op##_##T) { inclusive_of_block<T, Op>(in, out); }
INCLUSIVE(u32, Add)
INCLUSIVE(i32, Max)
INCLUSIVE(i64, Add)
INCLUSIVE(u64, Min)
INCLUSIVE(f32, Add)
INCLUSIVE(f32, Max)
INCLUSIVE(f64, Add)
INCLUSIVE(u16, Add)
INCLUSIVE(u8, Xor)
INCLUSIVE(u32, Mul)

template <class T, template <class> class Op>
__device__ T inclusive_of_wave(T value) {
  const int lane = threadIdx.x % warpSize;
  for (int delta = 1; delta < warpSize; delta *= 2) {
    const T other = __shfl_up(value, delta);
    if (lane >= delta) value = Op<T>::of(other, value);
  }
  return value;
}
#define OF_WAVE(T, Op) \
  KERNEL(scan_wave_##Op##_##T) { put(out, me(), inclusive_of_wave<T, Op>(get<T>(in, me()))); }
OF_WAVE(u32, Add)
OF_WAVE(i32, Min)
OF_WAVE(u64, Add)
OF_WAVE(i64, Max)
OF_WAVE(f32, Add)
OF_WAVE(f64, Max)
OF_WAVE(u32, Or)

// Up and down a tree.
template <class T>
__device__ void exclusive_of_block(const u32 *in, u32 *out) {
  __shared__ T tree[BLOCK];
  const u32 t = threadIdx.x;
  tree[t] = get<T>(in, me());
  for (u32 stride = 1; stride < BLOCK; stride *= 2) {
    __syncthreads();
    const u32 i = (t + 1) * stride * 2 - 1;
    if (i < BLOCK) tree[i] += tree[i - stride];
  }
  __syncthreads();
  if (t == 0) tree[BLOCK - 1] = T(0);
  for (u32 stride = BLOCK / 2; stride > 0; stride /= 2) {
    __syncthreads();
    const u32 i = (t + 1) * stride * 2 - 1;
    if (i < BLOCK) {
      const T left = tree[i - stride];
      tree[i - stride] = tree[i];
      tree[i] += left;
    }
  }
  __syncthreads();
  put(out, me(), tree[t]);
}
KERNEL(scan_exclusive_u32) { exclusive_of_block<u32>(in, out); }
KERNEL(scan_exclusive_i64) { exclusive_of_block<i64>(in, out); }
KERNEL(scan_exclusive_f32) { exclusive_of_block<f32>(in, out); }
KERNEL(scan_exclusive_f64) { exclusive_of_block<f64>(in, out); }

KERNEL(scan_by_waves_and_sums) {
  __shared__ u32 sums[4];
  u32 value = inclusive_of_wave<u32, Add>(in[me()] & 1023);
  const int wave = threadIdx.x / warpSize;
  if (threadIdx.x % warpSize == u32(warpSize - 1)) sums[wave] = value;
  __syncthreads();
  for (int i = 0; i < wave; i++) value += sums[i];
  out[me()] = value;
}
KERNEL(scan_segmented) {
  u32 value = in[me()] & 255;
  bool head = (in[me()] >> 8 & 7) == 0;
  const int lane = threadIdx.x % warpSize;
  for (int delta = 1; delta < warpSize; delta *= 2) {
    const u32 other = __shfl_up(value, delta);
    const int other_head = __shfl_up(int(head), delta);
    if (lane >= delta) {
      if (!head) value += other;
      head = head || other_head;
    }
  }
  out[me()] = value;
}
KERNEL(scan_items_per_thread) {
  u32 item[4], sum = 0;
  for (int i = 0; i < 4; i++) item[i] = sum += in[4 * me() + i] & 4095;
  const u32 before = inclusive_of_wave<u32, Add>(sum) - sum;
  for (int i = 0; i < 4; i++) out[4 * me() + i] = before + item[i];
}
KERNEL(compact_by_ballot) {
  __shared__ u32 count[4];
  const bool keep = in[me()] % 3 == 0;
  const u64 kept = __ballot(keep);
  const u32 lane = threadIdx.x % warpSize, wave = threadIdx.x / warpSize;
  if (lane == 0) count[wave] = __popcll(kept);
  __syncthreads();
  u32 place = __popcll(kept & ((1ull << lane) - 1));
  for (u32 i = 0; i < wave; i++) place += count[i];
  if (keep) out[blockIdx.x * BLOCK + place] = in[me()];
}
KERNEL(split_by_bit) {
  __shared__ u32 key[BLOCK], zeros[BLOCK];
  const u32 t = threadIdx.x;
  key[t] = in[me()] & 15;
  for (int bit = 0; bit < 4; bit++) {
    const u32 mine = key[t], zero = !(mine >> bit & 1);
    zeros[t] = zero;
    __syncthreads();
    u32 before = 0, all = 0;
    for (u32 i = 0; i < BLOCK; i++) {
      before += i < t ? zeros[i] : 0;
      all += zeros[i];
    }
    __syncthreads();
    key[zero ? before : all + t - before] = mine;
    __syncthreads();
  }
  out[me()] = key[t];
}
template <class T>
__device__ void bitonic(const u32 *in, u32 *out) {
  __shared__ T key[BLOCK];
  const u32 t = threadIdx.x;
  key[t] = get<T>(in, me());
  __syncthreads();
  for (u32 size = 2; size <= BLOCK; size *= 2)
    for (u32 stride = size / 2; stride > 0; stride /= 2) {
      const u32 other = t ^ stride;
      if (other > t) {
        const T a = key[t], b = key[other];
        if ((t & size) == 0 ? b < a : a < b) key[t] = b, key[other] = a;
      }
      __syncthreads();
    }
  put(out, me(), key[t]);
}
KERNEL(sort_bitonic_i32) { bitonic<i32>(in, out); }
KERNEL(sort_bitonic_u64) { bitonic<u64>(in, out); }
KERNEL(sort_bitonic_f32) { bitonic<f32>(in, out); }
KERNEL(sort_bitonic_u8) { bitonic<u8>(in, out); }
KERNEL(sort_in_a_wave) {
  int key = get<i32>(in, me());
  const int lane = threadIdx.x % warpSize;
  for (int size = 2; size <= warpSize; size *= 2)
    for (int stride = size / 2; stride > 0; stride /= 2) {
      const int other = __shfl_xor(key, stride);
      const bool up = (lane & size) == 0, low = (lane & stride) == 0;
      key = low == up ? min(key, other) : max(key, other);
    }
  put(out, me(), key);
}
KERNEL(sort_network_of_4) {
  u32 a[4];
  for (int i = 0; i < 4; i++) a[i] = in[4 * me() + i];
  const auto order = [&](int i, int j) {
    const u32 low = min(a[i], a[j]), high = max(a[i], a[j]);
    a[i] = low, a[j] = high;
  };
  order(0, 1), order(2, 3), order(0, 2), order(1, 3), order(1, 2);
  for (int i = 0; i < 4; i++) out[4 * me() + i] = a[i];
}
KERNEL(search_lower_bound) {
  __shared__ u32 sorted[BLOCK];
  sorted[threadIdx.x] = threadIdx.x * 0x02000000u;
  __syncthreads();
  const u32 wanted = in[me()];
  u32 low = 0, high = BLOCK;
  while (low < high) {
    const u32 middle = (low + high) / 2;
    if (sorted[middle] < wanted)
      low = middle + 1;
    else
      high = middle;
  }
  out[me()] = low;
}
KERNEL(merge_path) {
  __shared__ u32 a[64], b[64];
  if (threadIdx.x < 64)
    a[threadIdx.x] = threadIdx.x * 3;
  else
    b[threadIdx.x - 64] = (threadIdx.x - 64) * 2 + blockIdx.x;
  __syncthreads();
  const u32 diagonal = threadIdx.x;
  u32 low = diagonal > 64 ? diagonal - 64 : 0, high = min(diagonal, 64u);
  while (low < high) {
    const u32 middle = (low + high) / 2;
    if (a[middle] <= b[diagonal - 1 - middle])
      low = middle + 1;
    else
      high = middle;
  }
  const u32 i = low, j = diagonal - low;
  out[me()] = j >= 64 || (i < 64 && a[i] <= b[j]) ? a[i] : b[j];
}
KERNEL(histogram_of_block) {
  __shared__ u32 bins[64];
  if (threadIdx.x < 64) bins[threadIdx.x] = 0;
  __syncthreads();
  for (u32 i = me(); i < WORDS_IN; i += THREADS) atomicAdd(&bins[in[i] >> 26], 1u);
  __syncthreads();
  if (threadIdx.x < 64) out[blockIdx.x * 64 + threadIdx.x] = bins[threadIdx.x];
}
KERNEL(histogram_in_global) { atomicAdd(&out[in[me()] % 100], 1u); }
KERNEL(radix_digits_matched) {
  const u32 digit = in[me()] & 7, lane = threadIdx.x % warpSize;
  u64 same = ~0ull;
  for (int bit = 0; bit < 3; bit++) {
    const u64 ones = __ballot(digit >> bit & 1);
    same &= digit >> bit & 1 ? ones : ~ones;
  }
  same &= __ballot(1);
  out[me()] = __popcll(same) << 8 | __popcll(same & ((1ull << lane) - 1));
}
KERNEL(run_lengths) {
  __shared__ u32 value[BLOCK];
  value[threadIdx.x] = in[me()] & 1;
  __syncthreads();
  u32 length = 0;
  for (u32 i = threadIdx.x; i < BLOCK && value[i] == value[threadIdx.x]; i++) length++;
  out[me()] = length;
}
