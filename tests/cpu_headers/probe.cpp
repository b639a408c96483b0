// Array forms of the kernel headers' functions, for numpy. Compiled with simt/cuda_prelude.h in front, as CUDA kernels
// are: CUDA has all names that HIP has, and more.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "simt/float8.h"
#include "simt/hip_bfloat16.h"

// The runtime's side: nothing here waits or fails, and no thread is switched.
extern "C" {
static simt_context block;
__thread simt_context *simt_self = &block;
void simt_barrier(const char *, int) {}
unsigned long simt_wave(int, unsigned long, unsigned long value, int, const char *, int) { return value; }
void simt_trap(const char *, const char *, int) { __builtin_trap(); }
void simt_print(const char *, unsigned long) {}
void simt_next(void) {}
void simt_out_of_bounds(const simt_bounds_check *, unsigned long) { __builtin_trap(); }
}

#define EXPORT extern "C" __attribute__((visibility("default"))) void

// out[i] = expression of a[i], for n elements.
#define UNARY(name, From, To, expression)        \
  EXPORT name(long n, const From *in, To *out) { \
    for (long i = 0; i < n; ++i) {               \
      From a = in[i];                            \
      out[i] = expression;                       \
    }                                            \
  }
#define BINARY(name, From, To, expression)                            \
  EXPORT name(long n, const From *left, const From *right, To *out) { \
    for (long i = 0; i < n; ++i) {                                    \
      From a = left[i], b = right[i];                                 \
      out[i] = expression;                                            \
    }                                                                 \
  }
#define TERNARY(name, From, To, expression)                                                \
  EXPORT name(long n, const From *first, const From *second, const From *third, To *out) { \
    for (long i = 0; i < n; ++i) {                                                         \
      From a = first[i], b = second[i], c = third[i];                                      \
      out[i] = expression;                                                                 \
    }                                                                                      \
  }

// ---- 16 bits, by bit pattern
#define SIXTEEN(prefix, T, word)                                                                 \
  UNARY(prefix##_to_float, T, float, static_cast<float>(a))                                      \
  UNARY(prefix##_from_float, float, T, T(a))                                                     \
  UNARY(prefix##_from_double, double, T, T(a))                                                   \
  UNARY(prefix##_from_longlong, long long, T, T(a))                                              \
  UNARY(prefix##_to_int, T, int, static_cast<int>(a))                                            \
  UNARY(prefix##_neg, T, T, -a)                                                                  \
  UNARY(prefix##_abs, T, T, __habs(a))                                                           \
  UNARY(prefix##_sqrt, T, T, hsqrt(a))                                                           \
  BINARY(prefix##_add, T, T, a + b)                                                              \
  BINARY(prefix##_sub, T, T, a - b)                                                              \
  BINARY(prefix##_mul, T, T, a *b)                                                               \
  BINARY(prefix##_div, T, T, a / b)                                                              \
  BINARY(prefix##_max, T, T, __hmax(a, b))                                                       \
  BINARY(prefix##_min, T, T, __hmin(a, b))                                                       \
  BINARY(prefix##_max_nan, T, T, __hmax_nan(a, b))                                               \
  BINARY(prefix##_min_nan, T, T, __hmin_nan(a, b))                                               \
  BINARY(prefix##_compare, T, int,                                                               \
         (a < b) | (a <= b) << 1 | (a > b) << 2 | (a >= b) << 3 | (a == b) << 4 | (a != b) << 5) \
  TERNARY(prefix##_fma, T, T, __hfma(a, b, c))
SIXTEEN(f16, __half, short)
SIXTEEN(bf16, __hip_bfloat16, short)
UNARY(f16_from_float_rz, float, __half, __float2half_rz(a))
UNARY(f16_from_float_rd, float, __half, __float2half_rd(a))
UNARY(f16_from_float_ru, float, __half, __float2half_ru(a))
UNARY(old_bf16_from_float, float, hip_bfloat16, hip_bfloat16(a))
BINARY(old_bf16_compare, hip_bfloat16, int,
       (a < b) | (a <= b) << 1 | (a > b) << 2 | (a >= b) << 3 | (a == b) << 4 | (a != b) << 5)
UNARY(native_f16_from_double, double, _Float16, static_cast<_Float16>(a))
#if defined(__clang__)
UNARY(native_bf16_from_float, float, __bf16, static_cast<__bf16>(a))
UNARY(native_bf16_from_double, double, __bf16, static_cast<__bf16>(a))
BINARY(native_f16_mul_add, _Float16, _Float16, a *b + a)
#endif

// ---- 8 bits
#define EIGHT(prefix, T, interpretation)                    \
  UNARY(prefix##_to_float, T, float, static_cast<float>(a)) \
  UNARY(prefix##_from_double, double, T, T(a))              \
  UNARY(prefix##_from_float, float, T, T(a))                \
  UNARY(prefix##_from_half, __half, T, T(a))                \
  UNARY(prefix##_from_double_nosat, double, unsigned char, __hip_cvt_double_to_fp8(a, __HIP_NOSAT, interpretation))
EIGHT(e4m3, __hip_fp8_e4m3, __HIP_E4M3)
EIGHT(e5m2, __hip_fp8_e5m2, __HIP_E5M2)
EIGHT(e4m3_fnuz, __hip_fp8_e4m3_fnuz, __HIP_E4M3_FNUZ)
EIGHT(e5m2_fnuz, __hip_fp8_e5m2_fnuz, __HIP_E5M2_FNUZ)

// ---- integers and float maths
UNARY(popc, unsigned, int, __popc(a))
UNARY(clz, int, int, __clz(a))
UNARY(ffs, int, int, __ffs(a))
UNARY(brev, unsigned, unsigned, __brev(a))
BINARY(mul24, int, int, __mul24(a, b))
BINARY(umulhi, unsigned, unsigned, __umulhi(a, b))
BINARY(mulhi, int, int, __mulhi(a, b))
BINARY(vsubss4, unsigned, unsigned, __vsubss4(a, b))
TERNARY(dp4a, int, int, __dp4a(a, b, c))
TERNARY(udp4a, unsigned, unsigned, __dp4a(a, b, c))
TERNARY(sdot4_clamped, int, int, __builtin_amdgcn_sdot4(a, b, c, true))
TERNARY(byte_perm, unsigned, unsigned, __byte_perm(a, b, c))
TERNARY(funnelshift_r, unsigned, unsigned, __funnelshift_r(a, b, c))
UNARY(float_to_int_rn, float, int, __float2int_rn(a))
UNARY(float_to_int_rz, float, int, __float2int_rz(a))
UNARY(float_to_uint_rz, float, unsigned, __float2uint_rz(a))
UNARY(cast_float_to_int, float, int, static_cast<int>(a))
UNARY(double_to_longlong_rz, double, long long, __double2ll_rz(a))
UNARY(int_to_float_rz, int, float, __int2float_rz(a))
UNARY(double_to_float_rd, double, float, __double2float_rd(a))
UNARY(double_to_float_ru, double, float, __double2float_ru(a))
UNARY(normcdf_f32, float, float, normcdf(a))
UNARY(erfcx_f64, double, double, erfcx(a))
UNARY(exp_f32, float, float, exp(a))
BINARY(max_f32, float, float, max(a, b))
BINARY(min_f32, float, float, min(a, b))
BINARY(max_i32, int, int, max(a, b))
BINARY(mul_then_add, float, float, __fadd_rn(__fmul_rn(a, b), a))

// ---- atomics
BINARY(atomic_add_f32, float, float, (atomicAdd(&a, b), a))
BINARY(atomic_max_i32, int, int, (atomicMax(&a, b), a))
BINARY(atomic_min_f32, float, float, (atomicMin(&a, b), a))
BINARY(atomic_inc_u32, unsigned, unsigned, (atomicInc(&a, b), a))
BINARY(atomic_dec_u32, unsigned, unsigned, (atomicDec(&a, b), a))
BINARY(atomic_cas_u32, unsigned, unsigned, (atomicCAS(&a, b, 7u), a))
BINARY(atomic_exch_f64, double, double, (atomicExch(&a, b), a))

// ---- which lane a shuffle reads: in = {lane, operand, width}
TERNARY(source_index, int, int, simt::ByIndex::source(a, b, c))
TERNARY(source_up, int, int, simt::Up::source(a, b, c))
TERNARY(source_down, int, int, simt::Down::source(a, b, c))
TERNARY(source_xor, int, int, simt::Xor::source(a, b, c))

// ---- layout: size and alignment of every vector type, in the order of headers/test_vectors
template <class T>
void layout(long *&out) {
  *out++ = sizeof(T);
  *out++ = alignof(T);
}
template <class... T>
void layouts(long *out) {
  (layout<T>(out), ...);
}
EXPORT vector_layouts(long *out) {
  layouts<char1, char2, char3, char4, short2, short4, int2, int3, int4, longlong2, longlong4, float1, float2, float3,
          float4, double2, double3, double4, __half, __half2, __hip_bfloat16, __hip_bfloat162, __hip_fp8_e4m3, dim3>(
      out);
}
template <class T>
constexpr bool plain = __is_trivially_copyable(T) && __is_trivial(T);
static_assert(plain<__half> && plain<__half2> && plain<__hip_bfloat16> && plain<__hip_bfloat162> &&
                  plain<__hip_fp8_e4m3> && plain<float4> && plain<hip_bfloat16>,
              "these are shared memory and kernel arguments");
