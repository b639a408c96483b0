// Instructions of the vector unit made of functions on one lane.
#pragma once

#include "operands.h"

namespace isa {

// One to three sources of type A, B, C, a result of type R in every active lane.
template <class R, class A, auto f, bool keeps = false>
void unary(Wave &w, const Inst &i) {
  alignas(64) A a_[lanes];
  alignas(64) R r[lanes];
  const A *a = source(w, i, 0, a_);
  for (int l = 0; l < lanes; ++l) r[l] = f(a[l]);
  put<R, keeps>(w, i, r);
}
template <class R, class A, class B, auto f, bool keeps = false>
void binary(Wave &w, const Inst &i) {
  alignas(64) A a_[lanes];
  alignas(64) B b_[lanes];
  alignas(64) R r[lanes];
  const A *a = source(w, i, 0, a_);
  const B *b = source(w, i, 1, b_);
  for (int l = 0; l < lanes; ++l) r[l] = f(a[l], b[l]);
  put<R, keeps>(w, i, r);
}
template <class R, class A, class B, class C, auto f, bool keeps = false>
[[gnu::always_inline]] inline void ternary_with(Wave &w, const Inst &i, u16 third) {
  alignas(64) A a_[lanes];
  alignas(64) B b_[lanes];
  alignas(64) C c_[lanes];
  alignas(64) R r[lanes];
  const A *a = source(w, i, 0, a_);
  const B *b = source(w, i, 1, b_);
  const C *c = operand(w, i, 2, third, c_);
  for (int l = 0; l < lanes; ++l) r[l] = f(a[l], b[l], c[l]);
  put<R, keeps>(w, i, r);
}
template <class R, class A, class B, class C, auto f, bool keeps = false>
void ternary(Wave &w, const Inst &i) {
  ternary_with<R, A, B, C, f, keeps>(w, i, i.src[2]);
}

// The destination is the third source: v_fmac, v_dot4c.
template <class R, class A, class B, auto f, bool keeps = false>
void accumulate(Wave &w, const Inst &i) {
  ternary_with<R, A, B, R, f, keeps>(w, i, i.dst);
}

// Comparisons write a bit for each lane, 0 for lanes that are not active.
template <class A, class B, auto f, bool to_exec>
void compare(Wave &w, const Inst &i) {
  alignas(64) A a_[lanes];
  alignas(64) B b_[lanes];
  alignas(64) u8 r[lanes];
  const A *a = source(w, i, 0, a_);
  const B *b = source(w, i, 1, b_);
  for (int l = 0; l < lanes; ++l) r[l] = f(a[l], b[l]) ? 1 : 0;
  const u64 bits = packed(r) & writable(w, i);
  w.set_mask(i.sdst, bits);
  if (to_exec) w.exec_ = bits;
}

}  // namespace isa
