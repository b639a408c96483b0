// Argsort of rows by a bitonic network: which of two equal values comes first is the network's doing, and the same
// for every block size and wave size.
#pragma once

#include "lanes.h"
#include "reduction.h"

namespace candle {

// Sorts the indices 0..padded-1 of a row of n columns; indices from n on are padding and go last. padded is a power of
// two. Comparisons are strict and false for NaN.
template <class T, bool descending>
struct Bitonic {
  const T *row;
  int n;

  struct Entry {
    int index;
    T key;
  };

  __device__ Entry entry(int index) const { return Entry{index, index < n ? row[index] : T{}}; }

  // Whether the keys of a pair change places so that they ascend in the order of the result (or descend in it).
  __device__ bool exchanged(Entry low, Entry high, bool ascend) const {
    const bool after =
        descending ? comparable(low.key) < comparable(high.key) : comparable(low.key) > comparable(high.key);
    const bool before =
        descending ? comparable(low.key) > comparable(high.key) : comparable(low.key) < comparable(high.key);
    const bool low_padded = low.index >= n;
    const bool high_padded = high.index >= n;
    return ascend ? low_padded || (!high_padded && after) : high_padded || (!low_padded && before);
  }

  // One stage among the lanes of a group: column against column ^ distance.
  template <int distance>
  __device__ void lane_stage(Entry &own, int column, int merged) const {
    if (merged <= distance) return;
    const Entry other{swap<distance>(own.index), swap<distance>(own.key)};
    const bool is_low = (column & distance) == 0;
    if (exchanged(is_low ? own : other, is_low ? other : own, (column & merged) == 0)) own = other;
  }

  __device__ void lane_stages(Entry &own, int column, int merged) const {
    lane_stage<16>(own, column, merged);
    lane_stage<8>(own, column, merged);
    lane_stage<4>(own, column, merged);
    lane_stage<2>(own, column, merged);
    lane_stage<1>(own, column, merged);
  }

  // All stages of distance below 32 that sort runs of `merged` columns; with merged = 32 those of the shorter runs
  // before it too. Neither needs a barrier within.
  __device__ Entry sorted_in_group(int index, int column, int merged) const {
    Entry own = entry(index);
    if (merged <= group_lanes) {
      for (int run = 2; run < merged; run *= 2) lane_stages(own, column, run);
    }
    lane_stages(own, column, merged);
    return own;
  }

  __device__ void sort(int *indices, unsigned *out, int padded, int t, int threads) const {
    const int first = padded < group_lanes ? padded : group_lanes;
    if (padded <= group_lanes) {
      if (t < padded) store(out, t, sorted_in_group(t, t, first));
      return;
    }
    for (int column = t; column < padded; column += threads) {
      indices[column] = sorted_in_group(column, column, first).index;
    }
    __syncthreads();
    for (int merged = 2 * group_lanes; merged <= padded; merged *= 2) {
      for (int distance = merged / 2; distance >= group_lanes; distance /= 2) {
        for (int pair = t; pair < padded / 2; pair += threads) {
          const int column = 2 * pair - (pair & (distance - 1));
          const Entry low = entry(indices[column]);
          const Entry high = entry(indices[column + distance]);
          if (exchanged(low, high, (column & merged) == 0)) {
            indices[column] = high.index;
            indices[column + distance] = low.index;
          }
        }
        __syncthreads();
      }
      // Every thread goes on with the columns that it stores itself, so only the next merge needs a barrier.
      for (int column = t; column < padded; column += threads) {
        const Entry own = sorted_in_group(indices[column], column, merged);
        if (merged == padded) {
          store(out, column, own);
        } else {
          indices[column] = own.index;
        }
      }
      if (merged < padded) __syncthreads();
    }
  }

  __device__ void store(unsigned *out, int column, const Entry &own) const {
    if (column < n) out[column] = u32(own.index);
  }
};

}  // namespace candle
