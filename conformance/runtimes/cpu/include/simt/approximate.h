// Approximate instructions, and the fast functions that HIP's header (clang's __clang_hip_math.h) and CUDA's make of
// them. They are rounded nearly right, so that what a formula loses by its own roundings and range shows; a GPU's own
// error does not. On AMD GPUs "denormals are flushed" ("RDNA3 ISA", "VOP1 Instructions"); CUDA keeps them.
// A launch in an order with "+exact" behind it gets the exact functions instead: whether a wrong answer is right then
// tells whether it is wrong for them.
#pragma once
#pragma GCC system_header

#include "math.h"

namespace simt::approximate {

SIMT_INLINE bool exact() { return __builtin_expect(simt_self->exact_functions, 0); }

SIMT_INLINE float flushed(float x) {
#if !defined(SIMT_CUDA)
  if (__builtin_fabsf(x) < __FLT_MIN__ && !exact()) return __builtin_copysignf(0.0f, x);
#endif
  return x;
}
SIMT_INLINE float stored(double x) { return flushed(static_cast<float>(x)); }
SIMT_INLINE double loaded(float x) { return static_cast<double>(flushed(x)); }

SIMT_INLINE float rcp(float x) { return stored(1.0 / loaded(x)); }
SIMT_INLINE float rsq(float x) { return stored(1.0 / __builtin_sqrt(loaded(x))); }
SIMT_INLINE float sqrt(float x) { return stored(__builtin_sqrt(loaded(x))); }
SIMT_INLINE float exp2(float x) { return stored(::exp2(loaded(x))); }
SIMT_INLINE float log2(float x) { return stored(::log2(loaded(x))); }
/// In turns: of the product with 1 / (2 pi), rounded to float, the fraction is left.
SIMT_INLINE double turns(float x) {
  const double product = static_cast<double>(opaque(x * 0x1.45f306p-3f));
  return product - __builtin_floor(product);
}
SIMT_INLINE float sin(float x) { return exact() ? sinf(x) : static_cast<float>(::sinpi(2 * turns(x))); }
SIMT_INLINE float cos(float x) { return exact() ? cosf(x) : static_cast<float>(::cospi(2 * turns(x))); }
SIMT_INLINE float exp(float x) { return exact() ? expf(x) : exp2(opaque(x * 0x1.715476p+0f)); }
SIMT_INLINE float exp10(float x) { return exact() ? exp10f(x) : exp2(opaque(x * 0x1.a934f0p+1f)); }
SIMT_INLINE float log(float x) { return exact() ? logf(x) : opaque(log2(x) * 0x1.62e430p-1f); }
SIMT_INLINE float log10(float x) { return exact() ? log10f(x) : opaque(log2(x) * 0x1.344136p-2f); }

}  // namespace simt::approximate

// extern "C", because glibc declares internal functions of these names.
#define SIMT_FAST(name, function) \
  extern "C" SIMT_INLINE float name(float x) noexcept(true) { return function(x); }
SIMT_FAST(__expf, simt::approximate::exp)
SIMT_FAST(__exp10f, simt::approximate::exp10)
SIMT_FAST(__log2f, simt::approximate::log2)
SIMT_FAST(__sinf, simt::approximate::sin)
SIMT_FAST(__cosf, simt::approximate::cos)
#if defined(SIMT_CUDA)
SIMT_FAST(__logf, simt::approximate::log)
SIMT_FAST(__log10f, simt::approximate::log10)
SIMT_INLINE float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
SIMT_INLINE float __frsqrt_rn(float x) { return static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(x))); }
#else  // the accurate functions, or the bare instructions
SIMT_FAST(__logf, logf)
SIMT_FAST(__log10f, log10f)
SIMT_INLINE float __fsqrt_rn(float x) { return simt::approximate::sqrt(x); }
SIMT_INLINE float __frsqrt_rn(float x) { return simt::approximate::rsq(x); }
#endif
#undef SIMT_FAST
extern "C" SIMT_INLINE float __tanf(float x) noexcept(true) {
  return simt::approximate::exact() ? tanf(x) : __sinf(x) * simt::approximate::rcp(__cosf(x));
}
extern "C" SIMT_INLINE float __powf(float x, float y) noexcept(true) { return powf(x, y); }
extern "C" SIMT_INLINE void __sincosf(float x, float *s, float *c) noexcept(true) {
  *s = __sinf(x);
  *c = __cosf(x);
}
SIMT_INLINE float __fdividef(float a, float b) { return a / b; }
SIMT_INLINE float fdividef(float a, float b) { return a / b; }
