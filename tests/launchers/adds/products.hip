// Products of q8_0 that are added to what the output, or the scratch, holds, which only some callers set to zero.
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>
#include <stdint.h>

struct Weights {
  __half d;
  int8_t quants[32];
};
struct Column {
  __half d, s;
  int8_t quants[32];
};
struct Tiled {
  float d[4];
  int8_t quants[4][32];
};

__device__ float product(const Weights &weights, const int8_t *quants, float d) {
  int sum = 0;
  for (int i = 0; i < 32; ++i) sum += weights.quants[i] * quants[i];
  return float(sum) * (__half2float(weights.d) * d);
}

__global__ void add_to_output(const Weights *x, const Column *y, float *dst, int groups, int stride_y, int stride_dst) {
  const int row = blockIdx.x, column = blockIdx.y, g = threadIdx.x;
  const Column &of = y[size_t(column) * stride_y + g];
  atomicAdd(dst + size_t(column) * stride_dst + row,
            product(x[size_t(row) * groups + g], of.quants, __half2float(of.d)));
}

__global__ void add_to_scratch(const Weights *x, const Tiled *y, float *dst, float *scratch, int groups) {
  const int row = blockIdx.x, rows = gridDim.x, column = blockIdx.y, columns = gridDim.y;
  float &sum = scratch[size_t(column) * rows + row];
  for (int g = 0; g < groups; ++g) {
    const Tiled &of = y[size_t(g / 4) * columns + column];
    sum += product(x[size_t(row) * groups + g], of.quants[g % 4], of.d[g % 4]);
  }
  dst[size_t(column) * rows + row] = sum;
}

extern "C" void launch_mmvq_gguf_q8_0_f32_plain(const void *vx, const void *vy, void *dst, int ncols_x, int nrows_x,
                                                int stride_col_y, int stride_col_dst, int b_size, void *stream) {
  add_to_output<<<dim3(nrows_x, b_size), ncols_x / 32, 0, static_cast<hipStream_t>(stream)>>>(
      static_cast<const Weights *>(vx), static_cast<const Column *>(vy), static_cast<float *>(dst), ncols_x / 32,
      stride_col_y, stride_col_dst);
}

extern "C" void launch_mmq_gguf_q8_0(void *tmp_fixup, const void *x, const void *y, void *dst, int64_t ncols_x,
                                     int64_t nrows_x, int64_t ncols_y, int64_t, int64_t, int, int, int64_t, int,
                                     void *stream) {
  add_to_scratch<<<dim3(nrows_x, ncols_y), 1, 0, static_cast<hipStream_t>(stream)>>>(
      static_cast<const Weights *>(x), static_cast<const Tiled *>(y), static_cast<float *>(dst),
      static_cast<float *>(tmp_fixup), ncols_x / 32);
}
