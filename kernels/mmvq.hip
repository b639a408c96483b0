// Quantized weights times one to eight quantized columns, as linked host functions: each chooses the launch itself.
#include "include/launch.h"
#include "include/quantized/mmvq.h"
#include "include/quantized/quantize_launch.h"

using namespace candle;

enum class Output { f32, f16, bf16 };

// Only the last store depends on the type of dst: a branch there, rather than 240 kernels.
template <class F, int columns>
__global__ void __launch_bounds__(mmvq_threads(columns), mmvq_min_waves_per_simd(columns))
    mmvq_kernel(const void *__restrict__ vx, const void *__restrict__ vy, void *__restrict__ dst, Output type,
                int ncols_x, int nrows_x, int stride_col_y, int stride_col_dst) {
  mul_mat_vec<F, columns>(vx, vy, ncols_x, nrows_x, stride_col_y, [=](int column, int row, f32 total) {
    const i64 i = i64(column) * stride_col_dst + row;
    if (type == Output::f32) static_cast<f32 *>(dst)[i] = total;
    if (type == Output::f16) static_cast<f16 *>(dst)[i] = narrow<f16>(total);
    if (type == Output::bf16) static_cast<bf16 *>(dst)[i] = narrow<bf16>(total);
  });
}

#ifdef CANDLE_HAS_HOST

namespace {

// The kernel for b_size columns, of 1 to `columns`; other sizes launch nothing, as in Candle.
template <class F, int columns = 8>
void launch_mmvq(const void *vx, const void *vy, void *dst, Output type, int ncols_x, int nrows_x, int stride_col_y,
                 int stride_col_dst, int b_size, void *stream) {
  if constexpr (columns > 0) {
    if (b_size != columns) {
      return launch_mmvq<F, columns - 1>(vx, vy, dst, type, ncols_x, nrows_x, stride_col_y, stride_col_dst, b_size,
                                         stream);
    }
    const dim3 grid(ceil_div(nrows_x, rows_per_block(columns))), block(logical_wave_size, waves_per_block(columns));
    mmvq_kernel<F, columns><<<grid, block, 0, static_cast<hipStream_t>(stream)>>>(vx, vy, dst, type, ncols_x, nrows_x,
                                                                                  stride_col_y, stride_col_dst);
  }
}

}  // namespace

#define MMVQ(Q, NAME, T)                                                                                               \
  extern "C" void launch_mmvq_gguf_##NAME##_##T##_plain(const void *vx, const void *vy, void *dst, int ncols_x,        \
                                                        int nrows_x, int stride_col_y, int stride_col_dst, int b_size, \
                                                        void *stream) {                                                \
    launch_mmvq<Q>(vx, vy, dst, Output::T, ncols_x, nrows_x, stride_col_y, stride_col_dst, b_size, stream);            \
  }

#define MMVQ_ALL(Q, NAME) \
  MMVQ(Q, NAME, f32)      \
  MMVQ(Q, NAME, f16)      \
  MMVQ(Q, NAME, bf16)

MMVQ_ALL(Q4_0, q4_0)
MMVQ_ALL(Q4_1, q4_1)
MMVQ_ALL(Q5_0, q5_0)
MMVQ_ALL(Q5_1, q5_1)
MMVQ_ALL(Q8_0, q8_0)
MMVQ_ALL(Q2_K, q2_k)
MMVQ_ALL(Q3_K, q3_k)
MMVQ_ALL(Q4_K, q4_k)
MMVQ_ALL(Q5_K, q5_k)
MMVQ_ALL(Q6_K, q6_k)

#define QUANTIZE(T)                                                                                                 \
  extern "C" void launch_mmvq_gguf_quantize_q8_1_##T(const void *x, void *vy, int kx, int kx_padded, int num_rows,  \
                                                     void *stream) {                                                \
    launch_quantize_q8_1(static_cast<const T *>(x), vy, kx, kx_padded, num_rows, static_cast<hipStream_t>(stream)); \
  }

QUANTIZE(f32)
QUANTIZE(f16)
QUANTIZE(bf16)

#endif
