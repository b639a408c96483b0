// Kernels with mistakes that only large tensors or unusual layouts show, one in each, as authors of ports make them.
// With MISTAKES every kernel has its mistake, without it every one is right.
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

#ifdef MISTAKES
#define RIGHT_OR_WRONG(right, wrong) (wrong)
#else
#define RIGHT_OR_WRONG(right, wrong) (right)
#endif

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned u32;
typedef long long i64;

__device__ bool is_contiguous(size_t num_dims, const size_t *dims, const size_t *strides) {
  size_t expected = 1;
  for (size_t d = num_dims; d-- > 0;) {
    if (dims[d] > 1 && strides[d] != expected) return false;
    expected *= dims[d];
  }
  return true;
}

// Whether the last stride is 1, the first one fits the number of elements, and none is 0.
__device__ bool looks_contiguous(size_t num_dims, const size_t *dims, const size_t *strides) {
  size_t numel = 1;
  for (size_t d = 0; d < num_dims; ++d) numel *= dims[d];
  for (size_t d = 0; d < num_dims; ++d) {
    if (strides[d] == 0) return false;
  }
  return num_dims == 0 || (strides[num_dims - 1] == 1 && strides[0] * dims[0] == numel);
}

__device__ size_t place(size_t i, size_t num_dims, const size_t *dims, const size_t *strides) {
  size_t offset = 0;
  for (size_t d = num_dims; d-- > 0;) {
    offset += i % dims[d] * strides[d];
    i /= dims[d];
  }
  return offset;
}

// The same, with quotients by way of float32.
__device__ size_t place_by_floats(size_t i, size_t num_dims, const size_t *dims, const size_t *strides) {
  size_t offset = 0;
  for (size_t d = num_dims; d-- > 0;) {
    const size_t quotient = size_t(float(i) / float(dims[d]));
    offset += (i - quotient * dims[d]) * strides[d];
    i = quotient;
  }
  return offset;
}

#define THREAD (size_t(blockIdx.x) * blockDim.x + threadIdx.x)
#define UNARY(name, T, ...)                                                                                    \
  extern "C" __global__ void name(const size_t numel, const size_t num_dims, const size_t *info, const T *inp, \
                                  T *out) {                                                                    \
    const size_t *dims = info, *strides = info + num_dims;                                                     \
    for (size_t i = THREAD; i < numel; i += size_t(blockDim.x) * gridDim.x) {                                  \
      __VA_ARGS__                                                                                              \
    }                                                                                                          \
  }

// Contiguous where the last stride is 1 and the first one fits: transpose(1, 2).
UNARY(ucopy_f64, double, {
  const bool plain =
      !info || RIGHT_OR_WRONG(is_contiguous(num_dims, dims, strides), looks_contiguous(num_dims, dims, strides));
  out[i] = inp[plain ? i : place(i, num_dims, dims, strides)];
})

// Of a last stride of 0 only as many dimensions as three are foreseen.
UNARY(uneg_f32, float, {
  size_t at = info ? place(i, num_dims, dims, strides) : i;
  if (RIGHT_OR_WRONG(false, info && num_dims > 3 && strides[num_dims - 1] == 0)) at += i % dims[num_dims - 1];
  out[i] = -inp[at];
})

// Strides go into an array of eight.
UNARY(uabs_f16, __half, {
  const size_t skipped = RIGHT_OR_WRONG(0, num_dims > 8 ? num_dims - 8 : 0);
  out[i] = __habs(inp[info ? place(i, num_dims - skipped, dims + skipped, strides + skipped) : i]);
})

// 16 bits of the index in the innermost dimension.
UNARY(ucopy_u32, u32, {
  out[i] = inp[!info           ? i
               : num_dims != 2 ? place(i, num_dims, dims, strides)
                               : i / dims[1] * strides[0] + RIGHT_OR_WRONG(i % dims[1], u16(i % dims[1])) * strides[1]];
})

UNARY(ucopy_u8, u8, {
  out[i] =
      inp[!info ? i : RIGHT_OR_WRONG(place(i, num_dims, dims, strides), place_by_floats(i, num_dims, dims, strides))];
})

// A matrix whose second dimension has stride 0 is taken for a column, at any rank.
extern "C" __global__ void affine_f32(const size_t numel, const size_t num_dims, const size_t *info, const float *inp,
                                      float *out, const float mul, const float add) {
  const size_t *dims = info, *strides = info + num_dims;
  for (size_t i = THREAD; i < numel; i += size_t(blockDim.x) * gridDim.x) {
    size_t at = info ? place(i, num_dims, dims, strides) : i;
    if (RIGHT_OR_WRONG(false, info && num_dims == 4 && strides[1] == 0 && strides[0] != 0)) {
      at = i / (dims[1] * dims[2] * dims[3]) * strides[0];
    }
    out[i] = fmaf(inp ? inp[at] : out[i], mul, add);
  }
}

// What has a first and a last stride of 0 is a scalar.
extern "C" __global__ void badd_f32(const size_t numel, const size_t num_dims, const size_t *info, const float *lhs,
                                    const float *rhs, float *out) {
  const size_t *left = info + num_dims, *right = info + 2 * num_dims;
  const bool scalar = info && num_dims > 0 && right[0] == 0 && right[num_dims - 1] == 0;
  for (size_t i = THREAD; i < numel; i += size_t(blockDim.x) * gridDim.x) {
    const size_t at = info ? place(i, num_dims, info, right) : i;
    out[i] = lhs[info ? place(i, num_dims, info, left) : i] + rhs[RIGHT_OR_WRONG(at, scalar ? 0 : at)];
  }
}

// One stride that is not 0 is the last one's.
extern "C" __global__ void bmul_f32(const size_t numel, const size_t num_dims, const size_t *info, const float *lhs,
                                    const float *rhs, float *out) {
  const size_t *left = info + num_dims, *right = info + 2 * num_dims;
  size_t strides = 0;
  for (size_t d = 0; info && d < num_dims; ++d) strides += right[d] != 0;
  for (size_t i = THREAD; i < numel; i += size_t(blockDim.x) * gridDim.x) {
    size_t at = info ? place(i, num_dims, info, right) : i;
    if (RIGHT_OR_WRONG(false, num_dims > 1 && strides == 1 && right[0] == 0)) at = i % info[num_dims - 1];
    out[i] = lhs[info ? place(i, num_dims, info, left) : i] * rhs[at];
  }
}

extern "C" __global__ void badd_u8(const size_t numel, const size_t num_dims, const size_t *info, const u8 *lhs,
                                   const u8 *rhs, u8 *out) {
  const size_t *left = info + num_dims, *right = info + 2 * num_dims;
  for (size_t i = THREAD; i < numel; i += size_t(blockDim.x) * gridDim.x) {
    const size_t l = info ? place(i, num_dims, info, left) : i;
    const size_t r =
        !info ? i : RIGHT_OR_WRONG(place(i, num_dims, info, right), place_by_floats(i, num_dims, info, right));
    out[i] = lhs[l] + rhs[r];
  }
}

// The strides of the true operand, where its last one is 0: a scalar.
extern "C" __global__ void where_u8_f32(const size_t numel, const size_t num_dims, const size_t *info, const u8 *ids,
                                        const float *t, const float *f, float *out) {
  const size_t *strides = info + num_dims;
  for (size_t i = THREAD; i < numel; i += size_t(blockDim.x) * gridDim.x) {
    const bool chosen = ids[place(i, num_dims, info, strides)];
    const bool scalar = num_dims > 3 && strides[num_dims] == 0 && strides[2 * num_dims - 1] == 0;
    const size_t at = place(i, num_dims, info, strides + num_dims);
    out[i] = chosen ? t[RIGHT_OR_WRONG(at, scalar ? 0 : at)] : f[place(i, num_dims, info, strides + 2 * num_dims)];
  }
}

// 16 bits of an id.
extern "C" __global__ void is_u32_f16(const size_t numel, const size_t num_dims, const size_t *info, const u32 *ids,
                                      const u16 *inp, u16 *out, const size_t left, const size_t src_dim,
                                      const size_t ids_dim, const size_t right) {
  const bool plain = is_contiguous(num_dims, info, info + num_dims);
  for (size_t i = THREAD; i < numel; i += size_t(blockDim.x) * gridDim.x) {
    const u32 id = ids[i / right % ids_dim];
    if (id == 0xffffffff) {
      out[i] = 0;
      continue;
    }
    if (id >= src_dim) __builtin_trap();
    const size_t at = (i / (ids_dim * right) * src_dim + RIGHT_OR_WRONG(id, u16(id))) * right + i % right;
    out[i] = inp[plain ? at : place(at, num_dims, info, info + num_dims)];
  }
}

// 16 bits of a row, in each of the next five.
#define ROW RIGHT_OR_WRONG(size_t(blockIdx.x), size_t(u16(blockIdx.x)))

extern "C" __global__ void get_rows_f32(const float *src, const u32 *ids, float *dst, const i64 columns, const size_t) {
  const i64 column = i64(blockIdx.y) * blockDim.x + threadIdx.x;
  if (column < columns) dst[ROW * columns + column] = src[i64(int(ids[blockIdx.x])) * columns + column];
}

extern "C" __global__ void softmax_f32(const float *src, float *dst, const int columns) {
  if (threadIdx.y != 0) return;
  src += ROW * columns, dst += ROW * columns;
  float maximum = -INFINITY, sum = 0;
  for (int c = 0; c < columns; ++c) maximum = fmaxf(maximum, src[c]);
  for (int c = 0; c < columns; ++c) sum += dst[c] = expf(src[c] - maximum);
  for (int c = 0; c < columns; ++c) dst[c] *= 1 / sum;
}

extern "C" __global__ void rmsnorm_f32(const float *src, float *dst, const float *alpha, const int columns, const int,
                                       const float eps) {
  if (threadIdx.x != 0) return;
  src += ROW * columns, dst += ROW * columns;
  double sum = 0;
  for (int c = 0; c < columns; ++c) sum += double(src[c]) * src[c];
  const float scale = rsqrtf(float(sum / columns) + eps);
  for (int c = 0; c < columns; ++c) dst[c] = alpha ? scale * src[c] * alpha[c] : scale * src[c];
}

template <class T>
__device__ void sum_of_row(size_t count, size_t limit, size_t num_dims, const size_t *info, const T *src, T *dst) {
  __shared__ T sums[1024];
  T sum = 0;
  for (size_t i = threadIdx.x; i < count && i < limit; i += blockDim.x) {
    sum += src[place(size_t(blockIdx.x) * count + i, num_dims, info, info + num_dims)];
  }
  sums[threadIdx.x] = sum;
  for (u32 step = blockDim.x / 2; step > 0; step /= 2) {
    __syncthreads();
    if (threadIdx.x < step) sums[threadIdx.x] += sums[threadIdx.x + step];
  }
  if (threadIdx.x == 0) *dst = sums[0];
}

extern "C" __global__ void fast_sum_f64(const size_t, const size_t count, const size_t num_dims, const size_t *info,
                                        const double *src, double *dst) {
  sum_of_row(count, count, num_dims, info, src, dst + ROW);
}

extern "C" __global__ void rope_thd_f32(const float *src, const float *cos, const float *sin, float *dst, const u32 b,
                                        const u32 t, const u32 h, const u32 d, const u32 stride_b) {
  const size_t i = THREAD, half = d / 2;
  if (i >= size_t(b) * t * h * half) return;
  const size_t row = i / half, column = i % half, step = row / h % t;
  size_t at = RIGHT_OR_WRONG(step, u16(step)) * half + column;
  if (stride_b) at += 2 * i / stride_b * (t * half);
  const float x = src[row * d + column], y = src[row * d + half + column];
  dst[row * d + column] = fmaf(x, cos[at], -(y * sin[at]));
  dst[row * d + half + column] = fmaf(x, sin[at], y * cos[at]);
}

// Only as many elements of a row as 2,048 blocks of 1,024 threads take in one pass.
extern "C" __global__ void fast_sum_u32(const size_t, const size_t count, const size_t num_dims, const size_t *info,
                                        const u32 *src, u32 *dst) {
  sum_of_row(count, RIGHT_OR_WRONG(count, size_t(2048) * 1024), num_dims, info, src, dst + blockIdx.x);
}

// The dimensions that stay have one stride, as the first and the last of a row-major tensor.
extern "C" __global__ void fast_sum_f32(const size_t, const size_t count, const size_t num_dims, const size_t *info,
                                        const float *src, float *dst) {
  if (threadIdx.x != 0) return;
  const bool plain =
      RIGHT_OR_WRONG(is_contiguous(num_dims, info, info + num_dims), looks_contiguous(num_dims, info, info + num_dims));
  float sum = 0;
  for (size_t k = 0; k < count; ++k) {
    const size_t i = size_t(blockIdx.x) * count + k;
    sum += src[plain ? i : place(i, num_dims, info, info + num_dims)];
  }
  dst[blockIdx.x] = sum;
}

// Bitonic sorts that fill a row up with a value: infinities, and the greatest number.
template <class T>
__device__ void sort_row(const T *row, u32 *dst, int columns, int padded, bool ascending, T padding) {
  extern __shared__ int order[];
  const auto is_before = [=](int a, int b) {
    if (!RIGHT_OR_WRONG(false, true)) {
      if (a >= columns || b >= columns) return a < columns && b >= columns;
    }
    const T x = a < columns ? row[a] : padding, y = b < columns ? row[b] : padding;
    return ascending ? x < y : y < x;
  };
  for (int i = threadIdx.x; i < padded; i += blockDim.x) order[i] = i;
  for (int size = 2; size <= padded; size *= 2) {
    for (int step = size / 2; step > 0; step /= 2) {
      __syncthreads();
      for (int i = threadIdx.x; i < padded; i += blockDim.x) {
        const int other = i ^ step;
        if (other < i) continue;
        const int a = order[i], b = order[other];
        if ((i & size) == 0 ? is_before(b, a) : is_before(a, b)) order[i] = b, order[other] = a;
      }
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < columns; i += blockDim.x) dst[i] = order[i];
}

#define SORT(name, T, ascending, padding)                                                      \
  extern "C" __global__ void name(const T *x, u32 *dst, const int columns, const int padded) { \
    const size_t row = size_t(blockIdx.x) * columns;                                           \
    sort_row<T>(x + row, dst + row, columns, padded, ascending, padding);                      \
  }

SORT(asort_desc_f32, float, false, -INFINITY)
SORT(asort_asc_f64, double, true, INFINITY)
SORT(asort_asc_u32, u32, true, 0xffffffff)
SORT(asort_desc_i64, i64, false, -0x7fffffffffffffffll - 1)

// 16 bits of an element's index.
extern "C" __global__ void asort_desc_f16(const __half *x, u32 *dst, const int columns, const int) {
  const size_t row = size_t(blockIdx.x) * columns;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    int rank = 0;
    for (int k = 0; k < columns; ++k) {
      const float a = __half2float(x[row + k]), b = __half2float(x[row + i]);
      rank += a > b || (a == b && k < i);
    }
    dst[RIGHT_OR_WRONG(row, row & 0xffff) + rank] = i;
  }
}

// 16 bits of an image's channel, counted over all images.
extern "C" __global__ void max_pool2d_f32(const size_t, const size_t w_k, const size_t h_k, const size_t w_stride,
                                          const size_t h_stride, const size_t *info, const float *src, float *dst) {
  const size_t w_out = (info[2] - w_k) / w_stride + 1, h_out = (info[3] - h_k) / h_stride + 1;
  const size_t i = THREAD;
  if (i >= info[0] * info[1] * w_out * h_out) return;
  const size_t channel = RIGHT_OR_WRONG(i / (w_out * h_out), u16(i / (w_out * h_out)));
  const float *image = src + channel / info[1] * info[4] + channel % info[1] * info[5];
  const size_t w = i / h_out % w_out * w_stride, h = i % h_out * h_stride;
  float most = image[w * info[6] + h * info[7]];
  for (size_t a = 0; a < w_k; ++a) {
    for (size_t b = 0; b < h_k; ++b) most = fmaxf(most, image[(w + a) * info[6] + (h + b) * info[7]]);
  }
  dst[i] = most;
}

extern "C" __global__ void upsample_nearest2d_f32(const size_t w_out, const size_t h_out, const double w_scale,
                                                  const double h_scale, const size_t *info, const float *src,
                                                  float *dst) {
  const size_t i = THREAD;
  if (i >= info[0] * info[1] * w_out * h_out) return;
  const size_t w = min(size_t(double(i / h_out % w_out) * w_scale), info[2] - 1);
  const size_t h = min(size_t(double(i % h_out) * h_scale), info[3] - 1), channel = i / (w_out * h_out);
  const size_t at = (channel * info[2] + w) * info[3] + h;
  const bool plain = RIGHT_OR_WRONG(is_contiguous(4, info, info + 4), looks_contiguous(4, info, info + 4));
  dst[i] = src[plain ? at : place(at, 4, info, info + 4)];
}

// The padding is taken off where taps reach it, and where they do not it wraps around.
extern "C" __global__ void conv_transpose1d_f64(const size_t, const size_t l_out, const size_t stride,
                                                const size_t padding, const size_t, const size_t dilation,
                                                const size_t *info, const double *src, const double *kernel,
                                                double *dst) {
  const size_t *dims = info, *strides = info + 3, *k_dims = info + 6, *k_strides = info + 9;
  const size_t c_out = k_dims[1], taps = k_dims[2], i = THREAD;
  if (i >= dims[0] * c_out * l_out) return;
  const size_t batch = i / (c_out * l_out), c = i / l_out % c_out, x = i % l_out;
  const size_t reach = dilation * (taps - 1), shift = RIGHT_OR_WRONG(padding, padding > reach ? reach : padding);
  double sum = 0;
  for (size_t k = 0; k < taps; ++k) {
    if (x + shift < k * dilation || (x + shift - k * dilation) % stride != 0) continue;
    const size_t at = (x + shift - k * dilation) / stride;
    if (at >= dims[2]) continue;
    for (size_t channel = 0; channel < dims[1]; ++channel) {
      sum = fma(src[batch * strides[0] + channel * strides[1] + at * strides[2]],
                kernel[channel * k_strides[0] + c * k_strides[1] + k * k_strides[2]], sum);
    }
  }
  dst[i] = sum;
}

// Quotients by way of float32.
extern "C" __global__ void im2col_u8(const size_t numel, const size_t h_out, const size_t w_out, const size_t h_k,
                                     const size_t w_k, const size_t stride, const size_t padding, const size_t dilation,
                                     const size_t *info, const u8 *src, u8 *dst) {
  size_t i = THREAD;
  if (i >= numel) return;
  const size_t to = i, sizes[] = {w_k, h_k, info[1], w_out, h_out};
  size_t at[5];
  for (int d = 0; d < 5; ++d) {
    const size_t quotient = RIGHT_OR_WRONG(i / sizes[d], size_t(float(i) / float(sizes[d])));
    at[d] = i - quotient * sizes[d];
    i = quotient;
  }
  const size_t y = at[4] * stride + at[1] * dilation, x = at[3] * stride + at[0] * dilation;
  const bool inside = y >= padding && y - padding < info[2] && x >= padding && x - padding < info[3];
  dst[to] = !inside ? 0 : src[i * info[4] + at[2] * info[5] + (y - padding) * info[6] + (x - padding) * info[7]];
}

// 16 bits of a row.
extern "C" __global__ void copy2d_f32(const float *src, float *dst, const u32 d1, const u32 d2, const u32 src_s,
                                      const u32 dst_s) {
  const u32 i = THREAD;
  if (i >= d1 * d2) return;
  const u32 row = i / d2;
  dst[row * dst_s + i % d2] = src[RIGHT_OR_WRONG(row, u16(row)) * src_s + i % d2];
}

// 16 bits of a stride.
extern "C" __global__ void copy2d_f64(const double *src, double *dst, const u32 d1, const u32 d2, const u32 src_s,
                                      const u32 dst_s) {
  const u32 i = THREAD;
  if (i < d1 * d2) dst[i / d2 * dst_s + i % d2] = src[i / d2 * RIGHT_OR_WRONG(src_s, u16(src_s)) + i % d2];
}

extern "C" __global__ void copy2d_u8(const u8 *src, u8 *dst, const u32 d1, const u32 d2, const u32 src_s,
                                     const u32 dst_s) {
  const u32 i = THREAD;
  if (i >= d1 * d2) return;
  const u32 row = RIGHT_OR_WRONG(i / d2, u32(float(i) / float(d2)));
  dst[row * dst_s + (i - row * d2)] = src[row * src_s + (i - row * d2)];
}

struct BlockQ8_0 {
  __half d;
  signed char q[32];
};

struct BlockQ8_1 {
  __half d, sum;
  signed char q[32];
};

// 16 bits of a block.
extern "C" __global__ void dequantize_block_q8_0_f16(const void *vx, __half *y, const int blocks) {
  const auto *x = static_cast<const BlockQ8_0 *>(vx);
  for (size_t i = threadIdx.x; i < 256; i += blockDim.x) {
    const size_t at = size_t(blockIdx.x) * 256 + i;
    if (at / 32 >= size_t(blocks)) continue;
    const BlockQ8_0 &block = x[RIGHT_OR_WRONG(at / 32, u16(at / 32))];
    y[at] = __float2half(__half2float(block.d) * block.q[at % 32]);
  }
}

extern "C" __global__ void dequantize_mul_mat_vec_q8_0_cuda(const void *vx, const float *y, float *dst, const int ncols,
                                                            const int nrows) {
  if (threadIdx.x != 0 || int(blockIdx.x) >= nrows) return;
  const auto *x = static_cast<const BlockQ8_0 *>(vx) + ROW * (ncols / 32);
  float sum = 0;
  for (int c = 0; c < ncols; ++c) sum += __half2float(x[c / 32].d) * x[c / 32].q[c % 32] * y[c];
  dst[blockIdx.x] = sum;
}

extern "C" __global__ void mul_mat_vec_q8_0_q8_1_cuda1(const void *vx, const void *vy, float *dst, const int ncols,
                                                       const int, const int, const int nrows) {
  if (threadIdx.x + threadIdx.y != 0 || int(blockIdx.x) >= nrows) return;
  const auto *x = static_cast<const BlockQ8_0 *>(vx) + ROW * (ncols / 32);
  const auto *y = static_cast<const BlockQ8_1 *>(vy);
  float sum = 0;
  for (int b = 0; b < ncols / 32; ++b) {
    int dot = 0;
    for (int k = 0; k < 32; ++k) dot += x[b].q[k] * y[b].q[k];
    sum += __half2float(x[b].d) * __half2float(y[b].d) * dot;
  }
  dst[blockIdx.x] = sum;
}
