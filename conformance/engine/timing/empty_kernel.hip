// What the launch of a grid costs by itself: nothing is read, computed or written.
#include <hip/hip_runtime.h>

extern "C" __global__ void empty_kernel() {}
