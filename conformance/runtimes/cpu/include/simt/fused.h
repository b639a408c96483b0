// 16-bit products of CUDA, and of __half in HIP: the compiler fuses a * b + c into one operation with one rounding.
// In CUDA the operators compile to mul and add without .rn; in HIP they are those of _Float16, which clang contracts
// (-ffp-contract=fast-honor-pragmas). A product therefore remembers its factors until a sum takes it.
//
// A Product is a T with the rounded value, usable wherever a T is. Template arguments that are deduced from
// it are the exception: libhiprtc compiles a source that fails for that once more with SIMT_PLAIN_PRODUCTS.
#pragma once
#pragma GCC system_header

#include "small_float.h"

#if !defined(SIMT_PLAIN_PRODUCTS)
#define SIMT_FUSED_PRODUCTS 1

namespace simt {
template <class T>
struct Product : T {
  T left, right;
  SIMT_INLINE Product(const T &rounded, const T &left_, const T &right_) : T(rounded), left(left_), right(right_) {}
};
}  // namespace simt

// Of two products the first is fused, as with float.
#define SIMT_FUSED_OPERATORS(T)                                                                                 \
  SIMT_INLINE T operator+(const simt::Product<T> &p, const T &c) { return __hfma(p.left, p.right, c); }         \
  SIMT_INLINE T operator+(const T &c, const simt::Product<T> &p) { return __hfma(p.left, p.right, c); }         \
  SIMT_INLINE T operator+(const simt::Product<T> &p, const simt::Product<T> &q) {                               \
    return __hfma(p.left, p.right, static_cast<const T &>(q));                                                  \
  }                                                                                                             \
  SIMT_INLINE T operator-(const simt::Product<T> &p, const T &c) { return __hfma(p.left, p.right, __hneg(c)); } \
  SIMT_INLINE T operator-(const T &c, const simt::Product<T> &p) { return __hfma(__hneg(p.left), p.right, c); } \
  SIMT_INLINE T operator-(const simt::Product<T> &p, const simt::Product<T> &q) {                               \
    return __hfma(p.left, p.right, __hneg(q));                                                                  \
  }                                                                                                             \
  SIMT_INLINE T &operator+=(T &a, const simt::Product<T> &p) { return a = __hfma(p.left, p.right, a); }         \
  SIMT_INLINE T &operator-=(T &a, const simt::Product<T> &p) { return a = __hfma(__hneg(p.left), p.right, a); }
#endif
