// Kernels whose results, or whose mistakes, are known. Each mistake is what its name says.
#include <hip/hip_runtime.h>
#include <time.h>

#define GLOBAL extern "C" __global__ void

struct Scale {
  float factor;
  char negate;
};

__device__ float table[4] = {1, 2, 3, 4};

GLOBAL axpy(float a, const float *x, float *y, unsigned long n) {
  unsigned long i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}

GLOBAL packed(unsigned char a, short b, double c, signed char d, Scale s, double *out) {
  out[0] = a, out[1] = b, out[2] = c, out[3] = d, out[4] = s.negate ? -s.factor : s.factor;
}

GLOBAL nothing() {}

GLOBAL indices(unsigned *out) {
  unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] =
      threadIdx.x | threadIdx.y << 4 | threadIdx.z << 8 | blockIdx.x << 12 | blockIdx.y << 16 | blockIdx.z << 20;
}

GLOBAL indices_after_barrier(unsigned *out) {
  __syncthreads();
  unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] =
      threadIdx.x | threadIdx.y << 4 | threadIdx.z << 8 | blockIdx.x << 12 | blockIdx.y << 16 | blockIdx.z << 20;
}

// ---- barriers and shared memory

GLOBAL block_sums(const int *in, int *out) {
  __shared__ int partial[1024];
  unsigned t = threadIdx.x;
  partial[t] = in[blockIdx.x * blockDim.x + t];
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half; half /= 2) {
    if (t < half) partial[t] += partial[t + half];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = partial[0];
}

GLOBAL some_return_before_the_barrier(int *entries, int *out, int leaving) {
  __shared__ int seen[1024];
  atomicAdd(&entries[blockIdx.x * blockDim.x + threadIdx.x], 1);
  if ((int)threadIdx.x % 4 < leaving) return;
  seen[threadIdx.x] = threadIdx.x;
  __syncthreads();
  int next = threadIdx.x;
  do next = (next + 1) % blockDim.x;
  while (next % 4 < leaving);
  out[blockIdx.x * blockDim.x + threadIdx.x] = seen[next];
}

GLOBAL late_first_barrier(int *out) {
  __shared__ int value;
  if (threadIdx.x < 5) {
    out[threadIdx.x] = 100 + threadIdx.x;
    return;
  }
  if (threadIdx.x == 5) value = 7;
  __syncthreads();
  out[threadIdx.x] = value + threadIdx.x;
}

GLOBAL reverse_dynamic(int *data) {
  extern __shared__ int buffer[];
  buffer[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = buffer[blockDim.x - 1 - threadIdx.x];
}

GLOBAL read_unwritten_shared(unsigned *out) {
  __shared__ unsigned array[64];
  extern __shared__ unsigned dynamic[];
  out[2 * blockIdx.x] = array[threadIdx.x];
  out[2 * blockIdx.x + 1] = dynamic[threadIdx.x];
  array[threadIdx.x] = dynamic[threadIdx.x] = 5;
}

// So many bytes behind the first, or before it.
GLOBAL put_at(int *out, long offset) { *reinterpret_cast<int *>(reinterpret_cast<char *>(out) + offset) = 1; }

// Fast functions of a number, which may be subnormal.
GLOBAL fast_functions(float *x) {
  x[1] = __expf(x[0]);
  x[2] = __fsqrt_rn(x[0]);
}

// Adds in a compare-and-swap: again until nobody came between, or only once.
GLOBAL sums_by_swaps(unsigned *out, int again) {
  unsigned seen = *static_cast<volatile unsigned *>(out), before;
  do {
    before = seen;
    seen = atomicCAS(out, before, before + 1);
  } while (again && seen != before);
}

GLOBAL sums_by_exchange(unsigned *out) {
  unsigned seen = *static_cast<volatile unsigned *>(out);
  atomicExch(out, seen + 1);
}

// Adds without an atomic operation: to what all threads share in global and in shared memory, and to what is their own.
GLOBAL votes(int *out) {
  out[threadIdx.x] = __syncthreads_count(threadIdx.x % 3 != 0);
  if (__syncthreads_or(threadIdx.x == 1)) ++out[threadIdx.x];
  if (__syncthreads_and(threadIdx.x != 1)) out[threadIdx.x] = -1;
}

GLOBAL sums_by_addition(unsigned *out) {
  __shared__ unsigned shared;
  if (threadIdx.x == 0) shared = 0;
  __syncthreads();
  out[0] = out[0] + 1;
  shared += 1;
  out[2 + threadIdx.x] += 1;
  __syncthreads();
  if (threadIdx.x == 0) out[1] = shared;
}

GLOBAL counts_in_a_local_array(const unsigned *in, unsigned *out) {
  unsigned counts[4] = {};
  for (unsigned i = 0; i < 16; ++i) counts[in[i] % 4] += 1;
  out[threadIdx.x] = counts[threadIdx.x % 4];
}

// Reads through info where it is null, but uses what it reads only where it is not.
GLOBAL reads_null_info(const unsigned long *info, unsigned *out) {
  bool contiguous = info == nullptr && info[0] == 1;
  out[0] = contiguous ? 1 : 2;
}

GLOBAL a_barrier_is_missing(const int *in, int *out) {
  __shared__ int copy[1024];
  copy[threadIdx.x] = in[threadIdx.x];
  out[threadIdx.x] = copy[blockDim.x - 1 - threadIdx.x];
}

GLOBAL broadcast_without_barrier(int *out) {
  __shared__ int value;
  if (threadIdx.x == 0) value = 42;
  out[threadIdx.x] = value;
}

GLOBAL order_of_threads(unsigned *counter, unsigned *out) { out[atomicAdd(counter, 1u)] = threadIdx.x; }

GLOBAL order_of_blocks(unsigned *counter, unsigned *out) { out[atomicAdd(counter, 1u)] = blockIdx.x; }

// Two volatile bytes on the thread's own stack, one before and one after a barrier if there is one.
GLOBAL stack_of(unsigned long *out, int barrier) {
  volatile char here = 0;
  out[threadIdx.x] = reinterpret_cast<unsigned long>(&here);
  if (barrier) __syncthreads();
  here = 1;
}

GLOBAL no_barrier_after_load(const float *in, float *out) {
  __shared__ float part[1024];
  unsigned t = threadIdx.x;
  part[t] = in[t];
  for (unsigned half = blockDim.x / 2; half; half /= 2) {
    if (t < half) part[t] += part[t + half];
    __syncthreads();
  }
  if (t == 0) *out = part[0];
}

GLOBAL no_barrier_in_loop(const float *in, float *out) {
  __shared__ float part[1024];
  unsigned t = threadIdx.x;
  part[t] = in[t];
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half; half /= 2)
    if (t < half) part[t] += part[t + half];
  if (t == 0) *out = part[0];
}

// The last two blocks wait for each other; those before last long enough for another core to join.
GLOBAL last_blocks_meet(int *arrived) {
  if (blockIdx.x + 2 < gridDim.x) {
    long long end = clock64() + 200000;
    while (clock64() < end) {
    }
    return;
  }
  atomicAdd(arrived, 1);
  while (__atomic_load_n(arrived, __ATOMIC_RELAXED) < 2) {
  }
}

// ---- waves

GLOBAL wave_size(int *out) { out[threadIdx.x] = warpSize; }

#if defined(__clang__)
__device__ static int linear_block() { return blockIdx.x + gridDim.x * blockIdx.y; }
__device__ static int sum(dim3 size) { return size.x + size.y + size.z; }
GLOBAL variables_named_as_built_ins(int *out) {
  int blockIdx = linear_block();
  dim3 blockDim(2, 3);
  out[blockIdx] = 100 * blockIdx + 10 * sum(blockDim) + sum(gridDim);
}
#endif

GLOBAL shuffle_down_sum(const int *in, int *out) {
  int v = in[threadIdx.x];
  for (int step = warpSize / 2; step; step /= 2) v += __shfl_down(v, step);
  if (threadIdx.x % warpSize == 0) out[threadIdx.x / warpSize] = v;
}

GLOBAL shuffles_of_width(int *out, int width) {
  int t = threadIdx.x, n = blockDim.x;
  out[t] = __shfl(t, 3, width);
  out[n + t] = __shfl_up(t, 1, width);
  out[2 * n + t] = __shfl_down(t, 2, width);
  out[3 * n + t] = __shfl_xor(t, 1, width);
}

GLOBAL shuffles_from_absent_lanes(int *out) {
  int t = threadIdx.x, n = blockDim.x;
  out[t] = __shfl(t + 1, n);
  out[n + t] = __shfl_xor(t + 1, n);
  out[2 * n + t] = __builtin_amdgcn_ds_bpermute(4 * n, t + 1);
  out[3 * n + t] = __builtin_amdgcn_ds_bpermute(0, t + 1);
}

GLOBAL ballots(unsigned long *out) { out[threadIdx.x] = __ballot(threadIdx.x % 3 == 0); }

GLOBAL ballot_of_half(unsigned long *out) {
  if (threadIdx.x % 2)
    out[threadIdx.x] = __ballot(1);
  else
    out[threadIdx.x] = __ballot(threadIdx.x % 4 == 0);
}

GLOBAL masked_halves(unsigned long *out) {
  unsigned lane = threadIdx.x % 32;
  unsigned long low = 0xfffful << (threadIdx.x % warpSize / 32 * 32);
  unsigned long mask = lane < 16 ? low : low << 16;
  out[threadIdx.x] = lane < 16 ? __ballot_sync(mask, lane % 2 == 0) : __ballot_sync(mask, lane % 2 == 1);
}

GLOBAL matches(unsigned long *out) { out[threadIdx.x] = __match_any_sync(~0ul, threadIdx.x % 3); }

GLOBAL exchange_by_syncwarp(int *out) {
  __shared__ int box[64];
  box[threadIdx.x] = threadIdx.x;
  __syncwarp();
  out[threadIdx.x] = box[threadIdx.x ^ 1];
}

GLOBAL return_before_shuffle(int *out) {
  if (threadIdx.x % 2) return;
  out[threadIdx.x] = __shfl_xor((int)threadIdx.x, 2);
}

GLOBAL diverge_and_meet(unsigned long *apart, int *together) {
  unsigned t = threadIdx.x;
  if (t % 3 == 0)
    apart[t] = __activemask();
  else
    apart[t] = __ballot(1);
  together[t] = __popcll(__ballot(1));
}

// Lanes leave the loop after different numbers of turns. Sums over those still in it, then over all.
GLOBAL loop_and_meet(int *inside, int *after) {
  int t = threadIdx.x, sum = 0;
  for (int turn = 0; turn <= t % 5; turn++) sum += __popcll(__ballot(1));
  inside[t] = sum;
  after[t] = __popcll(__ballot(1));
}

// ---- mistakes

GLOBAL write_and_trap(char *p, long offset) {
  p[offset] = 1;
  __builtin_trap();
}

GLOBAL index_shared_array(int index) {
  __shared__ int array[8];
  array[index] = 4;
}

GLOBAL low_half_in_mask(int *out) { out[threadIdx.x] = __shfl_sync(0xffffffffull, (int)threadIdx.x, 0); }

GLOBAL add_at(float *out, long index) { out[index] += 1.5f; }
GLOBAL write_at(char *p, long offset) {
  if (blockIdx.x == gridDim.x - 1 && threadIdx.x == blockDim.x - 1) p[offset] = 1;
}

GLOBAL read_at(const int *p, long offset, int *out) { out[0] = p[offset]; }

GLOBAL write_dynamic_at(int index, int *out) {
  extern __shared__ int dynamic[];
  dynamic[index] = 1;
  out[0] = dynamic[0];
}

GLOBAL index_local_array(int index, int *out) {
  int array[8] = {1, 2, 3};
  array[index] = 4;
  for (int i = 0; i < 8; i++) out[i] = array[i];
}

__device__ __attribute__((noinline)) int deeper(int n, int *out) {
  volatile int frame[64];
  frame[n & 63] = n;
  if (n == 0) return out[0];
  return deeper(n - 1, out) + frame[n & 63];
}
GLOBAL recurse(int depth, int *out) { out[1] = deeper(depth, out); }

GLOBAL divide(int a, int b, int *out) { out[0] = a / b; }

GLOBAL fails_an_assertion(int limit, int *out) {
  assert((int)threadIdx.x < limit);
  out[threadIdx.x] = threadIdx.x;
}

GLOBAL traps(int *out) {
  if (threadIdx.x == 3) simt_trap("__trap()", __FILE__, SIMT_LOCATION(__LINE__, 0));
  out[threadIdx.x] = 1;
}

GLOBAL loops_for_ever(volatile int *flag) {
  while (*flag == 0) {
  }
}

GLOBAL sleeps(long milliseconds) {
  const timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  nanosleep(&time, nullptr);
}

GLOBAL waits_for_a_later_thread(volatile int *flag) {
  if (threadIdx.x == 0)
    while (*flag == 0) {
    }
  if (threadIdx.x == 1) *flag = 1;
}

GLOBAL aborts() { abort(); }

GLOBAL different_barriers(int *out) {
  if (threadIdx.x < 16)
    __syncthreads();
  else
    __syncthreads();
  out[threadIdx.x] = 1;
}

GLOBAL lanes_that_a_mask_names(int *out) { out[threadIdx.x] = __shfl_xor_sync(~0ull, (int)threadIdx.x, 1, 32); }
GLOBAL lane_that_a_mask_names_returns(int *out) {
  if (threadIdx.x == 0) return;
  out[threadIdx.x] = __shfl_xor_sync(~0ull, (int)threadIdx.x, 2);
}
GLOBAL lane_not_in_its_mask(int *out) { out[threadIdx.x] = __shfl_sync(1ul, (int)threadIdx.x, 0); }

GLOBAL lanes_are_missing(int *out) {
  if (threadIdx.x < 8) out[threadIdx.x] = __shfl_sync(0xfffful, (int)threadIdx.x, 0);
  __syncthreads();
}

// ---- a little past an array, through a pointer or where the size is not known

__device__ __attribute__((noinline)) void put(int *p, int index) { p[index] = 4; }

GLOBAL put_past_shared(int index, int *out) {
  __shared__ int first[8];
  __shared__ int second[9];
  put(index < 0 ? second : first, index);
  out[0] = first[0] + second[0];
}

GLOBAL read_past_shared(int index, int *out) {
  __shared__ int array[8];
  const int *p = array;
  array[threadIdx.x] = 1;
  out[threadIdx.x] = p[threadIdx.x + index];
}

struct Tail {
  int count;
  float values[8];
};

GLOBAL index_last_member(int index, int *out) {
  __shared__ Tail tail;
  tail.values[index] = 4;
  out[0] = (int)tail.values[index];
}

GLOBAL put_past_local(int index, int *out) {
  int array[8] = {1};
  put(array, index);
  out[0] = array[1];
}

GLOBAL read_past_local(int index, int *out) {
  int array[8] = {1, 2, 3};
  const int *p = array;
  out[0] = p[index];
}

template <int Bytes>
__device__ void use_frame(int index, int *out) {
  volatile char frame[Bytes];
  frame[index] = 3;
  out[0] = frame[index];
}
GLOBAL frame_of_100_kib(int index, int *out) { use_frame<100 << 10>(index, out); }
GLOBAL frame_of_1_mib(int index, int *out) { use_frame<1 << 20>(index, out); }
GLOBAL frame_of_100_mib(int index, int *out) { use_frame<100 << 20>(index, out); }

// Legal: a pointer to one past the end, an array without a size at the end of a struct, a union of arrays, all of the
// shared memory of a block in use, and variables that only a called function names.
struct Open {
  int count;
  int values[];
};
union Either {
  int words[4];
  char bytes[16];
};
__device__ __attribute__((noinline)) int in_a_function(int value) {
  __shared__ int elsewhere;
  if (threadIdx.x == 0) elsewhere = value;
  __syncthreads();
  return elsewhere;
}
GLOBAL legal_arrays(int *out) {
  extern __shared__ char dynamic[];
  __shared__ int large[16384];
  __shared__ Either either;
  Open *open = reinterpret_cast<Open *>(dynamic);
  int sum = 0;
  for (unsigned i = threadIdx.x; i < 16384; i += blockDim.x) large[i] = 1;
  __syncthreads();
  if (threadIdx.x == 0) {
    open->count = 3;
    for (int i = 0; i < 3; i++) open->values[i] = i;
    either.words[3] = 0x05000000;
    for (const int *p = large, *end = large + 16384; p != end; p++) sum += *p;
    out[0] = sum;
    out[1] = open->values[2];
    out[2] = either.bytes[15];
  }
  out[3 + threadIdx.x] = in_a_function(7);
}

// ---- barriers that do not match

#define EITHER_BARRIER(condition) \
  if (condition)                  \
    __syncthreads();              \
  else                            \
    __syncthreads()
GLOBAL barriers_of_one_line(int *out) {
  EITHER_BARRIER(threadIdx.x < 4);
  out[threadIdx.x] = 1;
}

GLOBAL uneven_turns(int *out) {
  for (unsigned turn = 0; turn <= threadIdx.x % 2; turn++) __syncthreads();
  out[threadIdx.x] = 1;
}

GLOBAL return_between_barriers(int *out) {
  __syncthreads();
  if (threadIdx.x % 2) return;
  __syncthreads();
  out[threadIdx.x] = 1;
}

GLOBAL barriers_in_turns(int *out, int turns) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  for (int turn = 0; turn < turns; turn++) {
    if (threadIdx.x == turn % blockDim.x) sum += 1;
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

// ---- lanes of one wave that do not wait for each other

GLOBAL neighbour_in_wave(int *out) {
  __shared__ int box[64];
  box[threadIdx.x] = threadIdx.x;
  out[threadIdx.x] = box[threadIdx.x ^ 1];
}

// The lanes meet before, not between, the write and the read.
GLOBAL last_lane_writes(int *out, int writer, int reader) {
  __shared__ int box;
  if (threadIdx.x == 0) box = 1;
  __syncwarp();
  __shfl((int)threadIdx.x, 0);
  if ((int)threadIdx.x == writer) box = 2;
  if ((int)threadIdx.x == reader) out[0] = box;
}

GLOBAL prints_for_long(int lines) {
  for (int i = 0; i < lines; i++) printf("%015d\n", i);
}
