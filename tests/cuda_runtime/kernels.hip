// What the tests on a GPU launch: each kernel does one thing that the runtime must carry through or report.
#include <hip/hip_runtime.h>

extern "C" __global__ void add_one(size_t n, int *p) {
  const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) p[i] += 1;
}

// Lane l of each group of 32 gets the value of lane l ^ 16, though only pairs below `lanes` take part.
extern "C" __global__ void swap_halves(unsigned lanes, const int *in, int *out) {
  const unsigned lane = threadIdx.x % 32;
  if (lane % 16 < lanes) out[threadIdx.x] = __shfl_xor(in[threadIdx.x], 16);
}

// Reverses n ints through dynamic shared memory.
extern "C" __global__ void reverse(unsigned n, int *p) {
  extern __shared__ int held[];
  for (unsigned i = threadIdx.x; i < n; i += blockDim.x) held[i] = p[i];
  __syncthreads();
  for (unsigned i = threadIdx.x; i < n; i += blockDim.x) p[i] = held[n - 1 - i];
}

// f(a, b, c) = a * b + c, and some of clang's builtin functions.
extern "C" __global__ void builtins(const float *in, float *out) {
  const float x = in[threadIdx.x];
  float y = __builtin_fmaf(x, x, 1.0f);
  y += __builtin_fabsf(x) + __builtin_floorf(x) + __builtin_roundf(x);
  out[threadIdx.x] = x > 100.0f ? __builtin_inff() : y;
}

extern "C" __global__ void outside(int *p) { p[1ll << 40] = 1; }

extern "C" __global__ void trap() { __builtin_trap(); }

extern "C" __global__ void claim(int n) { assert(n == 1); }
