// Reductions of rows, softmax, norms and rotary embedding. Sums are added in the order of Candle, so that they have its
// bits on wave32 and on wave64.
#include "include/atomic_add.h"
#include "include/norms.h"
#include "include/reduction.h"
#include "include/rope.h"
#include "include/rows.h"
#include "include/softmax.h"

using namespace candle;

namespace {

// The elements of this thread in a row of any layout.
template <class Op, class T>
__device__ inline void accumulate_any_layout(typename Op::State &state, size_t numel, size_t length, size_t num_dims,
                                             const size_t *__restrict__ info, const T *__restrict__ src) {
  const size_t begin = blockIdx.x * length, end = begin + length < numel ? begin + length : numel;
  // As many iterations for each thread: see accumulate_row.
#pragma unroll 1
  for (size_t first = begin; first < end; first += blockDim.x) {
    const size_t i = first + threadIdx.x;
    if (i < end)
      Op::accumulate(state, src[offsets<1>(i, num_dims, info, bool(numel >> 32)).operand[0]], u32(i - begin));
  }
}

// Block b reduces elements [b * length, (b + 1) * length), in the row-major order of the dimensions in info; its thread
// t reduces those at t, t + threads, t + 2 * threads, ... The number of threads is a power of two.
//
// Where the layout of the rows allows it, the first blocks reduce several rows each and the others return at once; the
// last rows, too few for such a block, have one block each.
template <class Op, class T, class Out>
__device__ inline void fast_reduce(size_t numel, size_t length, size_t num_dims, const size_t *__restrict__ info,
                                   const T *__restrict__ src, Out *__restrict__ dst) {
  using Adjacent = AdjacentRowsReducer<Op, T>;
  using Short = ShortRowsReducer<Op, T>;
  __shared__ Partials<typename Op::State> partials;
  const u32 t = threadIdx.x;
  const u32 threads = blockDim.x;
  const u32 row = blockIdx.x;
  const auto innermost_size = [&] { return num_dims ? info[num_dims - 1] : 1; };
  auto state = Op::initial();
  Rows rows;
  if ((row + size_t(1)) * length <= numel && length >> 31 == 0 && find_rows(length, num_dims, info, rows)) {
    const bool one_row_per_block = gridDim.x * length == numel;
    const bool is_short = one_row_per_block && Short::fits(rows, u32(length), threads);
    const bool is_adjacent = one_row_per_block && !is_short && Adjacent::fits(rows, src, threads);
    if (is_short || is_adjacent) {
      const u32 log_lanes = Adjacent::log_lanes();
      const u32 shift = is_short ? log2_of(Short::rows) : log_lanes + log2_of(Adjacent::per_thread);
      const u32 blocks = gridDim.x >> shift;
      // Working blocks start sooner if they are the first, but then the idle ones, if they are many, run alone.
      const bool alternates = is_adjacent && sizeof(T) >= 4;
      if (alternates ? !is_idle_in_alternating_grid(shift) && row >> shift < blocks : row < blocks) {
        const u32 first = alternates ? row : row << shift, output_row = first + t / logical_wave_size;
        state = is_short ? Short::reduce(src + first * rows.row_stride, rows.row_stride, u32(length), partials, t)
                         : Adjacent::reduce(src + first, rows.stride, u32(length), partials, t, log_lanes);
        if (t % logical_wave_size == 0 && t / logical_wave_size < 1 << shift)
          dst[output_row] = Op::result(state, output_row, length, innermost_size());
        return;
      }
      if (row >> shift < blocks) return;
    }
    state = accumulate_row<Op>(src + rows.offset(row, num_dims, info), rows.stride, u32(length), t, threads);
  } else {
    accumulate_any_layout<Op>(state, numel, length, num_dims, info, src);
  }
  state = block_reduce<Op>(state, partials, t, threads);
  if (t == 0) dst[row] = Op::result(state, row, length, innermost_size());
}

// out[j] += inp[i], in any order of i. Every summed dimension, in the order given, is divided out of the index: info is
// dims, strides, then sizes and strides of the summed dimensions. Where the innermost dimension is summed, a block
// first adds up what goes to the same output, to save atomics.
template <class T>
__device__ inline void sum(size_t numel, size_t num_dims, size_t num_sum_dims, const size_t *__restrict__ info,
                           const T *__restrict__ inp, T *out) {
  __shared__ Addend<T> partials[logical_wave_size];
  const size_t *sizes = info + 2 * num_dims;
  const size_t *strides = sizes + num_sum_dims;
  const bool wide = numel >> 32;
  const u32 t = threadIdx.x;
  const u32 waves = blockDim.x / logical_wave_size;
  const bool combine_in_block =
      !wide && blockDim.x % logical_wave_size == 0 && num_sum_dims > 0 && strides[num_sum_dims - 1] == 1;
  for (size_t first = size_t(blockIdx.x) * blockDim.x; first < numel; first += thread_count()) {
    const size_t i = first + t;
    size_t j = i;
#pragma unroll 1
    for (size_t k = 0; k < num_sum_dims; ++k) {
      const size_t low = divide(j, strides[k], wide);
      divide(j, sizes[k], wide);
      j = j * strides[k] + low;
    }
    const T x = i < numel ? inp[offsets<1>(i, num_dims, info, wide).operand[0]] : T{};
    if (!combine_in_block) {
      if (i < numel) atomic_add(out + j, x);
      continue;
    }
    Addend<T> addend{i < numel ? u32(j) : Addend<T>::no_index, widen_half(x)};
    addend.combine_lanes();
    if (t % logical_wave_size == 0) {
      partials[t / logical_wave_size] = addend;
    } else {
      addend.add_to(out);
    }
    __syncthreads();
    if (t < logical_wave_size) {
      addend.index = Addend<T>::no_index;
      if (t < waves) addend = partials[t];
      addend.combine_lanes();
      addend.add_to(out);
    }
    __syncthreads();
  }
}

}  // namespace

#define FAST(name, T, Out, Op)                                                                           \
  extern "C" __global__ void __launch_bounds__(1024, 2)                                                  \
      fast_##name##_##T(const size_t src_numel, const size_t el_to_sum_per_block, const size_t num_dims, \
                        const size_t *info, const T *src, Out *dst) {                                    \
    fast_reduce<Op>(src_numel, el_to_sum_per_block, num_dims, info, src, dst);                           \
  }

#define FAST_REDUCTIONS(T)        \
  FAST(sum, T, T, Sum<T>)         \
  FAST(min, T, T, Min<T>)         \
  FAST(max, T, T, Max<T>)         \
  FAST(argmin, T, u32, ArgMin<T>) \
  FAST(argmax, T, u32, ArgMax<T>)

FAST_REDUCTIONS(bf16)
FAST_REDUCTIONS(f16)
FAST_REDUCTIONS(f32)
FAST_REDUCTIONS(f64)
FAST_REDUCTIONS(u8)
FAST_REDUCTIONS(u32)
FAST_REDUCTIONS(i64)

#define SOFTMAX(T)                                                                                       \
  extern "C" __global__ void __launch_bounds__(32) softmax_##T(const T *src, T *dst, const int n_cols) { \
    softmax(src, dst, n_cols);                                                                           \
  }

#define NORMS(T)                                                                                                      \
  extern "C" __global__ void __launch_bounds__(1024)                                                                  \
      rmsnorm_##T(const T *src, T *dst, const T *alpha, const int n_cols, const int block_size, const float eps) {    \
    rmsnorm(src, dst, alpha, n_cols, block_size, eps);                                                                \
  }                                                                                                                   \
  extern "C" __global__ void __launch_bounds__(1024) layernorm_##T(                                                   \
      const T *src, T *dst, const T *alpha, const T *beta, const int n_cols, const int block_size, const float eps) { \
    layernorm(src, dst, alpha, beta, n_cols, block_size, eps);                                                        \
  }

#define ROPES(T)                                                                                                       \
  extern "C" __global__ void __launch_bounds__(1024, 2)                                                                \
      rope_i_##T(const T *src, const T *cos, const T *sin, T *dst, const u32 bh, const u32 td, const u32 stride_b) {   \
    rope_i(src, cos, sin, dst, bh, td, stride_b);                                                                      \
  }                                                                                                                    \
  extern "C" __global__ void __launch_bounds__(1024, 2) rope_##T(                                                      \
      const T *src, const T *cos, const T *sin, T *dst, const u32 bh, const u32 td, const u32 d, const u32 stride_b) { \
    rope(src, cos, sin, dst, bh, td, d, stride_b);                                                                     \
  }                                                                                                                    \
  extern "C" __global__ void __launch_bounds__(1024, 2)                                                                \
      rope_thd_##T(const T *src, const T *cos, const T *sin, T *dst, const u32 b, const u32 t, const u32 h,            \
                   const u32 d, const u32 stride_b) {                                                                  \
    rope_thd(src, cos, sin, dst, b, t, h, d, stride_b);                                                                \
  }

#define SUM(T)                                                                                                        \
  extern "C" __global__ void __launch_bounds__(1024)                                                                  \
      sum_##T(const size_t numel, const size_t num_dims, const size_t num_sum_dims, const size_t *info, const T *inp, \
              T *out) {                                                                                               \
    sum(numel, num_dims, num_sum_dims, info, inp, out);                                                               \
  }

SOFTMAX(bf16)
SOFTMAX(f16)
SOFTMAX(f32)
SOFTMAX(f64)
NORMS(bf16)
NORMS(f16)
NORMS(f32)
NORMS(f64)
ROPES(bf16)
ROPES(f16)
ROPES(f32)
ROPES(f64)
SUM(bf16)
SUM(f16)
SUM(f32)
SUM(f64)
SUM(u32)
