// What kernels of anyone's do, and those of this project do not.
#include <hip/hip_runtime.h>

extern "C" __global__ void k(const float *in, const int *n, float *out) {
  const int t = int(threadIdx.x);
  __shared__ float s[128];
  s[t] = in[t];
  s[t + 64] = in[t];
  __syncthreads();
  const int j = t - n[0];  // 2: LLVM adds the constants to a negative address
  out[t] = s[j + 16] + s[j + 20] + s[j + 24];

  float kept[16];
  for (int i = 0; i < 16; ++i) kept[i] = in[(t + i) % 64];
  kept[n[1]] += 1;  // indices that are the same in all lanes
  out[64 + t] = kept[n[2]] + kept[n[1]];

  if (t == 3 || t == 5) {
    const int width = printf("lane %2d: %s of %d%%, %5.2f %c|%-4s|%llx\n", t, t == 3 ? "a text that is longer" : "short",
                             -t, double(in[t]), 'x', "yz", 0x123456789abcull);
    int *const memory = static_cast<int *>(malloc(4000 * t));
    for (int i = 0; i < 1000 * t; ++i) memory[i] = i;
    out[128 + t] = float(width + memory[1000 * t - 1]);
    free(memory);
  }
}
