// Intrinsics of LLVM for AMD GPUs, for HIP sources that name one by an asm label: libhiprtc points the label here.
#pragma once
#pragma GCC system_header

#include "amdgcn.h"

extern "C" {
#define SIMT_LABEL(name, suffix, T, expression) \
  SIMT_INLINE T simt_llvm_amdgcn_##name##_##suffix(T x) { return expression; }
SIMT_LABEL(rcp, f32, float, __builtin_amdgcn_rcpf(x))
SIMT_LABEL(rcp, f64, double, __builtin_amdgcn_rcp(x))
SIMT_LABEL(rsq, f32, float, __builtin_amdgcn_rsqf(x))
SIMT_LABEL(rsq, f64, double, __builtin_amdgcn_rsq(x))
SIMT_LABEL(sqrt, f32, float, __builtin_amdgcn_sqrtf(x))
SIMT_LABEL(sqrt, f64, double, __builtin_amdgcn_sqrt(x))
SIMT_LABEL(exp2, f32, float, __builtin_amdgcn_exp2f(x))
SIMT_LABEL(log, f32, float, __builtin_amdgcn_logf(x))
SIMT_LABEL(sin, f32, float, __builtin_amdgcn_sinf(x))
SIMT_LABEL(cos, f32, float, __builtin_amdgcn_cosf(x))
SIMT_LABEL(fract, f32, float, __builtin_amdgcn_fractf(x))
#undef SIMT_LABEL
SIMT_INLINE float simt_llvm_amdgcn_fmed3_f32(float a, float b, float c) { return __builtin_amdgcn_fmed3f(a, b, c); }
SIMT_INLINE unsigned simt_llvm_amdgcn_ubfe_i32(unsigned x, unsigned offset, unsigned width) {
  return __builtin_amdgcn_ubfe(x, offset, width);
}
SIMT_INLINE int simt_llvm_amdgcn_sbfe_i32(int x, unsigned offset, unsigned width) {
  return __builtin_amdgcn_sbfe(x, offset, width);
}
SIMT_INLINE int simt_llvm_amdgcn_mul_i24(int a, int b) { return ::__mul24(a, b); }
SIMT_INLINE unsigned simt_llvm_amdgcn_mul_u24(unsigned a, unsigned b) { return ::__umul24(a, b); }
SIMT_INLINE unsigned simt_llvm_amdgcn_perm(unsigned a, unsigned b, unsigned select) {
  return __builtin_amdgcn_perm(a, b, select);
}
SIMT_INLINE unsigned simt_llvm_amdgcn_alignbit(unsigned high, unsigned low, unsigned shift) {
  return __builtin_amdgcn_alignbit(high, low, shift);
}
SIMT_INLINE int simt_llvm_amdgcn_sdot4(int a, int b, int c, bool clamp) {
  return __builtin_amdgcn_sdot4(a, b, c, clamp);
}
SIMT_INLINE unsigned simt_llvm_amdgcn_udot4(unsigned a, unsigned b, unsigned c, bool clamp) {
  return __builtin_amdgcn_udot4(a, b, c, clamp);
}
}
