// Dot products of the parts of two registers, added to a third. Sums of floats are rounded one by one, in the order of
// the ISA documents' formulas.
#include "vector.h"

namespace isa {
namespace {

// A part of a word, of which the lower 32 bits of a product are right.
template <int bits>
u32 part(u32 word, int n, bool with_sign) {
  const u32 up = word << (32 - bits - n * bits);
  return with_sign ? static_cast<u32>(static_cast<i32>(up) >> (32 - bits)) : up >> (32 - bits);
}

// The parts' signs: of the instruction, or as neg says of each source (v_dot4_i32_iu8).
enum class Sign { None, Both, Chosen };

// v_dot4c and its like accumulate: the destination is the third source.
template <int bits, Sign sign, bool accumulates = false>
void dot_integers(Wave &w, const Inst &i) {
  alignas(64) u32 a_[lanes], b_[lanes], c_[lanes], r[lanes];
  const u32 *a = source(w, i, 0, a_), *b = source(w, i, 1, b_);
  const u32 *c = operand(w, i, 2, accumulates ? i.dst : i.src[2], c_);
  const bool a_signed = sign == Sign::Chosen ? i.neg & 1 : sign == Sign::Both;
  const bool b_signed = sign == Sign::Chosen ? i.neg & 2 : sign == Sign::Both;
  for (int l = 0; l < lanes; ++l) {
    u32 sum = c[l];
    for (int n = 0; n < 32 / bits; ++n) sum += part<bits>(a[l], n, a_signed) * part<bits>(b[l], n, b_signed);
    r[l] = sum;
  }
  put(w, i, r);
}
// v_dot2c_f32_f16: of both halves.
template <Run run>
void accumulating(Wave &w, const Inst &i) {
  Inst with = i;
  with.src[2] = i.dst;
  with.op_sel_hi = 3;
  run(w, with);
}

f32 wide(u16 bits, f16) { return static_cast<f32>(std::bit_cast<f16>(bits)); }
f32 wide(u16 bits, u16) { return std::bit_cast<f32>(u32{bits} << 16); }

// Two products of halves, f16 or (with T as u16) bf16, which are exact as f32. The addend and the sum of f16 are
// flushed (LLVM, performFMACombine: "fdot2_f32_f16 always flushes fp32 denormal operand and output to zero"), and on
// MI200 the halves (PyTorch's notes on numerical accuracy: "FP16 and BF16 V_DOT2 ... flush input and output denormal
// values").
template <class T>
void dot_halves(Wave &w, const Inst &i) {
  if (i.neg_hi >> 2 & 1) unknown(w, i);
  Inst third = i;
  third.op_sel = third.abs = 0;
  f32 c_[lanes], r[lanes];
  const f32 *c = source(w, third, 2, c_);
  constexpr bool flushes = is_float<T>;
  const f32 least = w.launch->code->is_mi200 ? 0x1p-14f : 0;
  for (int l = 0; l < lanes; ++l) r[l] = flushes ? flushed(c[l]) : c[l];
  for (int high = 0; high < 2; ++high) {
    f32 s[2][lanes];
    for (int n = 0; n < 2; ++n) {
      if (i.src[n] < vgpr && is_inline(i.src[n]) && sizeof(T) == 2 && !is_float<T>) unknown(w, i);
      Inst one = i;
      one.abs = one.neg = 0;
      one.flags &= static_cast<u8>(~Halves);  // pairs of halves, in whole registers
      one.op_sel = high ? i.op_sel_hi : i.op_sel;
      T h_[lanes];
      const T *h = source(w, one, n, h_);
      const bool flips = (high ? i.neg_hi : i.neg) >> n & 1;
      for (int l = 0; l < lanes; ++l) {
        const f32 x = wide(std::bit_cast<u16>(h[l]), T{});
        s[n][l] = std::fabs(x) < least ? 0 : flips ? -x : x;
      }
    }
    for (int l = 0; l < lanes; ++l) r[l] += s[0][l] * s[1][l];
  }
  if (flushes)
    for (int l = 0; l < lanes; ++l) r[l] = flushed(r[l]);
  put(w, third, r);
}

constexpr Semantics dot_rows[] = {
    {"v_dot4_i32_i8", &dot_integers<8, Sign::Both>},          {"v_dot4_u32_u8", &dot_integers<8, Sign::None>},
    {"v_dot4_i32_iu8", &dot_integers<8, Sign::Chosen>},       {"v_dot4c_i32_i8", &dot_integers<8, Sign::Both, true>},
    {"v_dot8_i32_i4", &dot_integers<4, Sign::Both>},          {"v_dot8_u32_u4", &dot_integers<4, Sign::None>},
    {"v_dot8_i32_iu4", &dot_integers<4, Sign::Chosen>},       {"v_dot8c_i32_i4", &dot_integers<4, Sign::Both, true>},
    {"v_dot2_i32_i16", &dot_integers<16, Sign::Both>},        {"v_dot2_u32_u16", &dot_integers<16, Sign::None>},
    {"v_dot2c_i32_i16", &dot_integers<16, Sign::Both, true>}, {"v_dot2_f32_f16", &dot_halves<f16>},
    {"v_dot2c_f32_f16", &accumulating<&dot_halves<f16>>},     {"v_dot2acc_f32_f16", &accumulating<&dot_halves<f16>>},
};
// Only RDNA documents in which order v_dot2_f32_bf16 adds.
constexpr Semantics bf16_row = {"v_dot2_f32_bf16", &dot_halves<u16>};

}  // namespace

Run find_dot(const char *name) {
  return std::strcmp(name, bf16_row.name) == 0 ? bf16_row.run : find_row(dot_rows, name);
}

}  // namespace isa
