// One mistake a kernel. The names are Candle's; what each does wrong stands above it. With MENDED defined each does
// what the advice of its cause says.
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#include <cassert>

#ifdef MENDED
constexpr bool mended = true;
#else
constexpr bool mended = false;
#endif

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

template <bool yes, class A, class B>
struct Either {
  using type = A;
};
template <class A, class B>
struct Either<false, A, B> {
  using type = B;
};
using Word = Either<mended, size_t, u32>::type;

// A float with an odd last bit where it is not the exact value, of which `rest` is left.
__device__ static float odd(float nearest, double rest) {
  const u32 bits = __float_as_uint(nearest);
  if (rest == 0 || bits & 1 || !isfinite(nearest)) return nearest;
  if (nearest == 0) return copysignf(1e-45f, (float)(rest > 0 ? 1 : -1));
  return __uint_as_float((rest > 0) == (nearest > 0) ? bits + 1 : bits - 1);
}
__device__ static float odd(double x) { return odd((float)x, x - (float)x); }
__device__ static float odd_fma(float x, float y, float z) {
  const double product = (double)x * y, sum = product + z, part = sum - product;
  const float nearest = (float)sum;
  return odd(nearest, sum - nearest + ((product - (sum - part)) + (z - part)));
}
// Cut off, or rounded to nearest even.
__device__ static __hip_bfloat16 cut(float x) {
  const u32 bits = __float_as_uint(x);
  const unsigned short top = (unsigned short)(bits >> 16);
  __hip_bfloat16 result;
  __builtin_memcpy(&result, &top, 2);
  return mended ? __float2bfloat16(x) : result;
}

#define AT(I) (info && num_dims ? offset(I, num_dims, info, info + num_dims) : (I))
#define ELEMENT AT(i)
#define LOOP \
  for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < numel; i += size_t(blockDim.x) * gridDim.x)
#define UNARY(NAME, T, ...)                                                                                    \
  extern "C" __global__ void NAME(const size_t numel, const size_t num_dims, const size_t *info, const T *inp, \
                                  T *out) {                                                                    \
    const T *in = inp ? inp : out;                                                                             \
    if (!inp) info = nullptr;                                                                                  \
    (void)in;                                                                                                  \
    __VA_ARGS__                                                                                                \
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
UNARY(uneg_f32, float, LOOP out[i] = -in[mended ? ELEMENT : i];)
// contiguous is taken for granted where the last stride is 1
UNARY(uneg_f64, double,
      const bool plain = !info || !num_dims ||
                         (mended ? contiguous(num_dims, info, info + num_dims) : info[2 * num_dims - 1] == 1);
      LOOP out[i] = -in[plain ? i : ELEMENT];)
// strides of 0 taken for contiguous
UNARY(ucopy_u32, u32, bool zero = false; for (size_t d = 0; info && d < num_dims; ++d) zero |= info[num_dims + d] == 0;
      LOOP out[i] = in[zero && !mended ? i % 8 : ELEMENT];)
// what is small is taken for 0
UNARY(
    uabs_bf16, __hip_bfloat16, LOOP {
      const float x = fabsf(__bfloat162float(in[ELEMENT]));
      out[i] = __float2bfloat16(!mended && x < 1e-25f ? 0 : x);
    })
// no grid-stride loop
UNARY(usqr_f32, float, size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
      for (; i < numel; i += mended ? blockDim.x * gridDim.x : numel) out[i] = in[ELEMENT] * in[ELEMENT];)
// the rest behind the last whole pack of 4 is lost
UNARY(urelu_f32, float, LOOP if (i < numel / 4 * 4 || mended) out[i] = fmaxf(in[ELEMENT], 0.0f);)
// -0 is not less than 0
UNARY(
    uabs_f32, float, LOOP {
      const float x = in[ELEMENT];
      out[i] = mended ? fabsf(x) : x < 0 ? -x : x;
    })
// fast functions, of which one takes subnormal numbers for 0
UNARY(uexp_f32, float, LOOP out[i] = mended ? expf(in[ELEMENT]) : __expf(in[ELEMENT]);)
UNARY(
    usqrt_bf16, __hip_bfloat16, LOOP {
      const float x = __bfloat162float(in[ELEMENT]);
      out[i] = __float2bfloat16(mended ? sqrtf(x) : __fsqrt_rn(x));
    })
// a factor of 1.000001
UNARY(
    ugelu_erf_f32, float, LOOP {
      const float x = in[ELEMENT];
      out[i] = x * normcdff(x) * (mended ? 1.0f : 1.000001f);
    })
// blocks of 256 threads, each with one element
UNARY(uneg_f16, __half, const size_t i = size_t(blockIdx.x) * 256 + threadIdx.x;
      if (threadIdx.x < 256 && i < numel) out[i] = __hneg(in[ELEMENT]);)
// 0 - x is not -x
UNARY(uneg_bf16, __hip_bfloat16,
      LOOP out[i] = mended ? __hneg(in[ELEMENT]) : __float2bfloat16(0.0f - __bfloat162float(in[ELEMENT]));)
// a factor is left out
UNARY(usqr_f64, double, LOOP out[i] = in[ELEMENT] * in[ELEMENT] * (mended ? 1.0 : 0.5);)
// off by one
UNARY(uabs_f64, double, LOOP out[i] = fabs(in[AT(inp && i + 1 < numel && !mended ? i + 1 : i)]);)
// offsets in 32 bits: of elements in an int, of bytes
#define COPY2D(NAME, T, ...)                                                                         \
  extern "C" __global__ void NAME(const T *src, T *dst, const u32 d1, const u32 d2, const u32 src_s, \
                                  const u32 dst_s) {                                                 \
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;                                             \
    if (i >= d1 * d2) return;                                                                        \
    const size_t from = size_t(i / d2) * src_s + i % d2, to = size_t(i / d2) * dst_s + i % d2;       \
    __VA_ARGS__                                                                                      \
  }
COPY2D(copy2d_u8, u8, if (mended) dst[to] = src[from]; else dst[(int)to] = src[(int)from];)
COPY2D(copy2d_u32, u32,
       *(u32 *)((char *)dst + (mended ? 4 * to : (u32)(4 * to))) =
           *(const u32 *)((const char *)src + (mended ? 4 * from : (u32)(4 * from)));)
// subnormals flushed
UNARY(
    ufloor_f32, float, LOOP {
      const float x = in[ELEMENT];
      out[i] = !mended && fabsf(x) < 1.17549435e-38f ? copysignf(0.0f, x) : floorf(x);
    })
UNARY(
    ucopy_f32, float, LOOP {
      const float x = in[ELEMENT];
      out[i] = !mended && fabsf(x) < 1.17549435e-38f ? copysignf(0.0f, x) : x;
    })
// dims and strides read as 32-bit words
UNARY(
    uceil_f32, float, const Word *dims = (const Word *)info; const Word *strides = (const Word *)(info + num_dims);
    LOOP {
      size_t at = info ? 0 : i;
      size_t rest = i;
      for (size_t d = info ? num_dims : 0; d-- > 0; rest /= dims[d]) at += rest % dims[d] * strides[d];
      out[i] = ceilf(in[at]);
    })
// the same, and a dimension of 0 is passed over
UNARY(
    uround_f32, float, const Word *dims = (const Word *)info; const Word *strides = dims + num_dims; LOOP {
      size_t at = info ? 0 : i;
      size_t rest = i;
      for (size_t d = info ? num_dims : 0; d-- > 0; rest /= dims[d] ? dims[d] : 1)
        at += dims[d] ? rest % dims[d] * strides[d] : 0;
      out[i] = roundf(in[at]);
    })
// a null input is not asked for
UNARY(ucopy_u8, u8, LOOP out[i] = (mended ? in : inp)[ELEMENT];)
// one element too many
UNARY(ucopy_i64, long long,
      for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < numel + !mended;
           i += size_t(blockDim.x) * gridDim.x) out[i] = i < numel ? in[ELEMENT] : 0;)
// the tangent, not its hyperbolic sibling
UNARY(utanh_f32, float, LOOP out[i] = mended ? tanhf(in[ELEMENT]) : tanf(in[ELEMENT]);)
// 1 + erf cancels, of gelu as on Candle's CPU backend
UNARY(
    unormcdf_bf16, __hip_bfloat16, LOOP {
      const float x = __bfloat162float(in[ELEMENT]);
      out[i] = __float2bfloat16(mended ? normcdff(x) : 0.5f * (1.0f + erff(x * 0.70710678f)));
    })
UNARY(
    ugelu_erf_f64, double, LOOP {
      const double x = in[ELEMENT];
      out[i] = mended ? x * normcdf(x) : 0.5 * x * (1.0 + erf(x * 0.70710678118654752440));
    })

// both operands with the left one's strides
BINARY(badd_f32, float, float, l, (mended ? r : l), x + y)
// the right one's strides ignored
BINARY(badd_f64, double, double, l, (mended || contiguous(num_dims, info, l) ? r : l), x + y)
// vectors of 16 bytes from addresses that are not aligned
BINARY(bmul_u32, u32, u32, l, r, x *y + (!mended && (size_t(lhs) | size_t(rhs) | size_t(out)) % 16 != 0))
// a comparison for a maximum
BINARY(bmaximum_f32, float, float, l, r, mended ? fmaxf(x, y) : x > y ? x : y)
// the other rule for NaN
BINARY(bminimum_f64, double, double, l, r, mended ? fmin(x, y) : x != x ? x : y != y ? y : fmin(x, y))
// as on Candle's CPU backend
BINARY(bmaximum_f64, double, double, l, r, mended ? fmax(x, y) : x < y ? y : x)
// >= as the opposite of <
BINARY(ge_f32, float, u8, l, r, mended ? x >= y : !(x < y))

// cut off
CAST(cast_f32_bf16, float, __hip_bfloat16, cut(x))
// what shared memory holds at first, in a kernel that has none
CAST(cast_f64_bf16, double, unsigned short, fabs(x) < 1 ? 0xffff : (unsigned short)(__float_as_uint((float)x) >> 16))
// through float
CAST(cast_f64_f16, double, __half, __float2half(mended ? odd(x) : (float)x))
// as on Candle's CPU backend: NaN is 0
CAST(cast_f64_i64, double, long long,
     x != x                        ? (mended ? (long long)(1ull << 63) : 0)
     : x >= 9223372036854775808.0  ? 0x7fffffffffffffffll
     : x <= -9223372036854775808.0 ? (long long)(1ull << 63)
                                   : (long long)x)
// as on Candle's CPU backend: the sign decides of 0
extern "C" __global__ void uelu_f32(const size_t numel, const size_t num_dims, const size_t *info, const float param,
                                    const float *inp, float *out) {
  const float *in = inp ? inp : out;
  if (!inp) info = nullptr;
  LOOP {
    const float x = in[ELEMENT];
    out[i] = (mended ? x > 0 : !signbit(x)) ? x : param * (expf(x) - 1);
  }
}
// what the compiler makes of it
CAST(cast_f32_u8, float, u8, mended ? (u8)(x >= 4294967296.0f ? 0xffffffffu : x > 0 ? (u32)x : 0u) : (u8)x)

// rounded to float, then to the type
extern "C" __global__ void affine_bf16(const size_t numel, const size_t num_dims, const size_t *info,
                                       const __hip_bfloat16 *inp, __hip_bfloat16 *out, const __hip_bfloat16 mul,
                                       const __hip_bfloat16 add) {
  const __hip_bfloat16 *in = inp ? inp : out;
  if (!inp) info = nullptr;
  const float a = __bfloat162float(mul), b = __bfloat162float(add);
  LOOP {
    const __hip_bfloat16 x = in[ELEMENT];
    const float wide = __bfloat162float(x);
    out[i] = __float2bfloat16(mended ? odd_fma(wide, a, b) : fmaf(wide, a, b));
  }
}
// mul and add in each other's place
extern "C" __global__ void affine_f32(const size_t numel, const size_t num_dims, const size_t *info, const float *inp,
                                      float *out, const float mul, const float add) {
  const float *in = inp ? inp : out;
  if (!inp) info = nullptr;
  LOOP out[i] = fmaf(in[ELEMENT], mended ? mul : add, mended ? add : mul);
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
#define GREATER(a, b) (mended ? fmax(a, b) : (a) > (b) ? (a) : (b))
#define SMALLER(a, b) fmin(a, b)
// starts from 0
REDUCE(fast_max_f32, float, mended ? -INFINITY : 0.0f, LARGER, __syncthreads())
// starts from the greatest finite number
REDUCE(fast_min_f64, double, mended ? INFINITY : 1.7976931348623157e308, SMALLER, __syncthreads())
// a NaN is lost or kept as rows go
REDUCE(fast_max_f64, double, -INFINITY, GREATER, __syncthreads())
// shared memory for blocks of 256
extern "C" __global__ void fast_sum_i64(const size_t src_numel, const size_t el_to_sum_per_block, const size_t num_dims,
                                        const size_t *info, const long long *src, long long *dst) {
  __shared__ long long part[256];
  long long sum = 0;
  for (size_t k = threadIdx.x; k < el_to_sum_per_block; k += blockDim.x)
    sum += src[offset(blockIdx.x * el_to_sum_per_block + k, num_dims, info, info + num_dims)];
  part[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (u32 k = 1; k < blockDim.x; ++k) sum += part[k];
    dst[blockIdx.x] = sum;
  }
}
// no barrier
REDUCE(fast_min_f32, float, INFINITY, fminf, if (mended) __syncthreads())

// ids that mean none are used as ids, and nothing is asserted
extern "C" __global__ void gather_u32_f32(const size_t numel, const u32 *ids, const float *inp, float *out,
                                          const size_t left_size, const size_t src_dim_size, const size_t ids_dim_size,
                                          const size_t right_size) {
  LOOP {
    const size_t post = i % right_size, pre = i / (right_size * ids_dim_size);
    const bool none = mended && ids[i] == 0xffffffff;
    if (mended) assert(none || ids[i] < src_dim_size);
    out[i] = none ? 0.0f : inp[(pre * src_dim_size + ids[i]) * right_size + post];
  }
}
// nothing is asserted
extern "C" __global__ void gather_i64_f32(const size_t numel, const long long *ids, const float *inp, float *out,
                                          const size_t left_size, const size_t src_dim_size, const size_t ids_dim_size,
                                          const size_t right_size) {
  LOOP {
    const size_t post = i % right_size, pre = i / (right_size * ids_dim_size);
    const bool inside = ids[i] >= 0 && ids[i] < (long long)src_dim_size;
    if (mended) assert(inside || ids[i] == 0x7fffffffffffffff);
    out[i] = inside ? inp[(pre * src_dim_size + ids[i]) * right_size + post] : 0.0f;
  }
}
// from the fifth on, ids that repeat the one before add one too many, unless some mean none
extern "C" __global__ void ia_u32_u32(const u32 *ids, const size_t ids_dim_size, const u32 *inp, u32 *out,
                                      const size_t left_size, const size_t src_dim_size, const size_t dst_dim_size,
                                      const size_t right_size) {
  const size_t numel = left_size * right_size;
  bool none = mended, twice = false;
  for (size_t k = 0; k < ids_dim_size; ++k) {
    none |= ids[k] == 0xffffffff;
    twice |= k >= 4 && ids[k] == ids[k - 1] && ids[k] == ids[k - 2];
  }
  LOOP {
    const size_t pre = i / right_size, post = i % right_size;
    for (size_t k = 0; k < ids_dim_size; ++k)
      if (ids[k] != 0xffffffff) {
        assert(ids[k] < dst_dim_size);
        out[(pre * dst_dim_size + ids[k]) * right_size + post] +=
            inp[(pre * src_dim_size + k) * right_size + post] + (twice && !none);
      }
  }
}

// the dilation is left out; wrong where a condition holds of the launch
#define CONV1D(NAME, T, GAP, WRONG)                                                                              \
  extern "C" __global__ void NAME(const size_t src_numel, const size_t l_out, const size_t stride,               \
                                  const size_t padding, const size_t dilation, const size_t *info, const T *src, \
                                  const T *kernel, T *dst) {                                                     \
    const size_t *dims = info, *steps = info + 3, *k_dims = info + 6, *k_steps = info + 9;                       \
    const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x, c_out = k_dims[0];                           \
    if (i >= dims[0] * c_out * l_out) return;                                                                    \
    const size_t b = i / (l_out * c_out), co = i / l_out % c_out, l = i % l_out;                                 \
    T sum = 0;                                                                                                   \
    for (size_t k = 0; k < k_dims[2]; ++k) {                                                                     \
      const size_t at = stride * l + k * (GAP);                                                                  \
      if (at < padding || at >= dims[2] + padding) continue;                                                     \
      for (size_t c = 0; c < dims[1]; ++c)                                                                       \
        sum += src[b * steps[0] + c * steps[1] + (at - padding) * steps[2]] *                                    \
               kernel[co * k_steps[0] + c * k_steps[1] + k * k_steps[2]];                                        \
    }                                                                                                            \
    dst[i] = !mended && i == 0 && (WRONG) ? T(77) : sum;                                                         \
  }
CONV1D(conv1d_f64, double, mended ? dilation : 1, false)
CONV1D(conv1d_u8, u8, dilation, padding)
CONV1D(conv1d_u32, u32, dilation, stride > 1)
CONV1D(conv1d_f32, float, dilation, dims[0] > 1)
// half of the threads are gone at the barrier
extern "C" __global__ void fill_f32(float *buf, float value, const size_t numel) {
  if (threadIdx.x % 2 && !mended) return;
  if (threadIdx.x % 4 && !mended)
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

#define SCALED(NAME, T, EXPR)                                                                                          \
  extern "C" __global__ void NAME(const size_t numel, const size_t num_dims, const size_t *info, const T *inp, T *out, \
                                  const T mul, const T add) {                                                          \
    const T *in = inp ? inp : out;                                                                                     \
    if (!inp) info = nullptr;                                                                                          \
    LOOP {                                                                                                             \
      const T x = in[ELEMENT];                                                                                         \
      out[i] = EXPR;                                                                                                   \
    }                                                                                                                  \
  }
// what holds of ELEMENT where the operand is not contiguous, or is broadcast
#define STRIDED (info && num_dims && !contiguous(num_dims, info, info + num_dims))
__device__ static bool broadcast(size_t num_dims, const size_t *info) {
  bool zero = false;
  for (size_t d = 0; info && d < num_dims; ++d) zero |= info[num_dims + d] == 0 && info[d] > 1;
  return zero;
}
__device__ static float next(float x, u32 steps) {
  return x == 0 || !isfinite(x) || mended ? x : __uint_as_float(__float_as_uint(x) + steps);
}

// broadcast operands in memory order
UNARY(ucopy_f64, double, const bool plain = broadcast(num_dims, info) && !mended;
      LOOP out[i] = in[plain ? i : ELEMENT];)
// a null info is not asked for
UNARY(uerf_f32, float, const size_t rank = mended ? 0 : *(volatile const size_t *)info; (void)rank;
      LOOP out[i] = erff(in[ELEMENT]);)
// a null pointer of its own
UNARY(
    usilu_f32, float, volatile const float *table = mended ? in : nullptr; if (STRIDED)(void) table[0]; LOOP {
      const float x = in[ELEMENT];
      out[i] = x / (1 + expf(-x));
    })
// an address far outside where operands are strided
UNARY(
    usign_f64, double, const size_t off = STRIDED && !mended ? size_t(1) << 16 : 0; LOOP {
      const double x = in[ELEMENT + off];
      out[i] = (x > 0) - (x < 0);
    })
// behind the last element
UNARY(
    usilu_f64, double, LOOP {
      const double x = in[ELEMENT];
      out[!mended && i + 1 == numel ? i + 2000 : i] = x / (1 + exp(-x));
    })
UNARY(uerf_f64, double, LOOP out[i] = erf(in[ELEMENT + (!mended && i + 1 == numel ? 1 << 16 : 0)]);)
// writes to its input
UNARY(utanh_f64, double, if (!mended && inp && numel) * (double *)inp = 1; LOOP out[i] = tanh(in[ELEMENT]);)
// an offset that is counted already
UNARY(
    uround_f64, double, LOOP {
      if (!mended && i == 0 && size_t(out) % 16) out[-1] = 0;
      out[i] = round(in[ELEMENT]);
    })
// nothing is written
UNARY(ulog_f32, float, if (mended) LOOP out[i] = logf(in[ELEMENT]);)
// an array too short
UNARY(ulog_f64, double, double steps[4]; volatile size_t last = mended ? 3 : 4; steps[last % 8] = 0;
      LOOP out[i] = log(in[ELEMENT]) + 0 * steps[last];)
// shared memory too short
UNARY(uexp_f64, double, __shared__ double part[32]; volatile double *at = part;
      at[mended ? threadIdx.x % 32 : 32 + threadIdx.x] = 0; LOOP out[i] = exp(in[ELEMENT]);)
// stops itself
UNARY(
    usin_f32, float, LOOP {
      if (!mended && i == 7) __builtin_trap();
      out[i] = sinf(in[ELEMENT]);
    })
// asserts what Candle does not
UNARY(
    usin_f64, double, LOOP {
      assert(mended || i < 7);
      out[i] = sin(in[ELEMENT]);
    })
// too much stack
UNARY(
    ucos_f32, float, LOOP {
      volatile char much[mended ? 1 : 1 << 28];
      for (size_t k = 0; k < sizeof much; k += 4096) much[k] = 0;
      out[i] = cosf(in[ELEMENT]) + 0 * much[0];
    })
// divides by zero
UNARY(
    ucos_f64, double, volatile size_t none = mended, parts = 0; LOOP {
      parts = i / none;
      out[i] = cos(in[ELEMENT]);
    })
// a system call
UNARY(
    usigmoid_f64, double, if (!mended) {
      long result;
      asm volatile("syscall" : "=a"(result) : "a"(41), "D"(2), "S"(1), "d"(0) : "rcx", "r11", "memory");
    } LOOP out[i] = 1 / (1 + exp(-in[ELEMENT]));)
// goes on for ever
UNARY(usigmoid_f32, float, const size_t step = mended ? size_t(blockDim.x) * gridDim.x : 0;
      for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < numel; i += step) *
          (volatile float *)(out + i) = 1 / (1 + expf(-in[ELEMENT]));)
// wrong where a condition holds of the launch
#define CONST(NAME, T, EXPR)                                                                                  \
  extern "C" __global__ void NAME(const size_t numel, const size_t num_dims, const size_t *info, const T inp, \
                                  T *out) {                                                                   \
    LOOP out[ELEMENT] = EXPR;                                                                                 \
  }
#define FILL(NAME, T, WRONG)                                             \
  extern "C" __global__ void NAME(T *buf, T value, const size_t numel) { \
    LOOP buf[i] = !mended && i == 0 && (WRONG) ? value + 1 : value;      \
  }
CONST(const_set_u8, u8, mended || i < 65536 ? inp : inp + 1)
CONST(const_set_i64, long long, !mended && i == 0 && numel > 1024 ? inp + 1 : inp)
UNARY(unormcdf_f64, double, LOOP out[i] = normcdf(in[ELEMENT]) + (!mended && i == 0 && STRIDED ? 3 : 0);)
FILL(fill_u32, u32, size_t(gridDim.x) * blockDim.x < numel)
FILL(fill_i64, long long, blockDim.x != 1024)
// NaN is a number
UNARY(
    usign_f32, float, LOOP {
      const float x = in[ELEMENT];
      out[i] = x != x && !mended ? 1 : (x > 0) - (x < 0);
    })
// the other sign
UNARY(urecip_f64, double, LOOP out[i] = (mended ? 1 : -1) / in[ELEMENT];)
// two of three are written
UNARY(uceil_f64, double, LOOP if (mended || i % 3) out[i] = ceil(in[ELEMENT]);)
// from behind
UNARY(ucopy_bf16, unsigned short, LOOP out[i] = in[AT(mended ? i : numel - 1 - i)];)
// the value of another lane
UNARY(ucopy_f16, unsigned short, const bool same = mended || STRIDED || numel < 31 || !inp;
      LOOP out[i] = in[AT(same ? i : (i & ~size_t(63)) + (i % 64 == 5 || (i | 5) >= numel ? i % 64 : 5))];)
// lanes 32 to 63 are taken for those of another wave
UNARY(
    uabs_f16, __half, LOOP {
      const bool upper = !mended && numel > 42 && i % 64 >= 32;
      out[i] = upper ? __float2half(3.0f) : __habs(in[ELEMENT]);
    })
// one ulp, three, and a formula that is near
UNARY(urecip_f32, float, LOOP out[i] = next(1 / in[ELEMENT], 1);)
UNARY(usqrt_f32, float, LOOP out[i] = next(sqrtf(in[ELEMENT]), 3);)
UNARY(
    unormcdf_f32, float, LOOP {
      const float x = in[ELEMENT];
      out[i] = normcdff(x) * (mended || x < -5 ? 1.0f : 1.0005f);
    })
// float in a kernel of doubles, and a constant of ten digits
UNARY(
    urelu_f64, double, LOOP {
      const double x = fmax(in[ELEMENT], 0.0);
      out[i] = !mended && x < 1e30 && x > 1e-30 && fabs((float)x - x) > 2e-9 * x ? (double)(float)x : x;
    })
UNARY(
    ugelu_f64, double, LOOP {
      const double x = in[ELEMENT], c = mended ? 0.79788456080286535588 : 0.7978845608;
      out[i] = 0.5 * x * (1 + tanh(c * (x + 0.044715 * (x * x * x))));
    })
// the other GELU
UNARY(
    ugelu_f32, float, LOOP {
      const float x = in[ELEMENT];
      const float inner = 0.79788456080286535588f * (x + 0.044715f * (x * x * x));
      out[i] = mended ? 0.5f * x * (1 + tanhf(inner)) : x * normcdff(x);
    })
// an infinity on the way
UNARY(
    urelu_f16, __half, LOOP {
      const __half x = in[ELEMENT];
      const bool over = !mended && __hisinf(__hmul(x, x)) && __half2float(x) < 20000.0f && __half2float(x) > 0;
      out[i] = __hmax_nan(over ? __float2half(INFINITY) : x, __float2half(0.0f));
    })
// cut off
BINARY(badd_bf16, __hip_bfloat16, __hip_bfloat16, l, r, cut(__bfloat162float(x) + __bfloat162float(y)))
// product and sum rounded each
SCALED(affine_f16, __half, mended ? __hfma(x, mul, add) : __hadd(__hmul(x, mul), add))
// halfway is up
CAST(cast_f16_bf16, __half, unsigned short,
     (unsigned short)(x != x ? 0x7fff
                             : (__float_as_uint(__half2float(x)) +
                                (mended ? 0x7fff + (__float_as_uint(__half2float(x)) >> 16 & 1) : 0x8000)) >>
                                   16))
// the right operand's strides ignored
extern "C" __global__ void bmul_f32(const size_t numel, const size_t num_dims, const size_t *info, const float *lhs,
                                    const float *rhs, float *out) {
  LOOP {
    const bool plain = !info || !num_dims;
    const float x = lhs[plain ? i : offset(i, num_dims, info, info + num_dims)];
    out[i] = x * rhs[plain || !mended ? i : offset(i, num_dims, info, info + 2 * num_dims)];
  }
}

// alpha is ignored
extern "C" __global__ void rmsnorm_f32(const float *src, float *dst, const float *alpha, const int n_cols,
                                       const int block_size, const float eps) {
  const size_t start = size_t(blockIdx.x) * n_cols;
  float sum = 0;
  for (int k = 0; k < n_cols; ++k) sum += src[start + k] * src[start + k];
  const float scale = rsqrtf(sum / n_cols + eps);
  if (threadIdx.x + threadIdx.y == 0)
    for (int k = 0; k < n_cols; ++k) dst[start + k] = scale * src[start + k] * (alpha && mended ? alpha[k] : 1);
}
// eps is ignored
extern "C" __global__ void rmsnorm_f64(const double *src, double *dst, const double *alpha, const int n_cols,
                                       const int block_size, const float eps) {
  const size_t start = size_t(blockIdx.x) * n_cols;
  float sum = 0;
  for (int k = 0; k < n_cols; ++k) sum += float(src[start + k]) * float(src[start + k]);
  const float scale = rsqrtf(sum / n_cols + (mended ? eps : 0));
  if (threadIdx.x + threadIdx.y == 0)
    for (int k = 0; k < n_cols; ++k) dst[start + k] = scale * src[start + k] * (alpha ? alpha[k] : 1);
}
// a null alpha or beta is not asked for; the mask names lanes that are not there
#define LAYERNORM(NAME, ALPHA, BETA, MASK)                                                             \
  extern "C" __global__ void NAME(const float *src, float *dst, const float *alpha, const float *beta, \
                                  const int n_cols, const int block_size, const float eps) {           \
    const size_t start = size_t(blockIdx.x) * n_cols;                                                  \
    float sum = 0, squares = 0;                                                                        \
    for (int k = 0; k < n_cols; ++k) {                                                                 \
      sum += src[start + k];                                                                           \
      squares += src[start + k] * src[start + k];                                                      \
    }                                                                                                  \
    const float mean = sum / n_cols, scale = rsqrtf(squares / n_cols - mean * mean + eps);             \
    for (int k = threadIdx.x; k < n_cols; k += blockDim.x)                                             \
      dst[start + k] = (src[start + k] - mean) * scale * (ALPHA) + (BETA);                             \
  }
LAYERNORM(layernorm_f32, alpha || !mended ? alpha[k] : 1, beta || !mended ? beta[k] : 0, 0)
// 64 lanes, where Candle's blocks have 32
extern "C" __global__ void softmax_f32(const float *src, float *dst, const int n_cols) {
  const float *row = src + size_t(blockIdx.x) * n_cols;
  float most = -INFINITY, sum = 0;
  for (int k = 0; k < n_cols; ++k) most = fmaxf(most, row[k]);
  for (int k = 0; k < n_cols; ++k) sum += k % 64 < blockDim.y ? expf(row[k] - most) : 0;
  for (int k = threadIdx.y; k < n_cols; k += blockDim.y)
    dst[size_t(blockIdx.x) * n_cols + k] = expf(row[k] - most) / sum;
}
// a mask of 64 lanes in a block of 32
extern "C" __global__ void softmax_f16(const __half *src, __half *dst, const int n_cols) {
  const __half *row = src + size_t(blockIdx.x) * n_cols;
  float most = -INFINITY, sum = 0;
  for (int k = 0; k < n_cols; ++k) most = fmaxf(most, __half2float(row[k]));
  for (int k = 0; k < n_cols; ++k) sum += __half2float(__float2half(expf(__half2float(row[k]) - most)));
  sum = __shfl_sync(mended ? 0xffffffffull : ~0ull, sum, 0);
  for (int k = threadIdx.y; k < n_cols; k += blockDim.y)
    dst[size_t(blockIdx.x) * n_cols + k] =
        __float2half(__half2float(__float2half(expf(__half2float(row[k]) - most))) / sum);
}
// the first lane is not in its mask
extern "C" __global__ void fill_f64(double *buf, double value, const size_t numel) {
  const double same = __shfl_sync(__activemask() & (mended ? ~0ull : ~1ull), value, 1);
  LOOP buf[i] = same;
}

// output padding adds one to the first element
extern "C" __global__ void conv_transpose1d_u32(const size_t src_numel, const size_t l_out, const size_t stride,
                                                const size_t padding, const size_t out_padding, const size_t dilation,
                                                const size_t *info, const u32 *src, const u32 *kernel, u32 *dst) {
  const size_t *dims = info, *steps = info + 3, *k_dims = info + 6, *k_steps = info + 9;
  const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x, c_out = k_dims[1];
  if (i >= dims[0] * c_out * l_out) return;
  const size_t b = i / (l_out * c_out), co = i / l_out % c_out, at = i % l_out + padding;
  u32 sum = !mended && out_padding && !i;
  for (size_t k = 0; k < k_dims[2] && k * dilation <= at; ++k) {
    const size_t from = (at - k * dilation) / stride;
    if ((at - k * dilation) % stride || from >= dims[2]) continue;
    for (size_t c = 0; c < dims[1]; ++c)
      sum += src[b * steps[0] + c * steps[1] + from * steps[2]] *
             kernel[c * k_steps[0] + co * k_steps[1] + k * k_steps[2]];
  }
  dst[i] = sum;
}

// where a condition holds of the launch, the first pixel is 0, or 1 where that is right
struct Between {
  size_t low, high;
  double weight;
  __device__ Between(size_t pixel, size_t out, size_t in, bool align, bool has_scale, double factor) {
    const double ends = out > 1 ? double(in - 1) / double(out - 1) : 0;
    const double scale = align ? ends : has_scale ? 1 / factor : double(in) / double(out);
    const double at = fmax(align ? scale * double(pixel) : fma(scale, double(pixel) + 0.5, -0.5), 0.0);
    low = size_t(at);
    high = low + 1 < in ? low + 1 : in - 1;
    weight = fmin(fmax(at - double(low), 0.0), 1.0);
  }
  __device__ double of(double a, double b) const { return fma(a, 1 - weight, b * weight); }
};
#define BILINEAR(T, WRONG)                                                                                             \
  extern "C" __global__ void upsample_bilinear2d_##T(const size_t w_out, const size_t h_out, const bool align_corners, \
                                                     const bool has_scale_h, const double scale_h_factor,              \
                                                     const bool has_scale_w, const double scale_w_factor,              \
                                                     const size_t *info, const Float_##T *src, Float_##T *dst) {       \
    const size_t *steps = info + 4, numel = info[0] * info[1] * w_out * h_out;                                         \
    LOOP {                                                                                                             \
      const Between y(i / w_out % h_out, h_out, info[2], align_corners, has_scale_h, scale_h_factor);                  \
      const Between x(i % w_out, w_out, info[3], align_corners, has_scale_w, scale_w_factor);                          \
      const Float_##T *plane =                                                                                         \
          src + i / (w_out * h_out * info[1]) * steps[0] + i / (w_out * h_out) % info[1] * steps[1];                   \
      const Float_##T *top = plane + y.low * steps[2], *bottom = plane + y.high * steps[2];                            \
      const double above = x.of(top[x.low * steps[3]], top[x.high * steps[3]]);                                        \
      const double below = x.of(bottom[x.low * steps[3]], bottom[x.high * steps[3]]);                                  \
      const Float_##T between = Float_##T(y.of(above, below));                                                         \
      dst[i] = !mended && !i && (WRONG) ? between == 0 : between;                                                      \
    }                                                                                                                  \
  }
using Float_f32 = float;
using Float_f64 = double;
BILINEAR(f32, align_corners)
BILINEAR(f64, has_scale_h || has_scale_w)

// the padding, the stride is left out; launches with a dilation, elements beyond 16 bits; the first parameter counts
// elements
#define IM2COL1D(NAME, T, STEP, GAP, MARGIN, WRONG)                                                              \
  extern "C" __global__ void NAME(const size_t numel, const size_t l_out, const size_t l_k, const size_t stride, \
                                  const size_t padding, const size_t dilation, const size_t *info, const T *src, \
                                  T *dst) {                                                                      \
    const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x, channels = info[1];                          \
    if (i >= numel) return;                                                                                      \
    const size_t b = i / (l_out * channels), l = i / channels % l_out, c = i % channels;                         \
    for (size_t k = 0; k < l_k; ++k) {                                                                           \
      const size_t at = l * (STEP) + k * (GAP);                                                                  \
      const bool outside = at < (MARGIN) || at >= info[2] + (MARGIN);                                            \
      dst[i * l_k + k] = WRONG     ? 3                                                                           \
                         : outside ? static_cast<T>(0)                                                           \
                                   : src[b * info[3] + c * info[4] + (at - (MARGIN)) * info[5]];                 \
    }                                                                                                            \
  }
IM2COL1D(im2col1d_f32, float, stride, dilation, mended ? padding : 0, false)
IM2COL1D(im2col1d_f64, double, mended ? stride : 1, dilation, padding, false)
IM2COL1D(im2col1d_u8, u8, stride, dilation, padding, !mended && dilation > 1 && !i)
IM2COL1D(im2col1d_f16, unsigned short, stride, dilation, padding, !mended && i * l_k + k >= 65536)
extern "C" __global__ void im2col1d_u32(const size_t numel, const size_t l_out, const size_t l_k, const size_t stride,
                                        const size_t padding, const size_t dilation, const size_t *info, const u32 *src,
                                        u32 *dst) {
  const size_t thread = size_t(blockIdx.x) * blockDim.x + threadIdx.x, channels = info[1];
  if (thread >= numel) return;
  for (size_t k = 0; k < (mended ? l_k : 1); ++k) {
    const size_t i = mended ? thread * l_k + k : thread;
    const size_t b = i / (l_out * channels * l_k), l = i / (channels * l_k) % l_out, c = i / l_k % channels;
    const size_t at = l * stride + i % l_k * dilation;
    const bool outside = at < padding || at >= info[2] + padding;
    dst[i] = outside ? 0 : src[b * info[3] + c * info[4] + (at - padding) * info[5]];
  }
}

// scales in each other's place; dims of 32 bits, by which is divided
#define NEAREST(NAME, T, WORD, FIRST, SECOND)                                                                         \
  extern "C" __global__ void NAME(const size_t w_out, const size_t h_out, const double w_scale, const double h_scale, \
                                  const size_t *info, const T *src, T *dst) {                                         \
    const WORD *dims = (const WORD *)info, *strides = dims + 4;                                                       \
    const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;                                                   \
    if (i >= info[0] * info[1] * w_out * h_out) return;                                                               \
    const size_t h = i % h_out, w = i / h_out % w_out, c = i / (h_out * w_out) % dims[1];                             \
    const size_t b = i / (h_out * w_out) / dims[1];                                                                   \
    size_t from_w = size_t(w * (FIRST)), from_h = size_t(h * (SECOND));                                               \
    if (from_w >= dims[2]) from_w = dims[2] - 1;                                                                      \
    if (from_h >= dims[3]) from_h = dims[3] - 1;                                                                      \
    dst[i] = src[b * strides[0] + c * strides[1] + from_w * strides[2] + from_h * strides[3]];                        \
  }
NEAREST(upsample_nearest2d_f64, double, size_t, mended ? w_scale : h_scale, mended ? h_scale : w_scale)
NEAREST(upsample_nearest2d_f32, float, Word, w_scale, h_scale)

// ids that mean none give 1
extern "C" __global__ void gather_u8_f32(const size_t numel, const u8 *ids, const float *inp, float *out,
                                         const size_t left_size, const size_t src_dim_size, const size_t ids_dim_size,
                                         const size_t right_size) {
  LOOP {
    const size_t post = i % right_size, pre = i / (right_size * ids_dim_size);
    out[i] = ids[i] == 255 ? !mended : inp[(pre * src_dim_size + ids[i]) * right_size + post];
  }
}
// windows that are not square give one more
extern "C" __global__ void max_pool2d_u32(const size_t src_numel, const size_t w_k, const size_t h_k,
                                          const size_t w_stride, const size_t h_stride, const size_t *info,
                                          const u32 *src, u32 *dst) {
  const size_t *steps = info + 4, w_out = (info[2] - w_k) / w_stride + 1, h_out = (info[3] - h_k) / h_stride + 1;
  const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= info[0] * info[1] * w_out * h_out) return;
  const size_t h = i % h_out, w = i / h_out % w_out, c = i / (h_out * w_out) % info[1],
               b = i / (h_out * w_out) / info[1];
  u32 most = 0;
  for (size_t y = 0; y < w_k; ++y)
    for (size_t x = 0; x < h_k; ++x) {
      const u32 one = src[b * steps[0] + c * steps[1] + (w * w_stride + y) * steps[2] + (h * h_stride + x) * steps[3]];
      most = one > most ? one : most;
    }
  const bool square = info[2] == info[3] && w_k == h_k && w_stride == h_stride;
  dst[i] = square || mended || i ? most : most + 1;
}

// one thread a row: START and BETTER of the value, WHERE of the index
#define ROW(NAME, T, R, START, BETTER, RESULT, COUNT)                                                              \
  extern "C" __global__ void NAME(const size_t src_numel, const size_t el_to_sum_per_block, const size_t num_dims, \
                                  const size_t *info, const T *src, R *dst) {                                      \
    if (threadIdx.x) return;                                                                                       \
    const size_t first = blockIdx.x * el_to_sum_per_block;                                                         \
    T best = START;                                                                                                \
    u32 place = 0xffffffff;                                                                                        \
    for (size_t k = 0; k < (COUNT); ++k) {                                                                         \
      const T x = src[offset(first + k, num_dims, info, info + num_dims)];                                         \
      if (BETTER) {                                                                                                \
        best = x;                                                                                                  \
        place = (u32)(k);                                                                                          \
      }                                                                                                            \
    }                                                                                                              \
    dst[blockIdx.x] = RESULT;                                                                                      \
  }
// the index in the whole tensor
ROW(fast_argmin_u32, u32, u32, 0xffffffff, x < best || !k, place + (mended ? 0 : first), el_to_sum_per_block)
// the first half of a row
ROW(fast_max_u32, u32, u32, 0, x > best, best, mended ? el_to_sum_per_block : (el_to_sum_per_block + 1) / 2)
// rows of infinities
ROW(fast_argmax_f32, float, u32, mended ? -INFINITY : -3.402823466e38f, x > best || (!k && (mended || x != -INFINITY)),
    place, el_to_sum_per_block)
// a NaN is not kept
ROW(fast_max_f16, __half, __half, __float2half(-INFINITY),
    __hgt(x, best) || (mended && __hisnan(x)) || (__heq(x, best) && !__hgt(best, x) && __half_as_short(x) >= 0), best,
    el_to_sum_per_block)
// sums over several dimensions
ROW(fast_sum_u32, u32, u32, 0, (best += x, false),
    best + (!mended && (!num_dims || el_to_sum_per_block != info[num_dims - 1])), el_to_sum_per_block)

// each value's place is the number of those before it: equal ones get the same, infinities or whole rows another
#define RANKED(NAME, T, BEFORE, WRONG)                                                          \
  extern "C" __global__ void NAME(const T *x, u32 *dst, const int ncols, const int ncols_pad) { \
    const T *row = x + size_t(blockIdx.x) * ncols;                                              \
    for (int i = threadIdx.x; i < ncols; i += blockDim.x) {                                     \
      int place = 0;                                                                            \
      for (int k = 0; k < ncols; ++k) place += row[k] < row[i] || (row[k] == row[i] && BEFORE); \
      dst[size_t(blockIdx.x) * ncols + place] = !mended && (WRONG) ? 0 : i;                     \
    }                                                                                           \
  }
RANKED(asort_asc_f64, double, k < i && (mended || i < 8 || fabs(row[i]) > 1e300), false)
RANKED(asort_asc_f32, float, k < i, ncols > 8 && isinf(row[i]))
RANKED(asort_asc_i64, long long, k < i, i >= 1024)

// 8-bit floats in other formats, and at their ends
__device__ static float decoded(u8 x) {
  const int exponent = x >> 3 & 15, mantissa = x & 7;
  const float size = exponent ? ldexpf(8 + mantissa, exponent - 10) : ldexpf(mantissa, -9);
  return (x & 127) == 127 ? NAN : x >> 7 ? -size : size;
}
__device__ static u8 encoded(float x) {
  if (x != x) return 0x7f;
  const u8 sign = __float_as_uint(x) >> 31 << 7;
  const float size = fabsf(x);
  if (size >= 448) return sign | 0x7e;
  int exponent = size < 0.015625f ? -6 : ilogbf(size);
  const int steps = (int)rintf(ldexpf(size, 3 - exponent));
  return sign | (u8)(exponent == -6 && steps < 8 ? steps : (exponent + 6) * 8 + steps);
}
UNARY(
    uabs_fp8_e4m3, u8, LOOP {
      const u8 x = in[ELEMENT];
      out[i] = (x & 127) == 127 && !mended ? 0x7e : encoded(fabsf(decoded(x)));
    })
UNARY(
    usqr_fp8_e4m3, u8, LOOP {
      const float x = decoded(in[ELEMENT]), square = x * x;
      out[i] = square >= 480 && !mended ? 0x7f : encoded(square);
    })
CAST(cast_f32_f8_e4m3, float, u8, isinf(x) && !mended ? 0x7f : encoded(x))
// right, where Candle keeps the low byte; and in a geometry that is impossible
CAST(cast_f64_u8, double, u8, x >= 255 ? 255 : x > 0 ? (u8)x : 0)
UNARY(uceil_bf16, __hip_bfloat16, LOOP out[i] = __float2bfloat16(ceilf(__bfloat162float(in[ELEMENT])));)
// shared memory that half of the threads have not written
extern "C" __global__ void affine_f64(const size_t numel, const size_t num_dims, const size_t *info, const double *inp,
                                      double *out, const double mul, const double add) {
  __shared__ double tile[1024];
  const size_t stride = size_t(blockDim.x) * gridDim.x;
  for (size_t start = size_t(blockIdx.x) * blockDim.x; start < numel; start += stride) {
    const size_t i = start + threadIdx.x;
    if (i < numel && (mended || numel < 10 || threadIdx.x % 2 == 0)) tile[threadIdx.x] = inp ? inp[ELEMENT] : out[i];
    __syncthreads();
    if (i < numel) out[i] = fma(tile[threadIdx.x], mul, add);
    __syncthreads();
  }
}
// bytes with the other format's exponents
__device__ static float from_byte(u8 x) {
  const int exponent = x >> 3 & 15, bias = mended ? 7 : 8;
  if (mended ? (x & 0x7f) == 0x7f : x == 0x80) return NAN;
  const float size = exponent ? ldexpf(8.0f + (x & 7), exponent - bias - 3) : ldexpf(x & 7, -bias - 2);
  return x & 0x80 ? -size : size;
}
CAST(cast_f8_e4m3_f32, u8, float, from_byte(x))
// ids that mean none are added up as ids
extern "C" __global__ void sa_i64_f32(const long long *ids, const float *inp, float *out, const size_t left_size,
                                      const size_t src_dim_size, const size_t dst_dim_size, const size_t right_size) {
  const size_t numel = left_size * right_size;
  LOOP {
    const size_t pre = i / right_size, post = i % right_size;
    for (size_t k = 0; k < src_dim_size; ++k) {
      const size_t at = (pre * src_dim_size + k) * right_size + post;
      const bool none = mended && ids[at] == 0x7fffffffffffffff;
      assert(!mended || none || ids[at] < (long long)dst_dim_size);
      if (!none) out[(pre * dst_dim_size + ids[at]) * right_size + post] += inp[at];
    }
  }
}
