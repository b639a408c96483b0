// Floating point instructions of the vector unit.
#include <algorithm>

#include "vector.h"

namespace isa {
namespace {

// In turns, not radians: exact at their quarters.
f64 sin_of(f64 x) {
  f64 r = x - std::nearbyint(x);
  if (std::fabs(r) > 0.25) r = std::copysign(0.5, r) - r;
  return std::sin(r * 6.283185307179586);
}
f64 cos_of(f64 x) { return std::sin((0.25 - std::fabs(x - std::nearbyint(x))) * 6.283185307179586); }

// v_sin and v_cos. Vega and CDNA take up to 256 turns, and give `outside` for more ("Vega" ISA document, V_SIN_F32;
// LLVM reduces arguments for older targets only). tinygrad's tests of RDNA 3 have no such limit.
template <class T, auto f, int outside>
void turned(Wave &w, const Inst &i) {
  T a_[lanes], r[lanes];
  const T *a = source(w, i, 0, a_);
  const f64 most = w.launch->code->generation == 9 ? 256 : std::numeric_limits<f64>::max();
  for (int l = 0; l < lanes; ++l) {
    const f64 x = static_cast<f64>(a[l]);
    r[l] = std::fabs(x) > most && !std::isinf(x) ? T{outside} : static_cast<T>(static_cast<f32>(f(x)));
  }
  put(w, i, r);
}

// x * 2^e, exact: `x` is an f16 or f32, of which more than 2^500 times as much is infinite, and less than 2^-500 is 0.
f64 scaled(f64 x, i32 e) { return x * std::bit_cast<f64>(static_cast<u64>(1023 + std::clamp(e, -500, 500)) << 52); }

template <class T>
void div_scale(Wave &w, const Inst &i) {
  T a_[lanes], b_[lanes], c_[lanes], r[lanes];
  u8 fixes[lanes];
  const T *a = source(w, i, 0, a_), *b = source(w, i, 1, b_), *c = source(w, i, 2, c_);
  for (int l = 0; l < lanes; ++l) {
    bool fix;
    r[l] = division_scale(a[l], b[l], c[l], fix);
    fixes[l] = fix;
  }
  const u64 bits = packed(fixes) & w.exec_;
  put(w, i, r);
  w.set_mask(i.sdst, bits);
}

template <class T>
void div_fmas(Wave &w, const Inst &i) {
  T a_[lanes], b_[lanes], c_[lanes], r[lanes];
  const T *a = source(w, i, 0, a_), *b = source(w, i, 1, b_), *c = source(w, i, 2, c_);
  for (int l = 0; l < lanes; ++l) r[l] = fused(a[l], b[l], c[l]);
  const u64 fixes = w.vcc_mask() & w.exec_;
  if (fixes)
    for (int l = 0; l < lanes; ++l)
      if (fixes >> l & 1) r[l] = division_fmas(a[l], b[l], c[l]);
  put(w, i, r);
}

// v_fma_mix: each source is a float, or one half of a register as op_sel_hi and op_sel say; neg_hi is its absolute
// value.
void mix(Wave &w, const Inst &i, f32 *r) {
  Inst plain = i;
  plain.neg = plain.abs = 0;
  alignas(64) f32 s_[3][lanes];
  const f32 *s[3];
  for (int n = 0; n < 3; ++n) {
    if (i.op_sel_hi >> n & 1) {
      alignas(64) f16 h_[lanes];
      const f16 *h = source(w, plain, n, h_);
      for (int l = 0; l < lanes; ++l) s_[n][l] = h[l];
      s[n] = s_[n];
    } else {
      s[n] = source(w, plain, n, s_[n]);
    }
    const bool positive = i.neg_hi >> n & 1, flips = i.neg >> n & 1;
    if (!positive && !flips) continue;
    for (int l = 0; l < lanes; ++l) {
      const f32 x = positive ? std::fabs(s[n][l]) : s[n][l];
      s_[n][l] = flips ? -x : x;
    }
    s[n] = s_[n];
  }
  for (int l = 0; l < lanes; ++l) r[l] = fused(s[0][l], s[1][l], s[2][l]);
}
void fma_mix(Wave &w, const Inst &i) {
  f32 r[lanes];
  mix(w, i, r);
  put(w, i, r);
}
// The fused result is a float, which is rounded to f16.
template <bool high>
void fma_mix_half(Wave &w, const Inst &i) {
  f32 r[lanes];
  mix(w, i, r);
  f16 h[lanes];
  for (int l = 0; l < lanes; ++l) h[l] = static_cast<f16>(r[l]);
  Inst to = i;
  to.op_sel = high ? 8 : 0;
  put<f16, true>(w, to, h);
}

// v_trig_preop_f64: 53 of the first 1201 bits of 2/pi, from bit 53 * segment on, as ocml's reduction of large
// arguments wants them.
f64 trig_preop(f64 x, u32 segment) {
  static constexpr u64 words[] = {
      0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
      0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
      0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
      0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b0000,
  };
  const int e = biased_exponent(x);
  int shift = static_cast<int>(segment & 31) * 53;
  if (e > 1077) shift += e - 1077;
  const auto word = [&](int n) { return n < 19 ? words[n] : u64{0}; };
  const int at = shift / 64, bit = shift % 64;
  const u64 top = bit ? word(at) << bit | word(at + 1) >> (64 - bit) : word(at);
  const int scale = (e >= 1968 ? 128 : 0) - 53 - shift;
  return std::ldexp(static_cast<f64>(top >> 11), scale);
}

u32 joined(i32 low, i32 high) { return (static_cast<u32>(low) & 0xffff) | static_cast<u32>(high) << 16; }
u32 half_bits(f32 x) { return bits_of(static_cast<f16>(x)); }
#define F1(name, T, ...) {name, &unary<T, T, [](T a) -> T { return __VA_ARGS__; }>}
#define F2(name, T, ...) {name, &binary<T, T, T, [](T a, T b) -> T { return __VA_ARGS__; }>}
#define F3(name, T, keeps, ...) {name, &ternary<T, T, T, T, [](T a, T b, T c) -> T { return __VA_ARGS__; }, keeps>}
#define ROUNDINGS(type, T, W)                                                                                       \
  F1("v_trunc_" type, T, static_cast<T>(std::trunc(W(a)))), F1("v_ceil_" type, T, static_cast<T>(std::ceil(W(a)))), \
      F1("v_floor_" type, T, static_cast<T>(std::floor(W(a)))),                                                     \
      F1("v_rndne_" type, T, static_cast<T>(std::nearbyint(W(a))))
#define ARITHMETIC(type, T)                                                                 \
  F2("v_add_" type, T, static_cast<T>(a + b)), F2("v_mul_" type, T, static_cast<T>(a * b)), \
      F2("v_max_" type, T, maximum(a, b)), F2("v_min_" type, T, minimum(a, b)),             \
      F2("v_sub_" type, T, static_cast<T>(a - b)), F2("v_subrev_" type, T, static_cast<T>(b - a))

// One after the other: the greatest, the least and the median of three, and what holds a number between two.
#define MIXED(type, T, keeps)                                                                                       \
  F3("v_max3_" type, T, keeps, maximum(maximum(a, b), c)), F3("v_min3_" type, T, keeps, minimum(minimum(a, b), c)), \
      F3("v_max3_num_" type, T, keeps, maximum_number(maximum_number(a, b), c)),                                    \
      F3("v_min3_num_" type, T, keeps, minimum_number(minimum_number(a, b), c)),                                    \
      F3("v_med3_" type, T, keeps, median<T, minimum<T>, maximum<T>>(a, b, c)),                                     \
      F3("v_med3_num_" type, T, keeps, median<T, minimum_number<T>, maximum_number<T>>(a, b, c)),                   \
      F3("v_maxmin_" type, T, keeps, minimum(maximum(a, b), c)),                                                    \
      F3("v_minmax_" type, T, keeps, maximum(minimum(a, b), c)),                                                    \
      F3("v_maxmin_num_" type, T, keeps, minimum_number(maximum_number(a, b), c)),                                  \
      F3("v_minmax_num_" type, T, keeps, maximum_number(minimum_number(a, b), c))
#define IEEE_EXTREMES(type, T)                                                                \
  F2("v_maximum_" type, T, ieee_maximum(a, b)), F2("v_minimum_" type, T, ieee_minimum(a, b)), \
      F3("v_maximum3_" type, T, true, ieee_maximum(ieee_maximum(a, b), c)),                   \
      F3("v_minimum3_" type, T, true, ieee_minimum(ieee_minimum(a, b), c)),                   \
      F3("v_maximumminimum_" type, T, true, ieee_minimum(ieee_maximum(a, b), c)),             \
      F3("v_minimummaximum_" type, T, true, ieee_maximum(ieee_minimum(a, b), c))
#define NUMBERS(type, T) F2("v_max_num_" type, T, maximum_number(a, b)), F2("v_min_num_" type, T, minimum_number(a, b))

constexpr Semantics float_rows[] = {
    ARITHMETIC("f32", f32),
    ARITHMETIC("f16", f16),
    ARITHMETIC("f64", f64),
    ROUNDINGS("f32", f32, f32),
    ROUNDINGS("f16", f16, f32),
    ROUNDINGS("f64", f64, f64),
    F2("v_mul_legacy_f32", f32, a == 0 || b == 0 ? 0.0f : a * b),
    F3("v_fma_f32", f32, false, fused(a, b, c)),
    F3("v_fma_f64", f64, false, fused(a, b, c)),
    F3("v_fma_f16", f16, true, fused(a, b, c)),
    F3("v_fma_legacy_f16", f16, false, fused(a, b, c)),
    NUMBERS("f16", f16),
    NUMBERS("f32", f32),
    NUMBERS("f64", f64),
    MIXED("f32", f32, false),
    MIXED("f16", f16, true),
    IEEE_EXTREMES("f32", f32),
    IEEE_EXTREMES("f16", f16),
    F2("v_maximum_f64", f64, ieee_maximum(a, b)),
    F2("v_minimum_f64", f64, ieee_minimum(a, b)),
    {"v_fmac_f32", &accumulate<f32, f32, f32, [](f32 a, f32 b, f32 c) { return fused(a, b, c); }>},
    {"v_fmac_f64", &accumulate<f64, f64, f64, [](f64 a, f64 b, f64 c) { return fused(a, b, c); }>},
    {"v_fmac_f16", &accumulate<f16, f16, f16, [](f16 a, f16 b, f16 c) { return fused(a, b, c); }, true>},
    {"v_mac_f32", &accumulate<f32, f32, f32, [](f32 a, f32 b, f32 c) { return unfused(a, b, c); }>},
    F3("v_mad_f32", f32, false, unfused(a, b, c)),
    F3("v_madak_f32", f32, false, unfused(a, b, c)),
    F3("v_madmk_f32", f32, false, unfused(a, b, c)),
    F3("v_fmaak_f32", f32, false, fused(a, b, c)),
    F3("v_fmamk_f32", f32, false, fused(a, b, c)),
    F3("v_fmaak_f16", f16, true, fused(a, b, c)),
    F3("v_fmamk_f16", f16, true, fused(a, b, c)),
    {"v_sin_f32", &turned<f32, sin_of, 0>},
    {"v_cos_f32", &turned<f32, cos_of, 1>},
    {"v_sin_f16", &turned<f16, sin_of, 0>},
    {"v_cos_f16", &turned<f16, cos_of, 1>},
    F1("v_fract_f32", f32, fraction(a)),
    F1("v_fract_f64", f64, fraction(a)),
    F1("v_fract_f16", f16, fraction(a)),
    F1("v_frexp_mant_f32", f32, mantissa_of(a)),
    F1("v_frexp_mant_f64", f64, mantissa_of(a)),
    F1("v_frexp_mant_f16", f16, static_cast<f16>(mantissa_of(static_cast<f32>(a)))),
    {"v_frexp_exp_i16_f16", &unary<i16, f16, [](f16 a) { return static_cast<i16>(exponent_of(static_cast<f32>(a))); }>},
    {"v_frexp_exp_i32_f32", &unary<i32, f32, [](f32 a) { return exponent_of(a); }>},
    {"v_frexp_exp_i32_f64", &unary<i32, f64, [](f64 a) { return exponent_of(a); }>},
    {"v_ldexp_f32", &binary<f32, f32, i32, [](f32 a, i32 b) { return static_cast<f32>(scaled(a, b)); }>},
    {"v_ldexp_f64", &binary<f64, f64, i32, [](f64 a, i32 b) { return std::ldexp(a, b); }>},
    {"v_ldexp_f16", &binary<f16, f16, i16, [](f16 a, i16 b) { return half_of(scaled(static_cast<f64>(a), b)); }>},
    {"v_div_scale_f32", &div_scale<f32>},
    {"v_div_scale_f64", &div_scale<f64>},
    {"v_div_fmas_f32", &div_fmas<f32>},
    {"v_div_fmas_f64", &div_fmas<f64>},
    F3("v_div_fixup_f32", f32, false, division_fixup(a, b, c)),
    F3("v_div_fixup_f64", f64, false, division_fixup(a, b, c)),
    F3("v_div_fixup_f16", f16, true, division_fixup(a, b, c)),
    {"v_trig_preop_f64", &binary<f64, f64, u32, [](f64 a, u32 b) { return trig_preop(a, b); }>},
    {"v_fma_mix_f32", &fma_mix},
    {"v_fma_mixlo_f16", &fma_mix_half<false>},
    {"v_fma_mixhi_f16", &fma_mix_half<true>},
    {"v_cvt_pkrtz_f16_f32",
     &binary<u32, f32, f32, [](f32 a, f32 b) { return cut_half_bits(a) | cut_half_bits(b) << 16; }>},
    {"v_cvt_pk_f16_f32", &binary<u32, f32, f32, [](f32 a, f32 b) { return half_bits(a) | half_bits(b) << 16; }>},
    {"v_cvt_pk_bf16_f32", &binary<u32, f32, f32, [](f32 a, f32 b) { return brain_float(a) | brain_float(b) << 16; }>},
    {"v_cvt_f16_f32", &unary<f16, f32, [](f32 a) { return static_cast<f16>(a); }>},
    {"v_cvt_f32_f16", &unary<f32, f16, [](f16 a) { return static_cast<f32>(a); }>},
    {"v_cvt_f32_f64", &unary<f32, f64, [](f64 a) { return static_cast<f32>(a); }>},
    {"v_cvt_f64_f32", &unary<f64, f32, [](f32 a) { return static_cast<f64>(a); }>},
    {"v_cvt_f32_i32", &unary<f32, i32, [](i32 a) { return static_cast<f32>(a); }>},
    {"v_cvt_f32_u32", &unary<f32, u32, [](u32 a) { return static_cast<f32>(a); }>},
    {"v_cvt_f64_i32", &unary<f64, i32, [](i32 a) { return static_cast<f64>(a); }>},
    {"v_cvt_f64_u32", &unary<f64, u32, [](u32 a) { return static_cast<f64>(a); }>},
    {"v_cvt_f16_u16", &unary<f16, u16, [](u16 a) { return static_cast<f16>(static_cast<f32>(a)); }>},
    {"v_cvt_f16_i16", &unary<f16, i16, [](i16 a) { return static_cast<f16>(static_cast<f32>(a)); }>},
    {"v_cvt_i32_f32", &unary<i32, f32, [](f32 a) { return to_integer<i32>(a); }>},
    {"v_cvt_u32_f32", &unary<u32, f32, [](f32 a) { return to_integer<u32>(a); }>},
    {"v_cvt_i32_f64", &unary<i32, f64, [](f64 a) { return to_integer<i32>(a); }>},
    {"v_cvt_u32_f64", &unary<u32, f64, [](f64 a) { return to_integer<u32>(a); }>},
    {"v_cvt_i16_f16", &unary<i16, f16, [](f16 a) { return to_integer<i16>(static_cast<f32>(a)); }>},
    {"v_cvt_u16_f16", &unary<u16, f16, [](f16 a) { return to_integer<u16>(static_cast<f32>(a)); }>},
    {"v_cvt_flr_i32_f32", &unary<i32, f32, [](f32 a) { return to_integer<i32>(std::floor(a)); }>},
    {"v_cvt_rpi_i32_f32", &unary<i32, f32, [](f32 a) { return to_integer<i32>(std::floor(a + 0.5f)); }>},
    {"v_cvt_off_f32_i4",
     &unary<f32, u32, [](u32 a) { return static_cast<f32>(static_cast<i32>((a & 15) ^ 8) - 8) / 16; }>},
    {"v_cvt_pk_i16_f32",
     &binary<u32, f32, f32, [](f32 a, f32 b) { return joined(to_integer<i16>(a), to_integer<i16>(b)); }>},
    {"v_cvt_pk_u16_f32",
     &binary<u32, f32, f32, [](f32 a, f32 b) { return joined(to_integer<u16>(a), to_integer<u16>(b)); }>},
    {"v_cvt_pk_u8_f32", &ternary<u32, f32, u32, u32,
                                 [](f32 a, u32 b, u32 c) {
                                   const u32 at = 8 * (b & 3), byte = std::min(to_integer<u32>(a), 255u);
                                   return (c & ~(255u << at)) | byte << at;
                                 }>},
    {"v_cvt_f32_ubyte0", &unary<f32, u32, [](u32 a) { return static_cast<f32>(a & 255); }>},
    {"v_cvt_f32_ubyte1", &unary<f32, u32, [](u32 a) { return static_cast<f32>(a >> 8 & 255); }>},
    {"v_cvt_f32_ubyte2", &unary<f32, u32, [](u32 a) { return static_cast<f32>(a >> 16 & 255); }>},
    {"v_cvt_f32_ubyte3", &unary<f32, u32, [](u32 a) { return static_cast<f32>(a >> 24); }>},
};

}  // namespace

Run find_float(const char *name) { return find_row(float_rows, name); }

}  // namespace isa

#undef F1
#undef F2
#undef F3
#undef ROUNDINGS
#undef ARITHMETIC
#undef NUMBERS
#undef MIXED
#undef IEEE_EXTREMES
