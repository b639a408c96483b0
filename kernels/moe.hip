// Mixtures of experts, as linked host functions: each chooses the launches itself.
#include "include/expert_offsets.h"
#include "include/quantized/half_values.h"
#include "include/quantized/mmvq.h"
#include "include/quantized/quantize_launch.h"

using namespace candle;

__global__ void __launch_bounds__(expert_threads)
    count_experts_kernel(const i32 *__restrict__ ids, int size, int experts, i32 *__restrict__ counts,
                         i32 *__restrict__ offsets) {
  count_experts(ids, size, experts, counts, offsets);
}

using TokenTeams = WaveTeams<1, 1, 4, 4>;

// Thread block (b, i): the b-th TokenTeams::rows_per_block rows of the expert of token i of the list times that token,
// quantized.
template <class F>
__global__ void __launch_bounds__(TokenTeams::threads)
    moe_vector_kernel(const void *__restrict__ weights, const void *__restrict__ inputs,
                      const i32 *__restrict__ expert_ids, Routing routing, f32 *__restrict__ output, int experts,
                      int blocks_per_input) {
  const int token = routing.sorted_token_ids[blockIdx.y], expert = expert_ids[blockIdx.y];
  if (expert < 0 || expert >= experts) return;
  const f32 scale = routing.topk_weights ? routing.topk_weights[token] : 1.0f;
  const int input = routing.topk_weights ? token : token / routing.topk, blocks = routing.size_k / F::length;
  const auto *x = static_cast<const typename F::Block *>(weights) + i64(expert) * routing.size_n * blocks;
  const auto *y = static_cast<const BlockQ8_1 *>(inputs) + i64(input) * blocks_per_input;
  multiply_vectors<F, 1, TokenTeams>(
      x, y, blocks, first_row<TokenTeams>(), routing.size_n, 0,
      [=](int, int row, f32 total) { output[i64(token) * routing.size_n + row] = total * scale; });
}

template <class F, class T>
__global__ void __launch_bounds__(grouped_threads)
    moe_quantized_kernel(const T *__restrict__ input, const void *__restrict__ weights, Routing routing,
                         f32 *__restrict__ output) {
  const QuantizedWeights<F, T> rows{static_cast<const typename F::Block *>(weights)};
  grouped_product(input, rows, routing,
                  [=](int token, int row, f32 sum) { output[i64(token) * routing.size_n + row] = sum; });
}

// What moe_gemm_wmma stores for a result. Candle's f16 is not the result: it takes the bits of the f16 for an integer,
// and stores that number as f16. Its callers get the same here.
__device__ inline void store_result(bf16 &to, f32 result) { to = narrow<bf16>(result); }
__device__ inline void store_result(f16 &to, f32 result) { to = narrow<f16>(f32(narrow<f16>(result).bits)); }

template <class T>
__global__ void __launch_bounds__(grouped_threads)
    moe_plain_kernel(const T *__restrict__ input, const T *__restrict__ weights, Routing routing,
                     T *__restrict__ output) {
  grouped_product(input, PlainWeights<T>{weights}, routing,
                  [=](int token, int row, f32 sum) { store_result(output[i64(token) * routing.size_n + row], sum); });
}

#ifdef CANDLE_HAS_HOST

namespace {

// Calls f with a value of the format that Candle's number stands for; unknown numbers launch nothing, as in Candle.
template <class Call>
void with_format(int gguf_dtype, Call call) {
  switch (gguf_dtype) {
    case 0:
      return call(Q8_0{});
    case 1:
      return call(Q4_K{});
    case 2:
      return call(Q2_K{});
    case 3:
      return call(Q3_K{});
    case 4:
      return call(Q5_K{});
    case 5:
      return call(Q6_K{});
  }
}

void launch_count_experts(const i32 *ids, int size, int experts, i32 *counts, i32 *offsets, hipStream_t stream) {
  count_experts_kernel<<<1, expert_threads, 0, stream>>>(ids, size, experts, counts, offsets);
}

dim3 grouped_grid(int experts, int size_n) { return dim3(unsigned(experts), ceil_div(size_n, grouped_rows)); }

template <class T>
void launch_plain(const void *input, const void *weights, const Routing &routing, void *output, int experts,
                  hipStream_t stream) {
  moe_plain_kernel<T><<<grouped_grid(experts, routing.size_n), grouped_threads, 0, stream>>>(
      static_cast<const T *>(input), static_cast<const T *>(weights), routing, static_cast<T *>(output));
}

template <class F, class T>
void launch_quantized(const void *input, const void *weights, const Routing &routing, f32 *output, int experts,
                      hipStream_t stream) {
  moe_quantized_kernel<F, T><<<grouped_grid(experts, routing.size_n), grouped_threads, 0, stream>>>(
      static_cast<const T *>(input), weights, routing, output);
}

}  // namespace

// dtype: 0 for f16, 1 for bf16. Long lists and short ones are sorted alike here, whatever is_prefill says.
extern "C" void moe_gemm_wmma(const void *input, const void *weights, const i32 *sorted_token_ids,
                              const i32 *expert_ids, const f32 *topk_weights, void *output, i32 *expert_counts,
                              i32 *expert_offsets, int num_experts, int topk, int size_m, int size_n, int size_k,
                              int dtype, bool, hipStream_t stream) {
  launch_count_experts(expert_ids, size_m, num_experts, expert_counts, expert_offsets, stream);
  const Routing routing{sorted_token_ids, expert_offsets, topk_weights, topk, size_m, size_n, size_k};
  if (dtype == 0) launch_plain<f16>(input, weights, routing, output, num_experts, stream);
  if (dtype == 1) launch_plain<bf16>(input, weights, routing, output, num_experts, stream);
}

extern "C" void moe_gemm_gguf(const f32 *input, const void *weights, const i32 *sorted_token_ids, const i32 *expert_ids,
                              const f32 *topk_weights, void *output, int num_experts, int topk, int size_m, int size_n,
                              int size_k, int gguf_dtype, hipStream_t stream) {
  constexpr int padding = 512;
  const int padded = (size_k + padding - 1) / padding * padding;
  const int inputs = topk_weights ? size_m : size_m / topk, blocks_per_input = padded / group_length;
  void *quantized = nullptr;
  if (hipMallocAsync(&quantized, size_t(inputs) * blocks_per_input * sizeof(BlockQ8_1), stream) != hipSuccess) return;
  launch_quantize_q8_1(input, quantized, size_k, padded, inputs, stream);
  const Routing routing{sorted_token_ids, nullptr, topk_weights, topk, size_m, size_n, size_k};
  const dim3 grid(ceil_div(size_n, TokenTeams::rows_per_block), unsigned(size_m));
  const dim3 block(logical_wave_size, TokenTeams::waves_per_block);
  with_format(gguf_dtype, [&](auto format) {
    moe_vector_kernel<decltype(format)><<<grid, block, 0, stream>>>(
        weights, quantized, expert_ids, routing, static_cast<f32 *>(output), num_experts, blocks_per_input);
  });
  static_cast<void>(hipFreeAsync(quantized, stream));
}

// input_dtype: 0 for f16, else bf16.
extern "C" void moe_gemm_gguf_prefill(const void *input, const u8 *weights, const i32 *sorted_token_ids,
                                      const i32 *expert_ids, const f32 *topk_weights, void *output, int num_experts,
                                      int topk, int size_m, int size_n, int size_k, int input_dtype, int gguf_dtype,
                                      hipStream_t stream) {
  void *offsets = nullptr;
  if (hipMallocAsync(&offsets, (size_t(num_experts) + 1) * sizeof(i32), stream) != hipSuccess) return;
  auto *expert_offsets = static_cast<i32 *>(offsets);
  launch_count_experts(expert_ids, size_m, num_experts, nullptr, expert_offsets, stream);
  const Routing routing{sorted_token_ids, expert_offsets, topk_weights, topk, size_m, size_n, size_k};
  with_format(gguf_dtype, [&](auto format) {
    using F = decltype(format);
    auto *to = static_cast<f32 *>(output);
    if (input_dtype == 0) {
      launch_quantized<F, f16>(input, weights, routing, to, num_experts, stream);
    } else {
      launch_quantized<F, bf16>(input, weights, routing, to, num_experts, stream);
    }
  });
  static_cast<void>(hipFreeAsync(offsets, stream));
}

#endif
