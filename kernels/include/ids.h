// Ids into a dimension, as the indexing kernels take them.
#pragma once

#include "target.h"

namespace candle {

// The largest value of an id's type stands for "no element".
template <class Id>
constexpr Id no_id = Id(-1) < Id(0) ? Id((u64(1) << (8 * sizeof(Id) - 1)) - 1) : Id(-1);

// An id outside the dimension stops the kernel: HIP reports a fault, never a wrong result. Negative ids are outside.
// The assert of HIP's headers formats text on the GPU and needs scratch memory for it; a trap costs two instructions.
__device__ inline void require_inside(bool inside) { CANDLE_REQUIRE(inside, "an id outside the dimension"); }

template <class Id>
__device__ inline size_t checked(Id id, size_t dim_size) {
  require_inside(size_t(id) < dim_size);
  return size_t(id);
}

}  // namespace candle
