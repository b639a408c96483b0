// Conversions of floats of 8 bits: those of CDNA 3 have one NaN and no -0 (FNUZ), those of CDNA 4 and RDNA 4 are OCP's.
#include "vector.h"

namespace isa {
namespace {

template <int mantissa>
struct ByteFloat {
  static constexpr int bias(bool fnuz) { return (mantissa == 3 ? 7 : 15) + fnuz; }

  static f32 value(u32 byte, bool fnuz) {
    const u32 bits = byte & 127, m = bits & ((1 << mantissa) - 1), e = bits >> mantissa;
    constexpr f32 nan = std::numeric_limits<f32>::quiet_NaN(), infinity = std::numeric_limits<f32>::infinity();
    const f32 sign = byte & 128 ? -1 : 1;
    if (fnuz && byte == 128) return nan;
    if (!fnuz && bits == 127) return nan;
    if (!fnuz && mantissa == 2 && e == 31) return m ? nan : sign * infinity;
    const int exponent = std::max<int>(static_cast<int>(e), 1) - bias(fnuz) - mantissa;
    return sign * std::ldexp(static_cast<f32>(e ? m | 1 << mantissa : m), exponent);
  }

  // To nearest even; what is too large is infinite, or NaN where there is no infinity.
  static u16 bits(f32 x, bool fnuz) {
    const u32 sign = std::signbit(x) ? 128 : 0, nan = fnuz ? 128 : 127 | sign;
    const u32 most = fnuz ? 127 : mantissa == 2 ? 123 : 126;
    if (x != x) return static_cast<u16>(nan);
    const u32 beyond = !fnuz && mantissa == 2 ? 124 | sign : nan;
    const f64 a = std::fabs(x);
    if (a > 1e6) return static_cast<u16>(beyond);
    const int exponent = std::max(a > 0 ? std::ilogb(a) : -200, 1 - bias(fnuz));
    const u32 whole = static_cast<u32>(std::nearbyint(std::ldexp(a, mantissa - exponent)));
    const u32 code = (static_cast<u32>(exponent + bias(fnuz) - 1) << mantissa) + whole;
    return static_cast<u16>(code > most ? beyond : fnuz && !code ? 0 : code | sign);
  }
};

bool is_fnuz(const Wave &w) { return w.launch->code->target.starts_with("gfx94"); }

// op_sel of RDNA 4 chooses a byte, or a pair of bytes; CDNA does by SDWA.
template <int mantissa>
void byte_to_float(Wave &w, const Inst &i) {
  u32 a_[lanes];
  f32 r[lanes];
  const u32 *a = source(w, i, 0, a_);
  const bool fnuz = is_fnuz(w);
  const int at = 8 * (i.op_sel >> 1 & 1) + 16 * (i.op_sel & 1);
  for (int l = 0; l < lanes; ++l) r[l] = ByteFloat<mantissa>::value(a[l] >> at & 255, fnuz);
  put(w, i, r);
}
template <int mantissa>
void bytes_to_floats(Wave &w, const Inst &i) {
  u32 a_[lanes];
  u64 r[lanes];
  const u32 *a = source(w, i, 0, a_);
  const bool fnuz = is_fnuz(w);
  const int at = 16 * (i.op_sel & 1);
  const auto value = [&](u32 word) { return u64{bits_of(ByteFloat<mantissa>::value(word & 255, fnuz))}; };
  for (int l = 0; l < lanes; ++l) r[l] = value(a[l] >> at >> 8) << 32 | value(a[l] >> at);
  put(w, i, r);
}
template <int mantissa>
void floats_to_bytes(Wave &w, const Inst &i) {
  f32 a_[lanes], b_[lanes];
  u16 r[lanes];
  const f32 *a = source(w, i, 0, a_), *b = source(w, i, 1, b_);
  const bool fnuz = is_fnuz(w);
  const auto byte = [&](f32 x) { return ByteFloat<mantissa>::bits(x, fnuz); };
  for (int l = 0; l < lanes; ++l) r[l] = static_cast<u16>(byte(a[l]) | byte(b[l]) << 8);
  put<u16, true>(w, i, r);
}

constexpr Semantics byte_float_rows[] = {
    {"v_cvt_f32_fp8", &byte_to_float<3>},      {"v_cvt_f32_bf8", &byte_to_float<2>},
    {"v_cvt_pk_f32_fp8", &bytes_to_floats<3>}, {"v_cvt_pk_f32_bf8", &bytes_to_floats<2>},
    {"v_cvt_pk_fp8_f32", &floats_to_bytes<3>}, {"v_cvt_pk_bf8_f32", &floats_to_bytes<2>},
};

}  // namespace

Run find_byte_float(const char *name) { return find_row(byte_float_rows, name); }

}  // namespace isa
