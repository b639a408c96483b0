// A program of two sources: kernels that are static, in an unnamed namespace, templates whose arguments are deduced,
// and launched through a pointer; static variables; constructors of the host; shared memory and waves.
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "two_sources.h"

namespace {

constexpr int threads = 64;

struct Counted {
  Counted() { ++constructed; }
  static int constructed;
};
int Counted::constructed = 0;
Counted counted;
std::map<std::string, std::vector<int>> unused = {{"one", {1}}};

__global__ void add_one(int *x) { x[threadIdx.x] += 1; }

template <class T, int N>
__global__ void add(T *x) {
  x[threadIdx.x] += N;
}

template <class T>
__device__ T twice(T x) {
  return x + x;
}
struct Twice {
  __device__ int operator()(int x) const { return twice(x); }
};
template <class F>
__global__ void apply(int *x, F f) {
  x[threadIdx.x] = f(x[threadIdx.x]);
}

}  // namespace

static __device__ int counter = 5;

static __global__ void same(int *x) { x[threadIdx.x] = 100 + counter; }

__global__ __launch_bounds__(threads) void sum(const int *x, int *out) {
  extern __shared__ int buffer[];
  buffer[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half; half /= 2) {
    if (threadIdx.x < half) buffer[threadIdx.x] += buffer[threadIdx.x + half];
    __syncthreads();
  }
  int of_wave = x[threadIdx.x];
  for (int distance = 1; distance < warpSize; distance *= 2) of_wave += __shfl_xor(of_wave, distance);
  if (threadIdx.x == 0) {
    out[0] = buffer[0];
    out[1] = of_wave;
    atomicAdd(out + 2, 7);
  }
}

static int first_of(const int *on_device) {
  int first = -1;
  CHECK(hipMemcpy(&first, on_device, sizeof first, hipMemcpyDeviceToHost));
  return first;
}

int main() {
  int *x, *out, sums[3];
  CHECK(hipMalloc(&x, threads * sizeof(int)));
  CHECK(hipMalloc(&out, sizeof sums));
  CHECK(hipMemset(out, 0, sizeof sums));
  fill<int><<<1, threads>>>(x, 3);
  add_one<<<1, threads>>>(x);
  add<int, 5><<<1, threads>>>(x);
  apply<<<1, threads>>>(x, Twice());
  CHECK(hipGetLastError());
  std::printf("%d", first_of(x));

  same<<<1, threads>>>(x);
  std::printf(" %d", first_of(x));
  const int seven = 7;
  CHECK(hipMemcpyToSymbol(HIP_SYMBOL(counter), &seven, sizeof seven));
  same<<<1, threads>>>(x);
  std::printf(" %d", first_of(x));
  if (launch_in_other_source(x)) return 1;
  std::printf(" %d\n", first_of(x));

  std::thread([x] {
    const auto kernel = fill<int>;
    hipLaunchKernelGGL(kernel, dim3(1), dim3(threads), 0, nullptr, x, 2);
  }).join();
  hipLaunchKernelGGL(sum, dim3(1), dim3(threads), threads * sizeof(int), nullptr, x, out);
  CHECK(hipMemcpy(sums, out, sizeof sums, hipMemcpyDeviceToHost));
  int lanes;
  CHECK(hipDeviceGetAttribute(&lanes, hipDeviceAttributeWarpSize, 0));
  std::printf("%d %d %d\n", sums[0], sums[1] == 2 * lanes, sums[2]);
  sum<<<1, 2 * threads>>>(x, out);
  std::printf("%s %d\n", hipGetErrorName(hipGetLastError()), Counted::constructed);
  return 0;
}
