// Argsort of rows by a bitonic network. The order of equal values is that of the network, and the same for every block
// size and wave size.
#pragma once

#include "reduction.h"
#include "shuffle.h"

namespace candle {

constexpr int max_threads = 1024;

// Sorts the indices 0..padded-1 of a row of n columns; indices from n on are padding and are sorted to the end. padded
// is a power of two. Comparisons are strict, and false for NaN.
template <class T, bool descending>
struct Bitonic {
  using Key = decltype(comparable(T{}));

  const T *row;
  int n;

  struct Entry {
    int index;
    Key key;
  };

  __device__ Entry load_entry(int index) const { return Entry{index, index < n ? comparable(row[index]) : Key{}}; }

  template <bool with_padding>
  __device__ bool comes_after(const Entry &x, const Entry &y) const {
    const bool strictly = descending ? x.key < y.key : x.key > y.key;
    return with_padding ? (x.index >= n) | ((y.index < n) & strictly) : strictly;
  }

  // A compare-exchange step within a logical wave: of `column` with column ^ distance, which lane ^ mask holds. Runs of
  // `run_length` columns are alternately ascending and descending.
  template <int mask, bool with_padding>
  __device__ void compare_exchange(Entry &entry, int column, int distance, int run_length) const {
    const Entry other{shuffle_xor<mask>(entry.index), shuffle_xor<mask>(entry.key)};
    const bool keeps_first = ((column & distance) == 0) == ((column & run_length) == 0);
    const bool take_other =
        keeps_first ? comes_after<with_padding>(entry, other) : comes_after<with_padding>(other, entry);
    entry = Entry{take_other ? other.index : entry.index, take_other ? other.key : entry.key};
  }

  // The steps of a merge of runs of `run_length` columns with distances below the run length, of 1 to 16 times
  // column_stride: those within a logical wave. `all` says that the run length is above these distances.
  template <bool with_padding, bool all>
  __device__ void merge_in_wave(Entry &entry, int column, int column_stride, int run_length) const {
    if (all || run_length > 16 * column_stride)
      compare_exchange<16, with_padding>(entry, column, 16 * column_stride, run_length);
    if (all || run_length > 8 * column_stride)
      compare_exchange<8, with_padding>(entry, column, 8 * column_stride, run_length);
    if (all || run_length > 4 * column_stride)
      compare_exchange<4, with_padding>(entry, column, 4 * column_stride, run_length);
    if (all || run_length > 2 * column_stride)
      compare_exchange<2, with_padding>(entry, column, 2 * column_stride, run_length);
    compare_exchange<1, with_padding>(entry, column, column_stride, run_length);
  }

  template <bool with_padding>
  __device__ void sort_in_wave(Entry &entry, int column, int columns) const {
#pragma unroll 1
    for (int run_length = 2; run_length <= columns; run_length *= 2)
      merge_in_wave<with_padding, false>(entry, column, 1, run_length);
  }

  // Entries in LDS, swizzled so that a logical wave can access both rows and columns of a square without bank
  // conflicts.
  struct SharedEntries {
    int *index;
    Key *key;

    __device__ void put(int slot, Entry x) const {
      index[slot] = x.index;
      key[slot] = x.key;
    }
    __device__ Entry get(int slot) const { return Entry{index[slot], key[slot]}; }
  };

  // One column per thread. A logical wave holds 32 neighbouring columns, or, for the longer distances, columns that are
  // 32 apart, so that every step is a shuffle.
  template <bool with_padding>
  __device__ void sort_one_per_thread(const SharedEntries &shared, unsigned *out, int padded, int t) const {
    Entry entry = load_entry(t);
    sort_in_wave<with_padding>(entry, t, padded < logical_wave_size ? padded : logical_wave_size);
    if (padded > logical_wave_size) {
      const int rows = padded / logical_wave_size;
      const int swizzle = logical_wave_size / rows;
      const int wave = t / logical_wave_size, lane = t % logical_wave_size;
      const int near_slot = wave * logical_wave_size + (lane ^ wave * swizzle);
      const int far_row = lane & (rows - 1);
      const int far_lane = wave * swizzle + lane / rows;
      const int far_column = far_row * logical_wave_size + far_lane;
      const int far_slot = far_row * logical_wave_size + (far_lane ^ far_row * swizzle);
#pragma unroll 1
      for (int run_length = 2 * logical_wave_size; run_length <= padded; run_length *= 2) {
        // A thread writes only slots that it was the last to read, so one barrier per exchange is enough.
        shared.put(near_slot, entry);
        __syncthreads();
        entry = shared.get(far_slot);
        merge_in_wave<with_padding, false>(entry, far_column, logical_wave_size, run_length);
        shared.put(far_slot, entry);
        __syncthreads();
        entry = shared.get(near_slot);
        merge_in_wave<with_padding, true>(entry, t, 1, run_length);
      }
    }
    store(out, t, entry);
  }

  // Several columns per thread; keys are read from the row each time.
  __device__ void sort_many_per_thread(int *indices, unsigned *out, int padded, int t, int threads) const {
#pragma unroll 1
    for (int column = t; column < padded; column += threads) {
      Entry entry = load_entry(column);
      sort_in_wave<true>(entry, column, logical_wave_size);
      indices[column] = entry.index;
    }
    __syncthreads();
#pragma unroll 1
    for (int run_length = 2 * logical_wave_size; run_length <= padded; run_length *= 2) {
#pragma unroll 1
      for (int distance = run_length / 2; distance >= logical_wave_size; distance /= 2) {
#pragma unroll 1
        for (int pair = t; pair < padded / 2; pair += threads) {
          const int column = 2 * pair - (pair & (distance - 1));
          const Entry low = load_entry(indices[column]);
          const Entry high = load_entry(indices[column + distance]);
          if ((column & run_length) == 0 ? comes_after<true>(low, high) : comes_after<true>(high, low)) {
            indices[column] = high.index;
            indices[column + distance] = low.index;
          }
        }
        __syncthreads();
      }
      // Every thread continues with the columns that it stores itself, so only the next merge needs a barrier.
#pragma unroll 1
      for (int column = t; column < padded; column += threads) {
        Entry entry = load_entry(indices[column]);
        merge_in_wave<true, true>(entry, column, 1, run_length);
        if (run_length == padded) {
          store(out, column, entry);
        } else {
          indices[column] = entry.index;
        }
      }
      if (run_length < padded) __syncthreads();
    }
  }

  // `indices` has `padded` elements in LDS, `keys` as many as a block has threads at most.
  __device__ void sort(int *indices, Key *keys, unsigned *out, int padded, int t, int threads) const {
    if (padded > threads) {
      sort_many_per_thread(indices, out, padded, t, threads);
    } else if (t < padded) {
      if (n == padded) {
        sort_one_per_thread<false>(SharedEntries{indices, keys}, out, padded, t);
      } else {
        sort_one_per_thread<true>(SharedEntries{indices, keys}, out, padded, t);
      }
    }
  }

  __device__ void store(unsigned *out, int column, const Entry &entry) const {
    if (column < n) out[column] = u32(entry.index);
  }
};

}  // namespace candle
