// out[i] = op(in0[i], in1[i], ...) over contiguous inputs, several elements per thread.
#pragma once

#include "strided.h"

namespace candle {

// Elements per thread and iteration: 16 bytes of the widest operand, but no more than the operation allows. An
// operation that sets a limit has long code; two f64 at a time would cost it registers and save no memory transaction.
constexpr int pack_width(int max_per_thread, size_t widest) {
  if (max_per_thread < default_max_per_thread && widest == 8) return 1;
  return max_per_thread < int(16 / widest) ? max_per_thread : int(16 / widest);
}

// Enough blocks to keep a large GPU busy when each does several times the work.
constexpr u32 blocks_of_a_large_grid = 1024;

constexpr u32 log2_of(u32 power) { return power > 1 ? 1 + log2_of(power / 2) : 0; }

template <class... T>
constexpr size_t widest_of() {
  size_t widest = 1;
  ((widest = sizeof(T) > widest ? sizeof(T) : widest), ...);
  return widest;
}

template <class Op, int N, class Out, class... In>
__device__ inline Pack<Out, N> apply_pack(const Op &op, const Pack<In, N> &...in) {
  Pack<Out, N> result;
#pragma unroll
  for (int k = 0; k < N; ++k) result.data[k] = op(in.data[k]...);
  return result;
}

template <int width, class Op, class Out, class... In>
__device__ CANDLE_FORCE_INLINE void map_pack(size_t p, const Op &op, Out *out, const In *...in) {
  store_pack(out + p * width, apply_pack<Op, width, Out, In...>(op, load_pack<width>(in + p * width)...));
}

// `count` packs per thread, blockDim.x apart, whose loads are in flight together.
template <int width, int count, class Op, class Out, class In>
__device__ CANDLE_FORCE_INLINE void map_several_packs(size_t packs, u32 block, const Op &op, Out *out, const In *in) {
  const size_t first = size_t(block) * blockDim.x * count + threadIdx.x;
  if (first + (count - 1) * blockDim.x >= packs) {
    for (size_t p = first; p < packs && p < first + count * blockDim.x; p += blockDim.x)
      map_pack<width>(p, op, out, in);
    return;
  }
  Pack<Out, width> results[count];
#pragma unroll
  for (int k = 0; k < count; ++k)
    results[k] = apply_pack<Op, width, Out, In>(op, load_pack<width>(in + (first + k * blockDim.x) * width));
#pragma unroll
  for (int k = 0; k < count; ++k) store_pack(out + (first + k * blockDim.x) * width, results[k]);
}

template <int width, class Op, class Out, class... In>
__device__ CANDLE_FORCE_INLINE void map_packs(size_t numel, const ActiveGrid &grid, const Op &op, Out *out,
                                              const In *...in) {
  const size_t packs = numel / width;
  for (size_t p = grid.first(); p < packs; p += grid.step()) map_pack<width>(p, op, out, in...);
  for (size_t i = packs * width + grid.first(); i < numel; i += grid.step()) out[i] = op(in[i]...);
}

// For contiguous tensors that are not aligned, or have more elements than threads, which is not how Candle launches.
template <class Op, class Out, class... In>
__device__ CANDLE_NOINLINE_NVIDIA void map_each(const ActiveGrid grid, size_t numel, const Op op, Out *out,
                                                const In *...in) {
#pragma unroll 1
  for (size_t i = grid.first(); i < numel; i += grid.step()) out[i] = op(in[i]...);
}

template <int width, class... T>
__device__ inline bool are_aligned(const T *...p) {
  return ((reinterpret_cast<size_t>(p) % sizeof(Pack<T, width>)) | ...) == 0;
}

// Each element is loaded before the one before it is computed.
template <class Op, class Out, class In>
__device__ inline void map_in_loop(const ActiveGrid &grid, size_t numel, const Op &op, Out *out, const In *in) {
  const size_t step = grid.step();
  size_t i = grid.first();
  if (i >= numel) return;
  In next = in[i];
#pragma unroll 1
  for (bool more = true; more; i += step) {
    const In x = next;
    more = i + step < numel;
    if (more) next = in[i + step];
    out[i] = op(x);
  }
}

// The elements of a thread: packs that begin at `first`, first + step, ..., or single elements.
template <int width>
__device__ inline TileRange assign_packs(bool in_packs) {
  if (!in_packs) return {thread_index(), thread_count(), false};
  const TileRange packs = assign_tiles<log2_of(width)>();
  return {packs.first * width, packs.step * width, packs.is_empty};
}

template <bool in_place, class Out, class In>
__device__ inline const In *input(const In *in, const Out *out) {
  if constexpr (in_place) {
    return in ? in : out;
  } else {
    return in;
  }
}

// Candle launches a thread per element. Most blocks are idle, and what they execute before they return adds up.
template <int width, bool in_place, class Op, class InLoops, class Out, class... In>
__device__ inline void map_contiguous(size_t numel, const Op &op, const InLoops &in_loops, Out *out, const In *...in) {
  if constexpr (width == 1 && target::on_amd) {
    // In a loop, LLVM keeps more constants of long code in registers than there are.
    if (thread_count() < numel) return map_each(active_grid(0), numel, in_loops, out, input<in_place>(in, out)...);
    if (const size_t i = thread_index(); i < numel) out[i] = op(input<in_place>(in, out)[i]...);
  } else if constexpr (width == 1 && Op::max_per_thread == 1 && widest_of<Out, In...>() == 8) {
    // The units for f64 are the limit: a prefetch costs registers and gains nothing.
#pragma unroll 1
    for (size_t i = thread_index(); i < numel; i += thread_count()) out[i] = op(input<in_place>(in, out)[i]...);
  } else if constexpr (width == 1) {
    if (is_idle_of_few<4>()) return;
    map_in_loop(active_grid(shift_for_few_active_blocks<4>()), numel, op, out, input<in_place>(in, out)...);
  } else {
    // Several packs have 32 bytes at most where long code needs the other registers. A pack of each of two inputs fills
    // them. LLVM for AMD GPUs would not inline long code so often.
    constexpr bool is_long = Op::max_per_thread < default_max_per_thread;
    constexpr bool fits_several = sizeof...(In) == 1 && !(target::on_amd && is_long);
    constexpr u32 shift = log2_of(width), several = is_long && width * widest_of<Out, In...>() == 16 ? 1 : 2;
    // Large tensors of narrow types take little more time than the idle blocks do: these decide in one comparison.
    constexpr bool alternates = width > 2;
    if (alternates ? is_idle_in_alternating_grid(shift) : is_idle_block(shift)) return;
    const ActiveGrid grid = alternates ? alternating_grid(shift) : active_grid(shift);
    if (thread_count() < numel || blockDim.x < width || !are_aligned<width>(out, in...))
      return map_each(grid, numel, in_loops, out, input<in_place>(in, out)...);
    const size_t packs = numel / width;
    const bool large = fits_several && gridDim.x >> (shift + several) >= blocks_of_a_large_grid;
    if (large && is_idle_in_alternating_grid(shift + several)) return;
    // A block has a thread for each element after the last whole pack.
    const size_t p = large ? alternating_grid(shift + several).first() : grid.first(), tail = packs * width + p;
    if (tail < numel) out[tail] = op(input<in_place>(in, out)[tail]...);
    if constexpr (fits_several) {
      if (large)
        return map_several_packs<width, 1 << several>(packs, blockIdx.x >> (shift + several), op, out,
                                                      input<in_place>(in, out)...);
    }
    if (p < packs) map_pack<width>(p, op, out, input<in_place>(in, out)...);
  }
}

}  // namespace candle
