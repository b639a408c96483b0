// Offsets in other than 64 bits, and what lies next to a row that is far away.
#include <hip/hip_runtime.h>

#include <cstddef>
#include <cstdint>

#define COPY2D(NAME, T, ...)                                                                                        \
  extern "C" __global__ void NAME(const T *src, T *dst, const uint32_t d1, const uint32_t d2, const uint32_t src_s, \
                                  const uint32_t dst_s) {                                                           \
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, row = d2 ? i / d2 : 0, column = i - d2 * row;         \
    if (i >= d1 * d2) return;                                                                                       \
    const size_t from = size_t(row) * src_s + column, to = size_t(row) * dst_s + column;                            \
    __VA_ARGS__                                                                                                     \
  }
// right
COPY2D(copy2d_f64, double, dst[to] = src[from];)
// elements counted in an int
COPY2D(copy2d_u8, uint8_t, dst[int(to)] = src[int(from)];)
// bytes counted in 32 bits
COPY2D(copy2d_f32, float,
       *reinterpret_cast<float *>(reinterpret_cast<char *>(dst) + uint32_t(4 * to)) =
           *reinterpret_cast<const float *>(reinterpret_cast<const char *>(src) + uint32_t(4 * from));)
// one element behind a row that is far away, which is nobody's
COPY2D(copy2d_i64, long long, dst[to] = src[from]; if (to >> 31 && column + 1 == d2) dst[to + 1] = 1;)
// the input is written, far away
COPY2D(copy2d_u32, uint32_t, dst[to] = src[from]; if (from >> 31) const_cast<uint32_t *>(src)[from] = 5;)
