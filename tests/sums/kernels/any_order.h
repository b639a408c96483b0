// The sum of term(0), ..., term(n - 1), kept in A, in the order that -D ORDER=... names; -D WRONG=... makes a mistake.
#pragma once

#include "arithmetic.h"
#include "types.h"

namespace sums {

using namespace candle;

enum Order { forward, backward, pairwise, kahan, lanes, tree, chunks, wave64 };
enum Mistake { none, lost_tail, lost_partial, no_barrier, in_storage, no_eps, n_minus_1, no_mean, no_maximum, scaled };

#ifndef ORDER
#define ORDER forward
#endif
#ifndef WRONG
#define WRONG none
#endif

constexpr Order order = ORDER;
constexpr Mistake mistake = WRONG;

// The type that Candle keeps the sums of T in where it does not keep them in T.
template <class T>
struct Accumulator {
  using type = f32;
};
template <>
struct Accumulator<f64> {
  using type = f64;
};
template <bool first, class A, class B>
struct Either {
  using type = A;
};
template <class A, class B>
struct Either<false, A, B> {
  using type = B;
};
// With in_storage the type itself, which is a mistake where Candle has a wider one.
template <class T>
using Wide = typename Either<mistake == in_storage, T, typename Accumulator<T>::type>::type;
// -D IN_TYPE=true: the type itself, as Candle does it in some kernels.
#ifndef IN_TYPE
#define IN_TYPE false
#endif
template <class T>
using Own = typename Either<IN_TYPE, T, typename Accumulator<T>::type>::type;

template <class To, class From>
__device__ inline To as(From x) {
  if constexpr (is_same<To, From>) {
    return x;
  } else if constexpr (is_same<To, f64>) {
    return f64(widen(x));
  } else if constexpr (is_same<From, f64> && is_same<To, f32>) {
    return f32(x);
  } else {
    return narrow<To>(widen(x));
  }
}

template <class A, class Term>
__device__ A range(size_t first, size_t end, const Term &term) {
  A total = as<A>(0.0f);
  for (size_t i = first; i < end; ++i) total = total + as<A>(term(i));
  return total;
}

// Pairs, pairs of pairs and so on, without recursion: a thread of AMD's has 1 KiB of stack.
template <class A, class Term>
__device__ A halves(size_t first, size_t end, const Term &term) {
  A partial[32];
  size_t count = 0;
  for (; first + count < end; ++count) {
    A sum = as<A>(term(first + count));
    unsigned level = 0;
    for (; count >> level & 1; ++level) sum = partial[level] + sum;
    partial[level] = sum;
  }
  A result = as<A>(0.0f);
  for (unsigned level = 0; level < 32; ++level)
    if (count >> level & 1) result = partial[level] + result;
  return result;
}

// In one thread.
template <class A, class Term>
__device__ A total(size_t n, const Term &term) {
  if (mistake == lost_tail && n > 4) n -= n % 4 ? n % 4 : 1;
  A result = as<A>(0.0f);
  if constexpr (order == backward) {
    for (size_t i = n; i-- > 0;) result = result + as<A>(term(i));
  } else if constexpr (order == pairwise) {
    result = halves<A>(0, n, term);
  } else if constexpr (order == kahan) {
    A lost = as<A>(0.0f);
    for (size_t i = 0; i < n; ++i) {
#pragma clang fp reassociate(off) contract(off)
      const A x = as<A>(term(i)) - lost;
      const A next = result + x;
      // An infinity has no error.
      lost = f64(widen(next)) - f64(widen(next)) == 0 ? (next - result) - x : as<A>(0.0f);
      result = next;
    }
  } else if constexpr (order == lanes) {
    A parts[4] = {result, result, result, result};
    for (size_t i = 0; i < n; ++i) parts[i % 4] = parts[i % 4] + as<A>(term(i));
    if (mistake == lost_partial) parts[3] = as<A>(0.0f);
    result = (parts[0] + parts[2]) + (parts[1] + parts[3]);
  } else {
    result = range<A>(0, n, term);
  }
  return result;
}

template <class A>
__device__ A shuffled(A x, int mask, int width) {
  if constexpr (sizeof(A) == 2) {
    return A{u16(__shfl_xor(int(x.bits), mask, width))};
  } else {
    return __shfl_xor(x, mask, width);
  }
}

// Over the threads of a block, a power of two of them; every thread gets the result.
template <class A, class Term>
__device__ A block_total(size_t n, u32 t, u32 threads, const Term &term) {
  __shared__ A partials[1024];
  A result = as<A>(0.0f);
  if (mistake == lost_tail && n > 4) n -= n % 4 ? n % 4 : 1;
  if constexpr (order == tree || order == chunks || order == wave64) {
    const size_t each = (n + threads - 1) / threads;
    const size_t begin = order == chunks ? t * each : t, step = order == chunks ? 1 : threads;
    const size_t end = order == chunks && (t + 1) * each < n ? (t + 1) * each : n;
    for (size_t i = begin; i < end; i += step) result = result + as<A>(term(i));
    u32 parts = threads;
    if constexpr (order == wave64) {
      const int width = threads < 64 ? int(threads) : 64;
      for (int mask = width / 2; mask > 0; mask /= 2) result = result + shuffled(result, mask, width);
      parts = threads / width;
      if (t % width == 0) partials[t / width] = result;
      __syncthreads();
      result = as<A>(0.0f);
      for (u32 k = 0; k + (mistake == lost_partial && parts > 1) < parts; ++k) result = result + partials[k];
    } else {
      partials[t] = result;
      __syncthreads();
      for (u32 half = parts / 2; half > 0; half /= 2) {
        const bool taken = !(mistake == lost_partial && half == 1 && parts > 2);
        if (t < half && taken) partials[t] = partials[t] + partials[t + half];
        if (mistake != no_barrier) __syncthreads();
      }
      result = partials[0];
    }
  } else {
    if (t == 0) partials[0] = total<A>(n, term);
    __syncthreads();
    result = partials[0];
  }
  __syncthreads();
  return result;
}

// A loop over all threads of the grid.
template <class Body>
__device__ void for_each(size_t n, const Body &body) {
  for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) body(i);
}

// Where element i lies, in row-major order of the dimensions; strides stand behind them.
__device__ inline size_t offset_of(size_t i, size_t num_dims, const size_t *info) {
  size_t result = 0;
  for (size_t d = num_dims; d-- > 0; i /= info[d]) result += i % info[d] * info[num_dims + d];
  return result;
}

}  // namespace sums
