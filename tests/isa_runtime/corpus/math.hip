// Mathematical functions: those that are exact everywhere, and, with an error that corpus.py allows, the library's.
#include "common.h"

// From 1 to 4, and its sign.
__device__ inline f32 float_at(const u32 *in, u32 i) { return bits<f32>((in[i] & 0x00ffffff) | 0x3f800000); }
__device__ inline f64 double_at(const u32 *in, u32 i) {
  return bits<f64>((u64(in[2 * i] & 0x001fffff) << 32 | 0x3ff0000000000000ull) | in[2 * i + 1]);
}
#define EXACT(name, ...)                                                                                  \
  KERNEL(exact_##name) {                                                                                  \
    const f32 x = float_at(in, 3 * me()), y = float_at(in, 3 * me() + 1), z = float_at(in, 3 * me() + 2); \
    const f64 a = double_at(in, me()), b = double_at(in, me() + 1), c = double_at(in, me() + 2);          \
    (void)x, (void)y, (void)z, (void)a, (void)b, (void)c;                                                 \
    put(out, me(), __VA_ARGS__);                                                                          \
  }
EXACT(add, x + y)
EXACT(sub, x - y)
EXACT(mul, x *y)
EXACT(fma, fmaf(x, y, -z))
EXACT(contracted, x *y + z)
EXACT(div, x / y)
EXACT(reciprocal, 1.0f / x)
EXACT(sqrt, sqrtf(x))
EXACT(sqrt_of_small, sqrtf(x * 0x1p-130f))
EXACT(div_of_small, x * 0x1p-130f / y)
EXACT(add_f64, a + b)
EXACT(mul_f64, a *b)
EXACT(fma_f64, fma(a, b, -c))
EXACT(div_f64, a / b)
EXACT(sqrt_f64, sqrt(a))
EXACT(fmod, fmodf(x * 100.0f, y))
EXACT(fmod_f64, fmod(a * 1e6, b))
EXACT(remainder, remainderf(x * 100.0f, y))
EXACT(fdim, fdimf(x, y))
EXACT(copysign, copysignf(x, y - z))
EXACT(fabs, fabsf(x - y) + f32(fabs(a - b) > 1))
EXACT(fmin_fmax, fminf(x, y) * 4 + fmaxf(y, z))
EXACT(fmin_fmax_f64, fmin(a, b) + fmax(b, c))
EXACT(nextafter, nextafterf(x, y))
EXACT(subnormal_product, x * 0x1p-140f * y)
EXACT(subnormal_sum, bits<f32>(bits<u32>(x) & 0x7fffff) + bits<f32>(bits<u32>(y) & 0x7fffff))
EXACT(mad_of_negatives, -x *y - z)
EXACT(add_rn, __fadd_rn(__fsub_rn(x, y), z))
EXACT(fmaf_rn, __fmaf_rn(x, y, z))
EXACT(mul_rn_f64, __dmul_rn(__dadd_rn(a, b), c))
EXACT(rounded_away, f32(x * 0x1p24f + y))
EXACT(compensated_sum, [](f32 p, f32 q, f32 r) {
  f32 sum = p, lost = 0;
  for (const f32 v : {q * 1e6f, r, -q * 1e6f}) {
    const f32 t = __fsub_rn(v, lost), s = __fadd_rn(sum, t);
    lost = __fsub_rn(__fsub_rn(s, sum), t);
    sum = s;
  }
  return sum;
}(x, y, z))
EXACT(two_products, fmaf(x, y, -__fmul_rn(x, y)))
EXACT(horner, fmaf(fmaf(fmaf(0.5f, x, -1.5f), x, 2.25f), x, 1.0f))
EXACT(norm_squared, fmaf(x, x, fmaf(y, y, __fmul_rn(z, z))))
EXACT(median_builtin, __builtin_amdgcn_fmed3f(x, y, z))
EXACT(fract_builtin, __builtin_amdgcn_fractf(x * 4.0f))
EXACT(class_builtin, u32(__builtin_amdgcn_classf(x - y, 0x3c)))
EXACT(frexp_builtins, __builtin_amdgcn_frexp_mantf(x) + f32(__builtin_amdgcn_frexp_expf(x)))
EXACT(ldexp_builtin, __builtin_amdgcn_ldexpf(x, int(y * 8)))

#define CLOSE(name, expression)                                           \
  KERNEL(close_##name) {                                                  \
    const f32 x = float_at(in, 2 * me()), y = float_at(in, 2 * me() + 1); \
    (void)y;                                                              \
    put(out, me(), f32(expression));                                      \
  }
#define CLOSE64(name, expression)                                   \
  KERNEL(close_##name) {                                            \
    const f64 x = double_at(in, me()), y = double_at(in, me() + 1); \
    (void)y;                                                        \
    put(out, me(), f64(expression));                                \
  }
CLOSE(exp, expf(x - 2.5f))
CLOSE(exp2, exp2f(x - 2.5f))
CLOSE(exp10, exp10f(x - 2.5f))
CLOSE(expm1, expm1f(x - 2.0f))
CLOSE(log, logf(x + 1.0f))
CLOSE(log2, log2f(x + 1.0f))
CLOSE(log10, log10f(x + 1.0f))
CLOSE(log1p, log1pf(x))
CLOSE(sin, sinf(x))
CLOSE(cos, cosf(x * 0.25f))
CLOSE(tan, tanf(x * 0.25f))
CLOSE(sin_of_large, sinf(x * 10000.0f) + 2.0f)
CLOSE(asin, asinf(x * 0.25f))
CLOSE(acos, acosf(x * 0.125f))
CLOSE(atan, atanf(x))
CLOSE(atan2, atan2f(x, y))
CLOSE(sinh, sinhf(x))
CLOSE(cosh, coshf(x))
CLOSE(tanh, tanhf(x))
CLOSE(asinh, asinhf(x))
CLOSE(acosh, acoshf(x + 0.5f))
CLOSE(atanh, atanhf(x * 0.125f))
CLOSE(pow, powf(x, y))
CLOSE(cbrt, cbrtf(x))
CLOSE(rsqrt, rsqrtf(x))
CLOSE(hypot, hypotf(x, y))
CLOSE(erf, erff(x * 0.5f))
CLOSE(erfc, erfcf(x * 0.5f))
CLOSE(tgamma, tgammaf(x))
CLOSE(lgamma, lgammaf(x + 3.0f))
CLOSE(normcdf, normcdff(x - 2.0f))
CLOSE(sigmoid, 1.0f / (1.0f + expf(-x)))
CLOSE(silu, x / (1.0f + expf(-x)))
CLOSE(softplus, log1pf(expf(x)))
CLOSE(gelu_tanh, 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x))))
CLOSE64(exp_f64, exp(x - 2.5))
CLOSE64(log_f64, log(x + 1.0))
CLOSE64(sin_f64, sin(x))
CLOSE64(cos_f64, cos(x * 0.25))
CLOSE64(tanh_f64, tanh(x))
CLOSE64(pow_f64, pow(x, y))
CLOSE64(erf_f64, erf(x * 0.5))
CLOSE64(cbrt_f64, cbrt(x))
CLOSE64(atan_f64, atan(x))
