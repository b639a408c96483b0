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

template <class P, int tile_columns, int tile_rows, int threads, int rows>
__global__ void __launch_bounds__(threads)
    mmq_kernel(const void *__restrict__ x, const void *__restrict__ y, TiledArguments arguments) {
  tiled_product<P, tile_columns, tile_rows, threads, rows>(x, y, arguments);
}

template <int tile_columns, int tile_rows, int threads>
__global__ void __launch_bounds__(threads) add_partials_kernel(TiledArguments arguments) {
  add_partials<tile_columns, tile_rows, threads>(arguments);
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

// What Candle allocates of tmp_fixup: 64 KiB for each of at most 256 multiprocessors.
constexpr i64 partials_room(i64 multiprocessors) {
  return (multiprocessors < 256 ? multiprocessors : 256) * 64 * 64 * 4;
}

// The tiles that are left when all multiprocessors have had the same number, are shared by several thread blocks each,
// which have 16 groups or more.
constexpr TiledWork tiled_work(i64 tiles, i64 groups, i64 tile_size, i64 slots, i64 multiprocessors) {
  const i64 rest = slots > 0 ? tiles % slots : 0;
  if (rest == 0 || 10 * tiles >= 9 * (tiles - rest + slots)) return {u32(tiles), 1};
  const i64 most = 1 + partials_room(multiprocessors) / tile_size / rest;
  i64 parts = slots / rest;
  if (parts > groups / 16) parts = groups / 16;
  if (parts > most) parts = most;
  if (parts < 2) return {u32(tiles), 1};
  return {u32(tiles - rest), u32(parts)};
}

// An MI300X has 304 compute units.
static_assert((tiled_work(20, 4096, 128 * 128, 304, 304).parts - 1) * 20 * 128 * 128 <= 256 * 64 * 64 * 4,
              "the parts but the first lie in tmp_fixup");

template <class P, int tile_columns, int tile_rows, int threads, int rows>
void launch_tiles(const void *x, const void *y, TiledArguments o, int blocks_each, int multiprocessors,
                  hipStream_t stream) {
  constexpr int add_threads = 256;
  const i64 tiles = i64(ceil_div(o.nrows_x, tile_rows)) * ceil_div(o.ncols_y, tile_columns);
  o.work = tiled_work(tiles, o.ncols_x / group_length, tile_rows * tile_columns, i64(blocks_each) * multiprocessors,
                      multiprocessors);
  const unsigned split = unsigned(tiles) - o.work.whole, blocks = o.work.whole + split * o.work.parts;
  mmq_kernel<P, tile_columns, tile_rows, threads, rows><<<blocks, threads, 0, stream>>>(x, y, o);
  if (split == 0) return;
  const dim3 grid(split, tile_rows * tile_columns / add_threads);
  add_partials_kernel<tile_columns, tile_rows, add_threads><<<grid, add_threads, 0, stream>>>(o);
}

// Tiles as wide as the columns want, and how many thread blocks of them a multiprocessor has registers for.
template <class P>
void launch_mmq(const void *x, const void *y, const TiledArguments &o, int multiprocessors, hipStream_t stream) {
  constexpr bool many_loads = P::words_per_load == 1;
  if (o.ncols_y <= 16) {
    launch_tiles<P, 16, 32, 128, 4>(x, y, o, many_loads ? 3 : 4, multiprocessors, stream);
  } else if (o.ncols_y <= 32) {
    launch_tiles<P, 32, 64, 128, 4>(x, y, o, 3, multiprocessors, stream);
  } else if (o.ncols_y <= 256) {
    constexpr int tile_rows = P::halves || many_loads ? 64 : 128;
    launch_tiles<P, 64, tile_rows, 128, 4>(x, y, o, many_loads ? 3 : 2, multiprocessors, stream);
  } else {
    launch_tiles<P, 128, 128, 256, 4>(x, y, o, 1, multiprocessors, stream);
  }
}

}  // namespace

// Columns of dst lie nrows_x apart, as Candle's launchers have them whatever stride_col_dst says.
#define MMQ(NAME, ...)                                                                                            \
  extern "C" void launch_mmq_gguf_##NAME(void *tmp_fixup, const void *x, const void *y, void *dst, i64 ncols_x,   \
                                         i64 nrows_x, i64 ncols_y, i64 stride_row_x, i64, int, int nsm, i64, int, \
                                         void *stream) {                                                          \
    const auto rows = u32(nrows_x);                                                                               \
    const TiledArguments o{static_cast<f32 *>(dst),                                                               \
                           static_cast<f32 *>(tmp_fixup),                                                         \
                           u32(ncols_x),                                                                          \
                           rows,                                                                                  \
                           u32(ncols_y),                                                                          \
                           u32(stride_row_x),                                                                     \
                           rows,                                                                                  \
                           {}};                                                                                   \
    launch_mmq<__VA_ARGS__>(x, y, o, nsm, static_cast<hipStream_t>(stream));                                      \
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
