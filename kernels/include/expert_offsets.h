// How many tokens each expert has, and where they begin in a list that is sorted by expert.
#pragma once

#include "types.h"

namespace candle {

constexpr int expert_threads = 1024;

// One thread block. counts[e] (unless null) is the number of ids that are e, offsets[e] the number of those below e;
// offsets has a last element, the number of all. Ids need not be sorted; those of no expert are not counted.
__device__ inline void count_experts(const i32 *__restrict__ ids, int size, int experts, i32 *__restrict__ counts,
                                     i32 *__restrict__ offsets) {
  __shared__ i32 bins[expert_threads];
  const int t = threadIdx.x;
  // Neighbours are equal as a rule: a thread counts a run of them, and adds it at its end.
  const int ids_per_thread = (size + expert_threads - 1) / expert_threads;
  const int begin = t * ids_per_thread < size ? t * ids_per_thread : size;
  const int end = begin + ids_per_thread < size ? begin + ids_per_thread : size;
  i32 before = 0;
  for (int first = 0; first < experts; first += expert_threads) {
    bins[t] = 0;
    __syncthreads();
    int bin = -1, run = 0;
    for (int i = begin; i < end; ++i) {
      const int id = ids[i] - first;
      if (id != bin) {
        if (bin >= 0 && bin < expert_threads) atomicAdd(&bins[bin], run);
        bin = id;
        run = 0;
      }
      ++run;
    }
    if (run > 0 && bin >= 0 && bin < expert_threads) atomicAdd(&bins[bin], run);
    __syncthreads();
    const i32 count = bins[t];
    for (int distance = 1; distance < expert_threads; distance *= 2) {
      const i32 other = t >= distance ? bins[t - distance] : 0;
      __syncthreads();
      bins[t] += other;
      __syncthreads();
    }
    const int expert = first + t;
    if (expert < experts) {
      if (counts) counts[expert] = count;
      offsets[expert] = before + bins[t] - count;
      if (expert == experts - 1) offsets[experts] = before + bins[t];
    }
    before += bins[expert_threads - 1];
    __syncthreads();
  }
}

}  // namespace candle
