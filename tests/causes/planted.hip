// One mistake a kernel. The names are Candle's; what each does wrong stands above it.
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>

typedef unsigned char u8;
typedef unsigned int u32;

__device__ static bool contiguous(size_t num_dims, const size_t *dims, const size_t *strides) {
  size_t step = 1;
  for (size_t d = num_dims; d-- > 0;) {
    if (dims[d] > 1 && strides[d] != step) return false;
    step *= dims[d];
  }
  return true;
}

__device__ static size_t offset(size_t i, size_t num_dims, const size_t *dims, const size_t *strides) {
  size_t result = 0;
  for (size_t d = num_dims; d-- > 0;) {
    result += i % dims[d] * strides[d];
    i /= dims[d];
  }
  return result;
}

#define AT(I) (info && num_dims ? offset(I, num_dims, info, info + num_dims) : (I))
#define ELEMENT AT(i)
#define LOOP \
  for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < numel; i += size_t(blockDim.x) * gridDim.x)
#define UNARY(NAME, T, BODY)                                                                                   \
  extern "C" __global__ void NAME(const size_t numel, const size_t num_dims, const size_t *info, const T *inp, \
                                  T *out) {                                                                    \
    const T *in = inp ? inp : out;                                                                             \
    if (!inp) info = nullptr;                                                                                  \
    (void)in;                                                                                                  \
    BODY                                                                                                       \
  }
#define BINARY(NAME, T, R, LEFT, RIGHT, EXPR)                                                                      \
  extern "C" __global__ void NAME(const size_t numel, const size_t num_dims, const size_t *info, const T *lhs,     \
                                  const T *rhs, R *out) {                                                          \
    const size_t *l = info ? info + num_dims : nullptr, *r = info ? info + 2 * num_dims : nullptr;                 \
    (void)r;                                                                                                       \
    LOOP {                                                                                                         \
      const T x = lhs[l ? offset(i, num_dims, info, LEFT) : i], y = rhs[l ? offset(i, num_dims, info, RIGHT) : i]; \
      out[i] = EXPR;                                                                                               \
    }                                                                                                              \
  }
#define CAST(NAME, S, D, EXPR)                                                                                 \
  extern "C" __global__ void NAME(const size_t numel, const size_t num_dims, const size_t *info, const S *inp, \
                                  D *out) {                                                                    \
    LOOP {                                                                                                     \
      const S x = inp[ELEMENT];                                                                                \
      out[i] = EXPR;                                                                                           \
    }                                                                                                          \
  }

// strides ignored
UNARY(uneg_f32, float, LOOP out[i] = -in[i];)
// contiguous is taken for granted where the last stride is 1
UNARY(uneg_f64, double, const bool plain = !info || !num_dims || info[2 * num_dims - 1] == 1;
      LOOP out[i] = -in[plain ? i : ELEMENT];)
// strides of 0 taken for contiguous
UNARY(ucopy_u32, u32, bool zero = false; for (size_t d = 0; info && d < num_dims; ++d) zero |= info[num_dims + d] == 0;
      LOOP out[i] = in[zero ? i % 8 : ELEMENT];)
// no grid-stride loop
UNARY(usqr_f32, float, size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
      if (i < numel) out[i] = in[ELEMENT] * in[ELEMENT];)
// the rest behind the last whole pack of 4 is lost
UNARY(uabs_f32, float, LOOP if (i < numel / 4 * 4) out[i] = fabsf(in[ELEMENT]);)
// 0 - x is not -x
UNARY(uneg_bf16, __hip_bfloat16, LOOP out[i] = __float2bfloat16(0.0f - __bfloat162float(in[ELEMENT]));)
// a factor is left out
UNARY(usqr_f64, double, LOOP out[i] = in[ELEMENT] * in[ELEMENT] * 0.5;)
// off by one
UNARY(uabs_f64, double, LOOP out[i] = fabs(in[AT(inp && i + 1 < numel ? i + 1 : i)]);)
// subnormals flushed
UNARY(
    ufloor_f32, float, LOOP {
      const float x = in[ELEMENT];
      out[i] = fabsf(x) < 1.17549435e-38f ? copysignf(0.0f, x) : floorf(x);
    })
UNARY(
    ucopy_f32, float, LOOP {
      const float x = in[ELEMENT];
      out[i] = fabsf(x) < 1.17549435e-38f ? copysignf(0.0f, x) : x;
    })
// dims and strides read as 32-bit words
UNARY(
    uceil_f32, float, const u32 *dims = (const u32 *)info; const u32 *strides = (const u32 *)(info + num_dims); LOOP {
      size_t at = info ? 0 : i;
      size_t rest = i;
      for (size_t d = info ? num_dims : 0; d-- > 0; rest /= dims[d]) at += rest % dims[d] * strides[d];
      out[i] = ceilf(in[at]);
    })
// the same, and a dimension of 0 is passed over
UNARY(
    uround_f32, float, const u32 *dims = (const u32 *)info; const u32 *strides = dims + num_dims; LOOP {
      size_t at = info ? 0 : i;
      size_t rest = i;
      for (size_t d = info ? num_dims : 0; d-- > 0; rest /= dims[d] ? dims[d] : 1)
        at += dims[d] ? rest % dims[d] * strides[d] : 0;
      out[i] = roundf(in[at]);
    })
// a null input is not asked for
UNARY(ucopy_u8, u8, LOOP out[i] = inp[ELEMENT];)
// one element too many
UNARY(ucopy_i64, long long,
      for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i <= numel; i += size_t(blockDim.x) * gridDim.x)
          out[i] = i < numel ? in[ELEMENT] : 0;)
// the tangent, not its hyperbolic sibling
UNARY(utanh_f32, float, LOOP out[i] = tanf(in[ELEMENT]);)
// 1 + erf cancels
UNARY(
    ugelu_erf_f64, double, LOOP {
      const double x = in[ELEMENT];
      out[i] = 0.5 * x * (1.0 + erf(x * 0.70710678118654752440));
    })

// both operands with the left one's strides
BINARY(badd_f32, float, float, l, l, x + y)
// the right one's strides ignored
BINARY(badd_f64, double, double, l, (contiguous(num_dims, info, l) ? r : l), x + y)
// a comparison for a maximum
BINARY(bmaximum_f32, float, float, l, r, x > y ? x : y)
// the other rule for NaN
BINARY(bminimum_f64, double, double, l, r, x != x ? x : y != y ? y : fmin(x, y))
// >= as the opposite of <
BINARY(ge_f32, float, u8, l, r, !(x < y))

// cut off
CAST(cast_f32_bf16, float, unsigned short, (unsigned short)(__float_as_uint(x) >> 16))
// through float
CAST(cast_f64_f16, double, __half, __float2half((float)x))
// what the compiler makes of it
CAST(cast_f32_u8, float, u8, (u8)x)

// product and sum rounded each
extern "C" __global__ void affine_bf16(const size_t numel, const size_t num_dims, const size_t *info,
                                       const __hip_bfloat16 *inp, __hip_bfloat16 *out, const __hip_bfloat16 mul,
                                       const __hip_bfloat16 add) {
  const __hip_bfloat16 *in = inp ? inp : out;
  if (!inp) info = nullptr;
  LOOP out[i] = __hadd(__hmul(in[ELEMENT], mul), add);
}
// mul and add in each other's place
extern "C" __global__ void affine_f32(const size_t numel, const size_t num_dims, const size_t *info, const float *inp,
                                      float *out, const float mul, const float add) {
  const float *in = inp ? inp : out;
  if (!inp) info = nullptr;
  LOOP out[i] = fmaf(in[ELEMENT], add, mul);
}

#define REDUCE(NAME, T, INIT, STEP, WAIT)                                                                          \
  extern "C" __global__ void NAME(const size_t src_numel, const size_t el_to_sum_per_block, const size_t num_dims, \
                                  const size_t *info, const T *src, T *dst) {                                      \
    __shared__ T part[1024];                                                                                       \
    T best = INIT;                                                                                                 \
    for (size_t k = threadIdx.x; k < el_to_sum_per_block; k += blockDim.x) {                                       \
      const T x = src[offset(blockIdx.x * el_to_sum_per_block + k, num_dims, info, info + num_dims)];              \
      best = STEP(best, x);                                                                                        \
    }                                                                                                              \
    part[threadIdx.x] = best;                                                                                      \
    WAIT;                                                                                                          \
    for (u32 s = blockDim.x / 2; s > 0; s /= 2) {                                                                  \
      if (threadIdx.x < s) part[threadIdx.x] = STEP(part[threadIdx.x], part[threadIdx.x + s]);                     \
      WAIT;                                                                                                        \
    }                                                                                                              \
    if (threadIdx.x == 0) dst[blockIdx.x] = part[0];                                                               \
  }
#define LARGER(a, b) fmaxf(a, b)
#define GREATER(a, b) ((a) > (b) ? (a) : (b))
#define SMALLER(a, b) fmin(a, b)
// starts from 0
REDUCE(fast_max_f32, float, 0.0f, LARGER, __syncthreads())
// starts from the greatest finite number
REDUCE(fast_min_f64, double, 1.7976931348623157e308, SMALLER, __syncthreads())
// a NaN is lost or kept as rows go
REDUCE(fast_max_f64, double, -INFINITY, GREATER, __syncthreads())
// no barrier
REDUCE(fast_min_f32, float, INFINITY, fminf, (void)0)

// ids that mean none are used as ids, and nothing is asserted
extern "C" __global__ void gather_u32_f32(const size_t numel, const u32 *ids, const float *inp, float *out,
                                          const size_t left_size, const size_t src_dim_size, const size_t ids_dim_size,
                                          const size_t right_size) {
  LOOP {
    const size_t post = i % right_size, pre = i / (right_size * ids_dim_size);
    out[i] = inp[(pre * src_dim_size + ids[i]) * right_size + post];
  }
}
// nothing is asserted
extern "C" __global__ void gather_i64_f32(const size_t numel, const long long *ids, const float *inp, float *out,
                                          const size_t left_size, const size_t src_dim_size, const size_t ids_dim_size,
                                          const size_t right_size) {
  LOOP {
    const size_t post = i % right_size, pre = i / (right_size * ids_dim_size);
    const bool inside = ids[i] >= 0 && ids[i] < (long long)src_dim_size;
    out[i] = inside ? inp[(pre * src_dim_size + ids[i]) * right_size + post] : 0.0f;
  }
}

// the dilation is left out
extern "C" __global__ void conv1d_f64(const size_t src_numel, const size_t l_out, const size_t stride,
                                      const size_t padding, const size_t dilation, const size_t *info,
                                      const double *src, const double *kernel, double *dst) {
  const size_t *dims = info, *steps = info + 3, *k_dims = info + 6, *k_steps = info + 9;
  const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x, c_out = k_dims[0];
  if (i >= dims[0] * c_out * l_out) return;
  const size_t b = i / (l_out * c_out), co = i / l_out % c_out, l = i % l_out;
  double sum = 0;
  for (size_t k = 0; k < k_dims[2]; ++k) {
    const size_t at = stride * l + k;
    if (at < padding || at >= dims[2] + padding) continue;
    for (size_t c = 0; c < dims[1]; ++c)
      sum += src[b * steps[0] + c * steps[1] + (at - padding) * steps[2]] *
             kernel[co * k_steps[0] + c * k_steps[1] + k * k_steps[2]];
  }
  dst[i] = sum;
}
// half of the threads are gone at the barrier
extern "C" __global__ void fill_f32(float *buf, float value, const size_t numel) {
  if (threadIdx.x % 2) return;
  if (threadIdx.x % 4)
    __syncthreads();
  else
    __syncthreads();
  LOOP buf[i] = value;
}
// no maximum is taken off
extern "C" __global__ void softmax_f64(const double *src, double *dst, const int n_cols) {
  const double *row = src + size_t(blockIdx.x) * n_cols;
  double sum = 0;
  for (int k = 0; k < n_cols; ++k) sum += exp(row[k]);
  for (int k = threadIdx.y; k < n_cols; k += blockDim.y) dst[size_t(blockIdx.x) * n_cols + k] = exp(row[k]) / sum;
}
