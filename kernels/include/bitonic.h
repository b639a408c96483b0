// Argsort of rows by a bitonic network: which of two equal values comes first is the network's doing, and the same
// for every block size and wave size.
#pragma once

#include "reduction.h"
#include "shuffle.h"

namespace candle {

constexpr int most_threads = 1024;

// Sorts the indices 0..padded-1 of a row of n columns; indices from n on are padding and go last. padded is a power of
// two. Comparisons are strict and false for NaN.
template <class T, bool descending>
struct Bitonic {
  using Key = decltype(comparable(T{}));

  const T *row;
  int n;

  struct Entry {
    int index;
    Key key;
  };

  __device__ Entry entry(int index) const { return Entry{index, index < n ? comparable(row[index]) : Key{}}; }

  template <bool with_padding>
  __device__ bool after(const Entry &x, const Entry &y) const {
    const bool strictly = descending ? x.key < y.key : x.key > y.key;
    return with_padding ? (x.index >= n) | ((y.index < n) & strictly) : strictly;
  }

  // One stage among the lanes of a group: the own column against column ^ distance, which the lane ^ mask has. Runs of
  // `merged` columns ascend and descend in turn.
  template <int mask, bool with_padding>
  __device__ void stage(Entry &own, int column, int distance, int merged) const {
    const Entry other{shuffle_xor<mask>(own.index), shuffle_xor<mask>(own.key)};
    const bool keeps_first = ((column & distance) == 0) == ((column & merged) == 0);
    const bool taken = keeps_first ? after<with_padding>(own, other) : after<with_padding>(other, own);
    own = Entry{taken ? other.index : own.index, taken ? other.key : own.key};
  }

  // The stages of runs of `merged` columns whose distances are `unit` times 1 to 16 and less than the run.
  template <bool with_padding>
  __device__ void stages(Entry &own, int column, int unit, int merged) const {
    if (merged > 16 * unit) stage<16, with_padding>(own, column, 16 * unit, merged);
    if (merged > 8 * unit) stage<8, with_padding>(own, column, 8 * unit, merged);
    if (merged > 4 * unit) stage<4, with_padding>(own, column, 4 * unit, merged);
    if (merged > 2 * unit) stage<2, with_padding>(own, column, 2 * unit, merged);
    if (merged > unit) stage<1, with_padding>(own, column, unit, merged);
  }

  template <bool with_padding>
  __device__ void sort_group(Entry &own, int column, int columns) const {
    for (int merged = 2; merged <= columns; merged *= 2) stages<with_padding>(own, column, 1, merged);
  }

  // Entries in LDS; a group of lanes reads and writes them along either side of a square without bank conflicts.
  struct Shelf {
    int *index;
    Key *key;

    __device__ void put(int cell, Entry x) const {
      index[cell] = x.index;
      key[cell] = x.key;
    }
    __device__ Entry get(int cell) const { return Entry{index[cell], key[cell]}; }
  };

  // A column a thread. A group of lanes holds 32 neighbouring columns, or for the longer distances columns 32 apart,
  // so that every stage is one among lanes.
  template <bool with_padding>
  __device__ void sort_columns(const Shelf &shelf, unsigned *out, int padded, int t) const {
    Entry own = entry(t);
    sort_group<with_padding>(own, t, padded < logical_wave_size ? padded : logical_wave_size);
    if (padded > logical_wave_size) {
      const int rows = padded / logical_wave_size;
      const int spread = logical_wave_size / rows;
      const int group = t / logical_wave_size, lane = t % logical_wave_size;
      const int near = group * logical_wave_size + (lane ^ group * spread);
      const int far_row = lane & (rows - 1);
      const int far_lane = group * spread + lane / rows;
      const int far_column = far_row * logical_wave_size + far_lane;
      const int far = far_row * logical_wave_size + (far_lane ^ far_row * spread);
      for (int merged = 2 * logical_wave_size; merged <= padded; merged *= 2) {
        // A thread writes where it was the last to read, so one barrier a move is enough.
        shelf.put(near, own);
        __syncthreads();
        own = shelf.get(far);
        stages<with_padding>(own, far_column, logical_wave_size, merged);
        shelf.put(far, own);
        __syncthreads();
        own = shelf.get(near);
        stages<with_padding>(own, t, 1, merged);
      }
    }
    store(out, t, own);
  }

  // Several columns a thread, whose keys are read from the row.
  __device__ void sort_row(int *indices, unsigned *out, int padded, int t, int threads) const {
    for (int column = t; column < padded; column += threads) {
      Entry own = entry(column);
      sort_group<true>(own, column, logical_wave_size);
      indices[column] = own.index;
    }
    __syncthreads();
    for (int merged = 2 * logical_wave_size; merged <= padded; merged *= 2) {
      for (int distance = merged / 2; distance >= logical_wave_size; distance /= 2) {
        for (int pair = t; pair < padded / 2; pair += threads) {
          const int column = 2 * pair - (pair & (distance - 1));
          const Entry low = entry(indices[column]);
          const Entry high = entry(indices[column + distance]);
          if ((column & merged) == 0 ? after<true>(low, high) : after<true>(high, low)) {
            indices[column] = high.index;
            indices[column + distance] = low.index;
          }
        }
        __syncthreads();
      }
      // Every thread goes on with the columns that it stores itself, so only the next merge needs a barrier.
      for (int column = t; column < padded; column += threads) {
        Entry own = entry(indices[column]);
        stages<true>(own, column, 1, merged);
        if (merged == padded) {
          store(out, column, own);
        } else {
          indices[column] = own.index;
        }
      }
      if (merged < padded) __syncthreads();
    }
  }

  // `indices` are `padded` numbers in LDS, `keys` as many as a block has threads at most.
  __device__ void sort(int *indices, Key *keys, unsigned *out, int padded, int t, int threads) const {
    if (padded > threads) {
      sort_row(indices, out, padded, t, threads);
    } else if (t < padded) {
      if (n == padded) {
        sort_columns<false>(Shelf{indices, keys}, out, padded, t);
      } else {
        sort_columns<true>(Shelf{indices, keys}, out, padded, t);
      }
    }
  }

  __device__ void store(unsigned *out, int column, const Entry &own) const {
    if (column < n) out[column] = u32(own.index);
  }
};

}  // namespace candle
