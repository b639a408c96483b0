// Indices into a dimension ("ids"), as the indexing kernels take them.
#pragma once

#include "target.h"

namespace candle {

// The largest value of the id type means "no element".
template <class Id>
constexpr Id no_id = Id(-1) < Id(0) ? Id((u64(1) << (8 * sizeof(Id) - 1)) - 1) : Id(-1);

// An out-of-range id stops the kernel: HIP reports a fault, and there is no wrong result. Negative ids are out of
// range. Not the assert of HIP's headers, which formats text on the GPU and needs scratch memory for it: a trap is two
// instructions.
__device__ inline void require_in_range(bool in_range) { CANDLE_REQUIRE(in_range, "an id outside the dimension"); }

template <class Id>
__device__ inline size_t checked_index(Id id, size_t dim_size) {
  require_in_range(size_t(id) < dim_size);
  return size_t(id);
}

}  // namespace candle
