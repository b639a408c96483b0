// AMD's 16- and 8-bit types for host code: the headers as they are, their device functions callable from the host, and
// the device libraries' functions that they call, defined by what they compute.
#include <stdlib.h>

#include <hip/hip_runtime.h>

#pragma clang force_cuda_host_device begin
#include <hip/amd_detail/hip_fp16_math_fwd.h>
#if __has_include(<hip/hip_bf16.h>)
#include <hip/amd_detail/math_fwd.h>
#endif

typedef _Float16 Two __attribute__((ext_vector_type(2)));
typedef float Floats __attribute__((vector_size(16)));
typedef short Shorts __attribute__((vector_size(16)));

template <int mode>
inline _Float16 rounded(float x) {
  const Shorts halves = __builtin_ia32_vcvtps2ph(Floats{x}, mode);
  return __builtin_bit_cast(_Float16, static_cast<short>(halves[0]));
}
#define EXACT(name)                                                                                  \
  inline float exact_##name(float x) { return __builtin_##name##f(x); }                              \
  inline _Float16 exact_##name(_Float16 x) { return static_cast<_Float16>(__builtin_##name##f(x)); } \
  inline Two exact_##name(Two x) { return Two{exact_##name(x.x), exact_##name(x.y)}; }
EXACT(fabs)
EXACT(floor)
EXACT(ceil)
EXACT(trunc)
EXACT(rint)
EXACT(sqrt)
inline _Float16 exact_rcp(_Float16 x) { return static_cast<_Float16>(1.0f) / x; }
inline Two exact_rcp(Two x) { return Two{exact_rcp(x.x), exact_rcp(x.y)}; }
inline int exact_isnan(_Float16 x) { return x != x; }
inline int exact_isinf(_Float16 x) { return __builtin_isinf(static_cast<float>(x)); }

#define __ocml_fabs_f16 exact_fabs
#define __ocml_fabs_2f16 exact_fabs
#define __ocml_floor_f16 exact_floor
#define __ocml_floor_f32 exact_floor
#define __ocml_floor_2f16 exact_floor
#define __ocml_ceil_f16 exact_ceil
#define __ocml_ceil_f32 exact_ceil
#define __ocml_ceil_2f16 exact_ceil
#define __ocml_trunc_f16 exact_trunc
#define __ocml_trunc_f32 exact_trunc
#define __ocml_trunc_2f16 exact_trunc
#define __ocml_rint_f16 exact_rint
#define __ocml_rint_f32 exact_rint
#define __ocml_rint_2f16 exact_rint
#define __ocml_sqrt_f16 exact_sqrt
#define __ocml_sqrt_f32 exact_sqrt
#define __ocml_sqrt_2f16 exact_sqrt
#define __ocml_isnan_f16 exact_isnan
#define __ocml_isinf_f16 exact_isinf
#define __llvm_amdgcn_rcp_f16 exact_rcp
#define __llvm_amdgcn_rcp_2f16 exact_rcp
#define __ocml_cvtrtn_f16_f32 rounded<1>
#define __ocml_cvtrtp_f16_f32 rounded<2>
#define __ocml_cvtrtz_f16_f32 rounded<3>

// Without the headers' own host functions, which round otherwise than those of the device.
#define __HIPCC_RTC__ 1
#include <hip/hip_bfloat16.h>
#include <hip/hip_fp16.h>
#if __has_include(<hip/hip_bf16.h>)
#include <hip/hip_bf16.h>
#include <hip/hip_fp8.h>
#define HAS_FLOAT8 1
#endif
#undef __HIPCC_RTC__
#pragma clang force_cuda_host_device end

// What libgcc has of clang's __bf16 from release 13 on.
extern "C" __bf16 __truncsfbf2(float x) {
  unsigned bits = __builtin_bit_cast(unsigned, x);
  bits = x != x ? bits | 0x400000 : bits + 0x7fff + (bits >> 16 & 1);
  return __builtin_bit_cast(__bf16, static_cast<unsigned short>(bits >> 16));
}
extern "C" __bf16 __truncdfbf2(double x) {
  const float nearest = static_cast<float>(x);
  unsigned bits = __builtin_bit_cast(unsigned, nearest);
  if (nearest == x || x != x) return __truncsfbf2(nearest);
  bits -= __builtin_fabs(nearest) > __builtin_fabs(x);
  return __truncsfbf2(__builtin_bit_cast(float, bits | 1));  // to odd, so that the second rounding changes nothing
}
