// index_select, gather, index_add, scatter and scatter_add.
//
// A tensor is left x dim x right, row-major, where dim is the indexed dimension. The largest value of the id type means
// "none": it selects zero, and adds or stores nothing. Any other id out of range traps.
#include "include/gather.h"
#include "include/scatter.h"

using namespace candle;

// The parameters are those of Candle; some are not used.
#pragma clang diagnostic ignored "-Wunused-parameter"

#define INDEX_SELECT(Id, T)                                                                                    \
  extern "C" __global__ void __launch_bounds__(1024, 2) is_##Id##_##T(                                         \
      const size_t numel, const size_t num_dims, const size_t *info, const Id *ids, const T *inp, T *out,      \
      const size_t left_size, const size_t src_dim_size, const size_t ids_dim_size, const size_t right_size) { \
    index_select(numel, num_dims, info, ids, inp, out, left_size, src_dim_size, ids_dim_size, right_size);     \
  }

#define GATHER(Id, T)                                                                                    \
  extern "C" __global__ void __launch_bounds__(1024)                                                     \
      gather_##Id##_##T(const size_t numel, const Id *ids, const T *inp, T *out, const size_t left_size, \
                        const size_t src_dim_size, const size_t ids_dim_size, const size_t right_size) { \
    gather(numel, ids, inp, out, src_dim_size, ids_dim_size, right_size);                                \
  }

#define INDEX_ADD(Id, T)                                                                                    \
  extern "C" __global__ void __launch_bounds__(1024)                                                        \
      ia_##Id##_##T(const Id *ids, const size_t ids_dim_size, const T *inp, T *out, const size_t left_size, \
                    const size_t src_dim_size, const size_t dst_dim_size, const size_t right_size) {        \
    scatter<Add, false>(ids, inp, out, left_size, ids_dim_size, dst_dim_size, right_size);                  \
  }

#define SCATTER(Id, T)                                                                                     \
  extern "C" __global__ void __launch_bounds__(1024)                                                       \
      s_##Id##_##T(const Id *ids, const T *inp, T *out, const size_t left_size, const size_t src_dim_size, \
                   const size_t dst_dim_size, const size_t right_size) {                                   \
    scatter<Overwrite, true>(ids, inp, out, left_size, src_dim_size, dst_dim_size, right_size);            \
  }

#define SCATTER_ADD(Id, T)                                                                                  \
  extern "C" __global__ void __launch_bounds__(1024)                                                        \
      sa_##Id##_##T(const Id *ids, const T *inp, T *out, const size_t left_size, const size_t src_dim_size, \
                    const size_t dst_dim_size, const size_t right_size) {                                   \
    scatter<Add, true>(ids, inp, out, left_size, src_dim_size, dst_dim_size, right_size);                   \
  }

// clang-format off
INDEX_SELECT(u8, bf16) INDEX_SELECT(u8, f16) INDEX_SELECT(u8, f32) INDEX_SELECT(u8, f64)
INDEX_SELECT(u8, u8) INDEX_SELECT(u8, u32) INDEX_SELECT(u8, i64) INDEX_SELECT(u8, f8_e4m3)
INDEX_SELECT(u32, bf16) INDEX_SELECT(u32, f16) INDEX_SELECT(u32, f32) INDEX_SELECT(u32, f64)
INDEX_SELECT(u32, u8) INDEX_SELECT(u32, u32) INDEX_SELECT(u32, i64) INDEX_SELECT(u32, f8_e4m3)
INDEX_SELECT(i64, bf16) INDEX_SELECT(i64, f16) INDEX_SELECT(i64, f32) INDEX_SELECT(i64, f64)
INDEX_SELECT(i64, u8) INDEX_SELECT(i64, u32) INDEX_SELECT(i64, i64) INDEX_SELECT(i64, f8_e4m3)
INDEX_SELECT(i16, f8_e4m3) INDEX_SELECT(i32, f8_e4m3)

GATHER(u8, bf16) GATHER(u8, f16) GATHER(u8, f32) GATHER(u8, f64)
GATHER(u8, u8) GATHER(u8, u32) GATHER(u8, i64) GATHER(u8, f8_e4m3)
GATHER(u32, bf16) GATHER(u32, f16) GATHER(u32, f32) GATHER(u32, f64)
GATHER(u32, u8) GATHER(u32, u32) GATHER(u32, i64) GATHER(u32, f8_e4m3)
GATHER(i64, bf16) GATHER(i64, f16) GATHER(i64, f32) GATHER(i64, f64)
GATHER(i64, u8) GATHER(i64, u32) GATHER(i64, i64) GATHER(i64, f8_e4m3)
GATHER(i16, f8_e4m3) GATHER(i32, f8_e4m3)

// Candle's f8 versions of index_add and scatter_add do not check ids, which is undefined behaviour for ids that the
// other types skip or trap on; here f8 behaves like every other type.
INDEX_ADD(u8, bf16) INDEX_ADD(u8, f16) INDEX_ADD(u8, f32) INDEX_ADD(u8, f64)
INDEX_ADD(u8, u8) INDEX_ADD(u8, u32) INDEX_ADD(u8, i64) INDEX_ADD(u8, f8_e4m3)
INDEX_ADD(u32, bf16) INDEX_ADD(u32, f16) INDEX_ADD(u32, f32) INDEX_ADD(u32, f64)
INDEX_ADD(u32, u8) INDEX_ADD(u32, u32) INDEX_ADD(u32, i64) INDEX_ADD(u32, f8_e4m3)
INDEX_ADD(i64, bf16) INDEX_ADD(i64, f16) INDEX_ADD(i64, f32) INDEX_ADD(i64, f64)
INDEX_ADD(i64, u8) INDEX_ADD(i64, u32) INDEX_ADD(i64, i64) INDEX_ADD(i64, f8_e4m3)
INDEX_ADD(i16, f8_e4m3) INDEX_ADD(i32, f8_e4m3)

SCATTER(u8, bf16) SCATTER(u8, f16) SCATTER(u8, f32) SCATTER(u8, f64) SCATTER(u8, u8) SCATTER(u8, u32) SCATTER(u8, i64)
SCATTER(u32, bf16) SCATTER(u32, f16) SCATTER(u32, f32) SCATTER(u32, f64) SCATTER(u32, u8) SCATTER(u32, u32)
SCATTER(u32, i64)
SCATTER(i64, bf16) SCATTER(i64, f16) SCATTER(i64, f32) SCATTER(i64, f64) SCATTER(i64, u8) SCATTER(i64, u32)
SCATTER(i64, i64)

SCATTER_ADD(u8, bf16) SCATTER_ADD(u8, f16) SCATTER_ADD(u8, f32) SCATTER_ADD(u8, f64)
SCATTER_ADD(u8, u8) SCATTER_ADD(u8, u32) SCATTER_ADD(u8, i64) SCATTER_ADD(u8, f8_e4m3)
SCATTER_ADD(u32, bf16) SCATTER_ADD(u32, f16) SCATTER_ADD(u32, f32) SCATTER_ADD(u32, f64)
SCATTER_ADD(u32, u8) SCATTER_ADD(u32, u32) SCATTER_ADD(u32, i64) SCATTER_ADD(u32, f8_e4m3)
SCATTER_ADD(i64, bf16) SCATTER_ADD(i64, f16) SCATTER_ADD(i64, f32) SCATTER_ADD(i64, f64)
SCATTER_ADD(i64, u8) SCATTER_ADD(i64, u32) SCATTER_ADD(i64, i64) SCATTER_ADD(i64, f8_e4m3)
SCATTER_ADD(i16, f8_e4m3) SCATTER_ADD(i32, f8_e4m3)
    // clang-format on
