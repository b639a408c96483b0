// Vectorized loads and stores of neighbouring elements.
#pragma once

#include "target.h"

namespace candle {

// N elements that one instruction loads or stores.
template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  T data[N];
};

template <int N, class T>
__device__ inline bool is_aligned(const T *p) {
  return reinterpret_cast<size_t>(p) % sizeof(Pack<T, N>) == 0;
}

template <int N, class T>
__device__ inline Pack<T, N> load_pack(const T *p) {
  return *reinterpret_cast<const Pack<T, N> *>(p);
}

template <class T, int N>
__device__ inline void store_pack(T *p, const Pack<T, N> &values) {
  target::store_whole(reinterpret_cast<Pack<T, N> *>(p), values);
}

}  // namespace candle
