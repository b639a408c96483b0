// Packed instructions: two halves of a register, or two registers.
#include <algorithm>

#include "vector.h"

namespace isa {
namespace {

// Source `n` of one half of the result: the half, and its sign, that op_sel, op_sel_hi, neg and neg_hi choose. An
// inline constant is the low half of its register.
template <class T>
const T *half(Wave &w, const Inst &i, int n, bool high, T *buffer) {
  Inst one = i;
  one.abs = 0;
  one.op_sel = high ? i.op_sel_hi : i.op_sel;
  one.neg = high ? i.neg_hi : i.neg;
  const u16 code = i.src[n];
  if (is_inline(code) && (one.op_sel >> n & 1)) {
    const T above = inline_constant_above<T>(code);
    for (int l = 0; l < lanes; ++l) buffer[l] = above;
    modify(one, n, buffer);
    return buffer;
  }
  return source(w, one, n, buffer);
}

// `f` of as many sources of a lane as it takes.
template <int count, auto f, class T>
T applied(const T *const (&s)[3], int l) {
  if constexpr (count == 2)
    return f(s[0][l], s[1][l]);
  else
    return f(s[0][l], s[1][l], s[2][l]);
}

template <class T, int count, auto f>
void packed_halves(Wave &w, const Inst &i) {
  u32 both[lanes];
  for (int high = 0; high < 2; ++high) {
    T s_[3][lanes], r[lanes];
    const T *s[3] = {};
    for (int n = 0; n < count; ++n) s[n] = half(w, i, n, high, s_[n]);
    for (int l = 0; l < lanes; ++l) r[l] = applied<count, f>(s, l);
    if constexpr (is_float<T>) clamp(i, r);
    for (int l = 0; l < lanes; ++l) {
      const u32 bits = std::bit_cast<u16>(r[l]);
      both[l] = high ? both[l] | bits << 16 : bits;
    }
  }
  put_words(w, w.exec_, i.dst - vgpr, both);
}

// One of two floats of a pair of registers; a constant is the same for both.
const f32 *element(Wave &w, const Inst &i, int n, bool high, f32 *buffer) {
  Inst one = i;
  one.abs = 0;
  one.neg = high ? i.neg_hi : i.neg;
  const bool second = (high ? i.op_sel_hi : i.op_sel) >> n & 1;
  const u16 code = i.src[n];
  if (second && !is_inline(code) && code != literal) one.src[n] = static_cast<u16>(code + 1);
  return source(w, one, n, buffer);
}

template <int count, auto f>
void packed_floats(Wave &w, const Inst &i) {
  f32 r[2][lanes];
  for (int high = 0; high < 2; ++high) {
    f32 s_[3][lanes];
    const f32 *s[3] = {};
    for (int n = 0; n < count; ++n) s[n] = element(w, i, n, high, s_[n]);
    for (int l = 0; l < lanes; ++l) r[high][l] = applied<count, f>(s, l);
    clamp(i, r[high]);
  }
  for (int high = 0; high < 2; ++high)
    put_words(w, w.exec_, i.dst - vgpr + high, reinterpret_cast<const u32 *>(r[high]));
}

// v_pk_mov_b32: the low result from the first source, the high one from the second.
void packed_move(Wave &w, const Inst &i) {
  f32 a_[lanes], b_[lanes], low[lanes];
  Inst plain = i;
  plain.neg = plain.neg_hi = 0;
  const f32 *a = element(w, plain, 0, false, a_);
  const f32 *b = element(w, plain, 1, false, b_);
  std::memcpy(low, a, sizeof low);
  f32 high[lanes];
  std::memcpy(high, b, sizeof high);
  put_words(w, w.exec_, i.dst - vgpr, reinterpret_cast<const u32 *>(low));
  put_words(w, w.exec_, i.dst - vgpr + 1, reinterpret_cast<const u32 *>(high));
}

#define P2(name, T, ...) {name, &packed_halves<T, 2, [](T a, T b) -> T { return static_cast<T>(__VA_ARGS__); }>}
#define P3(name, T, ...) {name, &packed_halves<T, 3, [](T a, T b, T c) -> T { return static_cast<T>(__VA_ARGS__); }>}

constexpr Semantics saturating_packed_rows[] = {
    P2("v_pk_add_u16", u16, saturated<u16>(i32{a} + b)),
    P2("v_pk_sub_u16", u16, saturated<u16>(i32{a} - b)),
    P2("v_pk_add_i16", i16, saturated<i16>(i32{a} + b)),
    P2("v_pk_sub_i16", i16, saturated<i16>(i32{a} - b)),
};

constexpr Semantics packed_rows[] = {
    P2("v_pk_add_f16", f16, a + b),
    P2("v_pk_mul_f16", f16, a *b),
    P3("v_pk_fma_f16", f16, fused(a, b, c)),
    P2("v_pk_max_f16", f16, maximum(a, b)),
    P2("v_pk_min_f16", f16, minimum(a, b)),
    P2("v_pk_max_num_f16", f16, maximum_number(a, b)),
    P2("v_pk_min_num_f16", f16, minimum_number(a, b)),
    P2("v_pk_maximum_f16", f16, ieee_maximum(a, b)),
    P2("v_pk_minimum_f16", f16, ieee_minimum(a, b)),
    P3("v_pk_maximum3_f16", f16, ieee_maximum(ieee_maximum(a, b), c)),
    P3("v_pk_minimum3_f16", f16, ieee_minimum(ieee_minimum(a, b), c)),
    P2("v_pk_add_u16", u16, a + b),
    P2("v_pk_sub_u16", u16, a - b),
    P2("v_pk_add_i16", i16, a + b),
    P2("v_pk_sub_i16", i16, a - b),
    P2("v_pk_mul_lo_u16", u16, u32{a} * b),
    P3("v_pk_mad_u16", u16, u32{a} * b + c),
    P3("v_pk_mad_i16", i16, a *b + c),
    P2("v_pk_lshlrev_b16", u16, b << (a & 15)),
    P2("v_pk_lshrrev_b16", u16, b >> (a & 15)),
    P2("v_pk_ashrrev_i16", i16, b >> (a & 15)),
    P2("v_pk_max_u16", u16, std::max(a, b)),
    P2("v_pk_min_u16", u16, std::min(a, b)),
    P2("v_pk_max_i16", i16, std::max(a, b)),
    P2("v_pk_min_i16", i16, std::min(a, b)),
    {"v_pk_add_f32", &packed_floats<2, [](f32 a, f32 b) { return a + b; }>},
    {"v_pk_mul_f32", &packed_floats<2, [](f32 a, f32 b) { return a * b; }>},
    {"v_pk_fma_f32", &packed_floats<3, [](f32 a, f32 b, f32 c) { return fused(a, b, c); }>},
    {"v_pk_mov_b32", &packed_move},
};

}  // namespace

Run find_packed(const char *name) { return find_row(packed_rows, name); }
Run find_saturating_packed(const char *name) { return find_row(saturating_packed_rows, name); }

}  // namespace isa

#undef P2
#undef P3
