// Quantized weights times one to eight quantized columns, as linked host functions: each chooses the launch itself.
#include "include/launch.h"
#include "include/quantized/mmvq.h"
#include "include/quantized/quantize_launch.h"

using namespace candle;

enum class Output { f32, f16, bf16 };

// Registers for the loads of several blocks of weights: NVIDIA GPUs have 64 for each of 1024 threads.
constexpr int min_occupancy(int columns, int threads) {
  return columns > 1 || target::on_amd ? mmvq_min_occupancy(columns) : 1024 / threads;
}

// Only the last store depends on the type of dst: a branch there, rather than three times the kernels.
template <class F, int columns, class Teams>
__global__ void __launch_bounds__(Teams::threads, min_occupancy(columns, Teams::threads))
    mmvq_kernel(const void *__restrict__ x, const void *__restrict__ y, void *__restrict__ dst, Output type,
                int ncols_x, int nrows_x, int stride_y, int stride_dst) {
  mul_mat_vec<F, columns, Teams>(x, y, ncols_x, nrows_x, stride_y, [=](int column, int row, f32 total) {
    const i64 i = i64(column) * stride_dst + row;
    if (type == Output::f32) static_cast<f32 *>(dst)[i] = total;
    if (type == Output::f16) static_cast<f16 *>(dst)[i] = narrow<f16>(total);
    if (type == Output::bf16) static_cast<bf16 *>(dst)[i] = narrow<bf16>(total);
  });
}

#ifdef CANDLE_HAS_HOST

namespace {

struct VectorOperands {
  const void *x, *y;
  void *dst;
  Output type;
  int ncols_x, nrows_x, stride_y, stride_dst;  // stride_y in blocks
};

template <class F, int columns, class Teams>
void launch_teams(const VectorOperands &o, hipStream_t stream) {
  const dim3 grid(ceil_div(o.nrows_x, Teams::rows_per_block)), block(logical_wave_size, Teams::waves_per_block);
  mmvq_kernel<F, columns, Teams>
      <<<grid, block, 0, stream>>>(o.x, o.y, o.dst, o.type, o.ncols_x, o.nrows_x, o.stride_y, o.stride_dst);
}

// A single column. Two rows of a team share the loads of activations. A short row has one wave. A long one has eight
// where rows are few; where they are many, it has more loads in flight, for which a thread with 8 weights of a block
// has the registers with one row alone. The limit is from an H100.
template <class F>
void launch_column(const VectorOperands &o, hipStream_t stream) {
  constexpr int few_rows = 1024, weights_per_thread = F::length / F::lanes;
  constexpr bool two_rows = weights_per_thread > 8;
  using ShortRows = WaveTeams<1, 2, 4, 1>;
  using FewRows = WaveTeams<8, 2, 1, 1>;
  using ManyRows = WaveTeams<4, two_rows ? 2 : 1, 1, two_rows ? 2 : 4>;
  const int busy_threads = o.ncols_x / weights_per_thread;
  if (busy_threads <= logical_wave_size) {
    launch_teams<F, 1, ShortRows>(o, stream);
  } else if (o.nrows_x <= few_rows && busy_threads >= FewRows::threads) {
    launch_teams<F, 1, FewRows>(o, stream);
  } else if (o.nrows_x > few_rows && busy_threads >= ManyRows::threads * ManyRows::unrolled) {
    launch_teams<F, 1, ManyRows>(o, stream);
  } else {
    launch_teams<F, 1, WaveTeams<4, 2, 1, 1>>(o, stream);
  }
}

// The kernel for b_size columns, of 1 to `columns`; other sizes launch nothing, as in Candle.
template <class F, int columns = 8>
void launch_mmvq(const VectorOperands &o, int b_size, hipStream_t stream) {
  if constexpr (columns > 1) {
    if (b_size != columns) return launch_mmvq<F, columns - 1>(o, b_size, stream);
    launch_teams<F, columns, VectorTeams<columns>>(o, stream);
  } else {
    if (b_size == 1) launch_column<F>(o, stream);
  }
}

}  // namespace

#define MMVQ(Q, NAME, T)                                                                                               \
  extern "C" void launch_mmvq_gguf_##NAME##_##T##_plain(const void *vx, const void *vy, void *dst, int ncols_x,        \
                                                        int nrows_x, int stride_col_y, int stride_col_dst, int b_size, \
                                                        void *stream) {                                                \
    const VectorOperands o{vx, vy, dst, Output::T, ncols_x, nrows_x, stride_col_y, stride_col_dst};                    \
    launch_mmvq<Q>(o, b_size, static_cast<hipStream_t>(stream));                                                       \
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
