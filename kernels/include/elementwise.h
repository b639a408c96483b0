// out[i] = op(in0[i], in1[i], ...) over strided inputs: the body of every elementwise kernel.
#pragma once

#include "target.h"

namespace candle {

__device__ inline size_t thread_index() { return size_t(blockIdx.x) * blockDim.x + threadIdx.x; }

__device__ inline size_t thread_count() { return size_t(gridDim.x) * blockDim.x; }

// Row-major without gaps, for each of the N operands whose strides follow dims in info; null info says so too.
template <int N>
__device__ CANDLE_ONE_COPY bool is_contiguous(size_t num_dims, const size_t *info) {
  if (!info) return true;
  size_t expected = 1;
  for (size_t d = num_dims; d-- > 0;) {
    const size_t size = info[d];
    if (size <= 1) continue;  // the stride of such a dimension is never used
    for (int k = 0; k < N; ++k) {
      if (info[(k + 1) * num_dims + d] != expected) return false;
    }
    expected *= size;
  }
  return true;
}

// i / d and i mod d. `wide` is uniform over the grid; a 32-bit division is several times cheaper.
__device__ inline size_t divide(size_t &i, size_t d, bool wide) {
  const size_t quotient = wide ? i / d : size_t(u32(i) / u32(d));
  const size_t remainder = i - quotient * d;
  i = quotient;
  return remainder;
}

template <int N>
struct Offsets {
  size_t at[N];
};

// Where the i-th element (row-major) of each operand lies. Dimensions that lie in memory as one are taken as one;
// the outermost needs no division. All control flow here is uniform over the grid.
template <int N>
__device__ CANDLE_ONE_COPY Offsets<N> offsets(size_t i, size_t num_dims, const size_t *info, bool wide) {
  Offsets<N> result{};
  for (size_t d = num_dims; d-- > 0;) {
    const size_t inner = d;
    size_t size = info[d];
    if (size == 1) continue;
    for (; d > 0; --d) {
      bool mergeable = true;
      for (int k = 1; k <= N; ++k) {
        mergeable &= info[k * num_dims + d - 1] == size * info[k * num_dims + inner];
      }
      if (!mergeable) break;
      size *= info[d - 1];
    }
    const size_t index = d == 0 ? i : divide(i, size, wide);
    for (int k = 0; k < N; ++k) result.at[k] += index * info[(k + 1) * num_dims + inner];
  }
  return result;
}

// N elements that move in one load or store.
template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  T at[N];
};

template <int N, class T>
__device__ inline bool is_aligned(const T *p) {
  return reinterpret_cast<size_t>(p) % sizeof(Pack<T, N>) == 0;
}

template <int N, class T>
__device__ inline Pack<T, N> load_pack(const T *p) {
  return *reinterpret_cast<const Pack<T, N> *>(p);
}

// Elements per thread and step: 16 bytes of the widest operand, at most what the operation allows. An operation that
// sets a limit has long code; two of it for two f64 would cost registers and save no memory transaction.
constexpr int pack_width(int most, size_t widest) {
  if (most < any_number && widest == 8) return 1;
  return most < int(16 / widest) ? most : int(16 / widest);
}

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
  for (int k = 0; k < N; ++k) result.at[k] = op(in.at[k]...);
  return result;
}

template <int... K>
struct Indices {};
template <int N>
struct first_indices;
template <>
struct first_indices<1> {
  using type = Indices<0>;
};
template <>
struct first_indices<2> {
  using type = Indices<0, 1>;
};
template <>
struct first_indices<3> {
  using type = Indices<0, 1, 2>;
};

template <class Op, class Out, class... In, int... K>
__device__ inline Out apply_at(const Op &op, Indices<K...>, const Offsets<sizeof...(In)> &where, const In *...in) {
  return op(in[where.at[K]]...);
}

// `info` is dims, then the strides of each input in order; null when all are contiguous. Op::most_per_thread bounds
// the width of the packed loop, which a library function would otherwise unroll sixteen times.
template <class Op, class Out, class... In>
__device__ inline void map(size_t numel, size_t num_dims, const size_t *__restrict__ info, const Op &op, Out *out,
                           const In *...in) {
  constexpr int inputs = sizeof...(In);
  constexpr int width = pack_width(Op::most_per_thread, widest_of<Out, In...>());
  const bool flat = is_contiguous<inputs>(num_dims, info);
  const bool wide = numel >> 32;
  const size_t step = thread_count();
  size_t done = 0;
  if constexpr (width > 1) {
    if (flat && is_aligned<width>(out) && (is_aligned<width>(in) && ...)) {
      const size_t packs = numel / width;
      for (size_t p = thread_index(); p < packs; p += step) {
        *reinterpret_cast<Pack<Out, width> *>(out + p * width) =
            apply_pack<Op, width, Out, In...>(op, load_pack<width>(in + p * width)...);
      }
      done = packs * width;
    }
  }
  for (size_t i = done + thread_index(); i < numel; i += step) {
    Offsets<inputs> where;
    if (flat) {
      for (int k = 0; k < inputs; ++k) where.at[k] = i;
    } else {
      where = offsets<inputs>(i, num_dims, info, wide);
    }
    out[i] = apply_at<Op, Out, In...>(op, typename first_indices<inputs>::type{}, where, in...);
  }
}

}  // namespace candle
