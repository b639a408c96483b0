// Kernels that test_on_the_runtime.py runs: what a kernel may say to its wave, its block and its host.
#include <hip/hip_runtime.h>

extern "C" __global__ void shuffle_down(const float *in, float *out, int operand, int width) {
  out[threadIdx.x] = __shfl_down(in[threadIdx.x], operand, width);
}
extern "C" __global__ void shuffle_up(const float *in, float *out, int operand, int width) {
  out[threadIdx.x] = __shfl_up_sync(~0ull, in[threadIdx.x], operand, width);
}
extern "C" __global__ void shuffle_xor(const float *in, float *out, int operand, int width) {
  out[threadIdx.x] = __shfl_xor(in[threadIdx.x], operand, width);
}
extern "C" __global__ void shuffle_index(const float *in, float *out, int operand, int width) {
  out[threadIdx.x] = __shfl(in[threadIdx.x], operand, width);
}

extern "C" __global__ void reverse_inside(const float *in, float *out) {
  extern __shared__ float inside[];
  inside[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = inside[blockDim.x - 1 - threadIdx.x];
}

extern __shared__ unsigned char at_file_level[];
extern "C" __global__ void reverse_outside(const float *in, float *out) {
  float *numbers = reinterpret_cast<float *>(at_file_level);
  numbers[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = numbers[blockDim.x - 1 - threadIdx.x];
}

extern "C" __global__ void votes(long long *out) {
  int thread = threadIdx.x;
  int odd = __syncthreads_count(thread % 2);
  int all = __syncthreads_and(thread < 200);
  int none = __syncthreads_or(thread > 1000);
  long long sum = __reduce_add_sync(__activemask(), static_cast<long long>(__lane_id()));
  int largest = __reduce_max_sync(~0ull, thread);
  unsigned long long even = __ballot(thread % 2 == 0);
  unsigned long long alike = __match_any_sync(~0ull, thread / 4);
  int first = __builtin_amdgcn_readfirstlane(thread + 7);
  if (thread == 0) {
    long long results[] = {odd,  all, none, sum, largest, static_cast<long long>(even), static_cast<long long>(alike),
                           first};
    for (int i = 0; i < 8; i++) out[i] = results[i];
  }
}

extern "C" __global__ void asserts(float *out) { assert(out == nullptr); }
extern "C" __global__ void aborts(float *out) {
  if (out != nullptr) abort();
}
extern "C" __global__ void traps(float *out) { simt_trap("__trap()", __FILE__, SIMT_LOCATION(__LINE__, 0)); }
extern "C" __global__ void prints(float *out) { printf("thread %d of %s\n", static_cast<int>(threadIdx.x), "two"); }
extern "C" __global__ void overruns(float *out, int shift) {
  __shared__ float room[32];
  room[threadIdx.x + shift] = 1;
  __syncthreads();
  out[threadIdx.x] = room[threadIdx.x];
}
__global__ void forgets_extern_c(float *out) { *out = 1; }
