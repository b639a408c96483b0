// Quantized weights times many quantized columns, as linked host functions: each chooses the launch itself.
#include "include/launch.h"
#include "include/quantized/quantize_tiled.h"
#include "include/quantized/tiled_product.h"

using namespace candle;

template <class Layout>
__global__ void __launch_bounds__(quantize_tiled_threads)
    quantize_tiled_kernel(TiledSource source, void *__restrict__ vy, i64 padded, int rows, int channels) {
  quantize_tiled<Layout>(source, vy, padded, rows, channels);
}

template <class P, int tile_columns, int tile_rows, int rows>
__global__ void __launch_bounds__(mmq_threads)
    mmq_kernel(const void *__restrict__ vx, const void *__restrict__ vy, f32 *__restrict__ dst, int ncols_x,
               int nrows_x, int ncols_y, int stride_x, int stride_dst) {
  tiled_product<P, tile_columns, tile_rows, rows>(vx, vy, dst, ncols_x, nrows_x, ncols_y, stride_x, stride_dst);
}

#ifdef CANDLE_HAS_HOST

namespace {

template <class Layout>
void launch_quantize(const void *x, const i32 *ids, void *vy, i64 ne00, i64 s01, i64 s02, i64 s03, i64 ne0, i64 ne1,
                     i64 ne2, i64 ne3, void *stream) {
  const dim3 grid(unsigned(ne1), ceil_div(ne0, 4 * quantize_tiled_threads), unsigned(ne2 * ne3));
  quantize_tiled_kernel<Layout><<<grid, quantize_tiled_threads, 0, static_cast<hipStream_t>(stream)>>>(
      TiledSource{static_cast<const f32 *>(x), ids, ne00, s01, s02, s03}, vy, ne0, int(ne1), int(ne2));
}

template <class P, int tile_columns, int tile_rows, int rows>
void launch_tiles(const void *x, const void *y, void *dst, i64 ncols_x, i64 nrows_x, i64 ncols_y, i64 stride_row_x,
                  i64 stride_col_dst, void *stream) {
  const dim3 grid(ceil_div(nrows_x, tile_rows), ceil_div(ncols_y, tile_columns));
  mmq_kernel<P, tile_columns, tile_rows, rows><<<grid, mmq_threads, 0, static_cast<hipStream_t>(stream)>>>(
      x, y, static_cast<f32 *>(dst), int(ncols_x), int(nrows_x), int(ncols_y), int(stride_row_x), int(stride_col_dst));
}

template <class P>
void launch_mmq(const void *x, const void *y, void *dst, i64 ncols_x, i64 nrows_x, i64 ncols_y, i64 stride_row_x,
                i64 stride_col_dst, void *stream) {
  if (ncols_y <= 16) {
    launch_tiles<P, 16, 32, 4>(x, y, dst, ncols_x, nrows_x, ncols_y, stride_row_x, stride_col_dst, stream);
  } else {
    constexpr int tile_rows = P::halves ? 64 : 128;  // with scales of halves the registers do not last for more
    launch_tiles<P, 64, tile_rows, 4>(x, y, dst, ncols_x, nrows_x, ncols_y, stride_row_x, stride_col_dst, stream);
  }
}

}  // namespace

// Sums are never split between thread blocks: no facts of the device are asked for, and tmp_fixup stays as it is.
// Columns of dst lie nrows_x apart, as Candle's launchers have them whatever stride_col_dst says.
#define MMQ(NAME, ...)                                                                                              \
  extern "C" void launch_mmq_gguf_##NAME(void *, const void *x, const void *y, void *dst, i64 ncols_x, i64 nrows_x, \
                                         i64 ncols_y, i64 stride_row_x, i64, int, int, i64, int, void *stream) {    \
    launch_mmq<__VA_ARGS__>(x, y, dst, ncols_x, nrows_x, ncols_y, stride_row_x, nrows_x, stream);                   \
  }

MMQ(q4_0, PlainProduct<Q4_0Signed, LayoutDS4>)
MMQ(q4_1, ProductWithMinimum<Q4_1>)
MMQ(q5_0, PlainProduct<Q5_0Signed, LayoutD4>)
MMQ(q5_1, ProductWithMinimum<Q5_1>)
MMQ(q8_0, PlainProduct<Q8_0, LayoutD4>)
MMQ(q2_k, ProductQ2_K)
MMQ(q3_k, ProductOfHalves<Q3_K>)
MMQ(q4_k, ProductWithMinimum<Q4_K>)
MMQ(q5_k, ProductWithMinimum<Q5_K>)
MMQ(q6_k, ProductOfHalves<Q6_K>)

// type_x does not matter: the layout is in the name.
#define QUANTIZE(LAYOUT)                                                                                             \
  extern "C" void launch_mmq_quantize_q8_1_##LAYOUT(const void *x, const i32 *ids, void *vy, int, i64 ne00, i64 s01, \
                                                    i64 s02, i64 s03, i64 ne0, i64 ne1, i64 ne2, i64 ne3,            \
                                                    void *stream) {                                                  \
    launch_quantize<Layout##LAYOUT>(x, ids, vy, ne00, s01, s02, s03, ne0, ne1, ne2, ne3, stream);                    \
  }

QUANTIZE(D4)
QUANTIZE(DS4)
QUANTIZE(D2S6)

#endif
