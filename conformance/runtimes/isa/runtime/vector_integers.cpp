// Integer and bit instructions of the vector unit, moves, and those that read other lanes or masks.
#include <algorithm>

#include "vector.h"

namespace isa {
namespace {

// v_add_co and its kin: a carry for each lane, in from the third source or VCC, out to VCC or the destination in sdst.
template <auto f, bool carries_in>
void with_carry(Wave &w, const Inst &i) {
  u32 a_[lanes], b_[lanes], r[lanes];
  u8 out[lanes];
  const u32 *a = source(w, i, 0, a_), *b = source(w, i, 1, b_);
  const u64 in = !carries_in ? 0 : i.flags & Promoted ? w.mask_at(i.src[2], i) : w.vcc_mask();
  for (int l = 0; l < lanes; ++l) {
    const u64 sum = f(u64{a[l]}, u64{b[l]}, in >> l & 1);
    r[l] = static_cast<u32>(sum);
    out[l] = sum >> 32 & 1;
  }
  const u64 bits = packed(out) & w.exec_;
  put(w, i, r);
  w.set_mask(i.sdst, bits);
}

constexpr auto plus = [](u64 a, u64 b, u64 c) { return a + b + c; };
constexpr auto minus = [](u64 a, u64 b, u64 c) { return a - b - c; };
constexpr auto minus_reversed = [](u64 a, u64 b, u64 c) { return b - a - c; };

// v_mad_u64_u32, v_mad_i64_i32: the carry is bit 64 of the whole sum.
template <class T, class Addend, class Wide>
void multiply_add_wide(Wave &w, const Inst &i) {
  T a_[lanes], b_[lanes];
  Addend c_[lanes];
  u64 r[lanes];
  u8 out[lanes];
  const T *a = source(w, i, 0, a_), *b = source(w, i, 1, b_);
  const Addend *c = source(w, i, 2, c_);
  for (int l = 0; l < lanes; ++l) {
    const Wide sum = Wide{a[l]} * b[l] + c[l];
    r[l] = static_cast<u64>(sum);
    out[l] = sum >> 64 & 1;
  }
  const u64 bits = packed(out) & w.exec_;
  put(w, i, r);
  w.set_mask(i.sdst, bits);
}

template <class T>
void select(Wave &w, const Inst &i) {
  T a_[lanes], b_[lanes], r[lanes];
  const T *a = source(w, i, 0, a_), *b = source(w, i, 1, b_);
  const u32 *mask = w.masks(i.flags & Promoted ? w.mask_at(i.src[2], i) : w.vcc_mask());
  for (int l = 0; l < lanes; ++l) r[l] = mask[l] ? b[l] : a[l];
  put(w, i, r);
}

int first_active(const Wave &w) { return w.exec_ ? std::countr_zero(w.exec_) : 0; }

void readfirstlane(Wave &w, const Inst &i) {
  u32 a_[lanes];
  w.set_scalar(i.dst, source(w, i, 0, a_)[first_active(w)]);
}
void readlane(Wave &w, const Inst &i) {
  u32 a_[lanes];
  const u32 *a = source(w, i, 0, a_);
  w.set_scalar(i.dst, a[w.scalar(i.src[1], i) % w.launch->wave]);
}
void writelane(Wave &w, const Inst &i) {
  w.out(i.dst - vgpr)[w.scalar(i.src[1], i) % w.launch->wave] = w.scalar(i.src[0], i);
}

// v_permlane16, and v_permlanex16 between the rows of a pair: four bits a lane, in two scalars, choose one of 16 lanes.
// op_sel says whether lanes that are not active are read, and whether a result without a source is 0.
template <u32 other_row>
void permute_row(Wave &w, const Inst &i) {
  u32 a_[lanes], r[lanes];
  const u32 *a = source(w, i, 0, a_), *old = w.out(i.dst - vgpr);
  const u64 places = u64{w.scalar(i.src[2], i)} << 32 | w.scalar(i.src[1], i);
  const bool fetches_inactive = i.op_sel & 1, zero_outside = i.op_sel & 2;
  for (u32 l = 0; l < lanes; ++l) {
    const u32 from = ((l & ~15u) ^ 16 * other_row) | (places >> 4 * (l & 15) & 15);
    r[l] = fetches_inactive || w.exec_ >> from & 1 ? a[from] : zero_outside ? 0 : old[l];
  }
  put_words(w, w.exec_, i.dst - vgpr, r);
}

// v_mbcnt: the bits of the mask below each lane.
template <bool high>
void mask_count(Wave &w, const Inst &i) {
  u32 a_[lanes], b_[lanes], r[lanes];
  const u32 *a = source(w, i, 0, a_), *b = source(w, i, 1, b_);
  for (int l = 0; l < lanes; ++l) {
    const u64 below = (u64{1} << l) - 1;
    r[l] = b[l] + static_cast<u32>(std::popcount(a[l] & static_cast<u32>(high ? below >> 32 : below)));
  }
  put(w, i, r);
}

// Accumulation registers are those behind the first 256.
constexpr u16 accumulation = 256;
void to_accumulation(Wave &w, const Inst &i) {
  u32 a_[lanes];
  const u32 *a = source(w, i, 0, a_);
  put_words(w, w.exec_, i.dst - vgpr + accumulation, a);
}
template <u16 to>
void from_accumulation(Wave &w, const Inst &i) {
  u32 r[lanes];
  std::memcpy(r, w.in(i.src[0] - vgpr + accumulation), sizeof r);
  put_words(w, w.exec_, i.dst - vgpr + to, r);
}

u32 permute_bytes(u32 a, u32 b, u32 selectors) {
  const u64 data = u64{a} << 32 | b;
  u32 r = 0;
  for (int n = 0; n < 4; ++n) {
    const u32 s = selectors >> 8 * n & 255;
    u32 byte;
    if (s <= 7)
      byte = static_cast<u32>(data >> 8 * s) & 255;
    else if (s <= 11)
      byte = data >> (16 * (s - 8) + 15) & 1 ? 255 : 0;
    else
      byte = s == 12 ? 0 : 255;
    r |= byte << 8 * n;
  }
  return r;
}

// v_bitop3: a table of truth of the three operands' bits, whose index has the first operand's bit on top.
template <class T>
void bit_operation(Wave &w, const Inst &i) {
  T a_[lanes], b_[lanes], c_[lanes], r[lanes];
  const T *a = source(w, i, 0, a_), *b = source(w, i, 1, b_), *c = source(w, i, 2, c_);
  const u32 truth = u32{i.omod} << 6 | u32{i.abs} << 3 | i.neg;
  for (int l = 0; l < lanes; ++l) {
    u32 bits = 0;
    for (u32 n = 0; n < 8; ++n)
      if (truth >> n & 1)
        bits |= (n & 4 ? a[l] : ~u32{a[l]}) & (n & 2 ? b[l] : ~u32{b[l]}) & (n & 1 ? c[l] : ~u32{c[l]});
    r[l] = static_cast<T>(bits);
  }
  put<T, true>(w, i, r);
}

// v_swap_b32, between the destination and a source register.
void swap(Wave &w, const Inst &i) {
  u32 a_[lanes], b[lanes];
  std::memcpy(a_, w.in(i.src[0] - vgpr), sizeof a_);
  std::memcpy(b, w.in(i.dst - vgpr), sizeof b);
  put_words(w, w.exec_, i.dst - vgpr, a_);
  put_words(w, w.exec_, i.src[0] - vgpr, b);
}

// v_permlane64, between the halves of a wave, of active lanes and others; nothing in a wave of 32.
void permute_halves(Wave &w, const Inst &i) {
  if (w.launch->wave == 32) return;
  u32 a_[lanes], r[lanes];
  const u32 *a = source(w, i, 0, a_);
  for (int l = 0; l < lanes; ++l) r[l] = a[l ^ 32];
  put(w, i, r);
}

// v_movrels and v_movreld: M0 counts registers from the source, or the destination, on.
template <bool from, bool to>
void move_relative(Wave &w, const Inst &i) {
  const u32 by = w.scalar(m0, i);
  Inst moved = i;
  const auto shift = [&](u16 &code) {
    if (code < vgpr || u64{code} + by >= temporary)
      throw Fault(Fault::Other, "a relative move outside of the registers");
    code = static_cast<u16>(code + by);
  };
  if (from) shift(moved.src[0]);
  if (to) shift(moved.dst);
  u32 a_[lanes], r[lanes];
  std::memcpy(r, source(w, moved, 0, a_), sizeof r);
  put(w, moved, r);
}

// v_sad and its like: absolute differences of parts of a word, of the bytes that are not 0 in `b` if `masked`.
template <int bits, bool masked = false>
u32 differences(u32 a, u32 b) {
  u32 sum = 0;
  for (int at = 0; at < 32; at += bits) {
    const i32 x = a >> at & ((1 << bits) - 1), y = b >> at & ((1 << bits) - 1);
    if (!masked || y) sum += static_cast<u32>(std::abs(x - y));
  }
  return sum;
}
// v_lerp_u8: means of bytes, rounded up where the third operand's byte is odd.
u32 byte_means(u32 a, u32 b, u32 c) {
  u32 r = 0;
  for (int at = 0; at < 32; at += 8) r |= (((a >> at & 255) + (b >> at & 255) + (c >> at & 1)) >> 1 & 255) << at;
  return r;
}
u16 saturated_bytes(u32 a) {
  const auto byte = [](u32 half) { return saturated<u8>(i32{static_cast<i16>(half)}); };
  return static_cast<u16>(byte(a) | byte(a >> 16) << 8);
}

u32 leading_zeros(u32 a) { return a ? static_cast<u32>(std::countl_zero(a)) : ~0u; }
u32 trailing_zeros(u32 a) { return a ? static_cast<u32>(std::countr_zero(a)) : ~0u; }
u32 leading_signs(u32 a) {
  const u32 other = static_cast<i32>(a) < 0 ? ~a : a;
  return other ? static_cast<u32>(std::countl_zero(other)) : ~0u;
}
i32 low24(i32 a) { return static_cast<i32>(static_cast<u32>(a) << 8) >> 8; }
u32 low24u(u32 a) { return a & 0xffffff; }

#define U1(name, ...) {name, &unary<u32, u32, [](u32 a) -> u32 { return __VA_ARGS__; }>}
#define U2(name, ...) {name, &binary<u32, u32, u32, [](u32 a, u32 b) -> u32 { return __VA_ARGS__; }>}
#define U3(name, ...) {name, &ternary<u32, u32, u32, u32, [](u32 a, u32 b, u32 c) -> u32 { return __VA_ARGS__; }>}
#define I2(name, ...) {name, &binary<i32, i32, i32, [](i32 a, i32 b) -> i32 { return __VA_ARGS__; }>}
#define I3(name, ...) {name, &ternary<i32, i32, i32, i32, [](i32 a, i32 b, i32 c) -> i32 { return __VA_ARGS__; }>}
#define H2(name, ...) {name, &binary<u16, u16, u16, [](u16 a, u16 b) -> u16 { return static_cast<u16>(__VA_ARGS__); }>}
#define S2(name, ...) {name, &binary<i16, i16, i16, [](i16 a, i16 b) -> i16 { return static_cast<i16>(__VA_ARGS__); }>}
#define K2(name, ...) \
  {name, &binary<i16, i16, i16, [](i16 a, i16 b) -> i16 { return static_cast<i16>(__VA_ARGS__); }, true>}
#define H3(name, T, keeps, ...) \
  {name, &ternary<T, T, T, T, [](T a, T b, T c) -> T { return static_cast<T>(__VA_ARGS__); }, keeps>}

// The greatest, the least and the median, and what holds a number between two.
#define ORDERED(type, two, keeps)                                                              \
  two("v_max_" #type, std::max(a, b)), two("v_min_" #type, std::min(a, b)),                    \
      H3("v_max3_" #type, type, keeps, std::max(std::max(a, b), c)),                           \
      H3("v_min3_" #type, type, keeps, std::min(std::min(a, b), c)),                           \
      H3("v_med3_" #type, type, keeps, std::max(std::min(a, b), std::min(std::max(a, b), c))), \
      H3("v_maxmin_" #type, type, keeps, std::min(std::max(a, b), c)),                         \
      H3("v_minmax_" #type, type, keeps, std::max(std::min(a, b), c))

constexpr Semantics saturating_rows[] = {
    U2("v_add_u32", saturated<u32>(i64{a} + b)),    U2("v_sub_u32", saturated<u32>(i64{a} - b)),
    U2("v_subrev_u32", saturated<u32>(i64{b} - a)), I2("v_add_i32", saturated<i32>(i64{a} + b)),
    I2("v_sub_i32", saturated<i32>(i64{a} - b)),    H2("v_add_u16", saturated<u16>(i32{a} + b)),
    H2("v_sub_u16", saturated<u16>(i32{a} - b)),    H2("v_subrev_u16", saturated<u16>(i32{b} - a)),
    K2("v_add_i16", saturated<i16>(i32{a} + b)),    K2("v_sub_i16", saturated<i16>(i32{a} - b)),
};

constexpr Semantics integer_rows[] = {
    U1("v_mov_b32", a),
    {"v_mov_b64", &unary<u64, u64, [](u64 a) { return a; }>},
    {"v_accvgpr_read_b32", &from_accumulation<0>},
    {"v_accvgpr_write_b32", &to_accumulation},
    {"v_accvgpr_mov_b32", &from_accumulation<accumulation>},
    U1("v_not_b32", ~a),
    U1("v_bfrev_b32", reversed_bits(a)),
    U1("v_ffbh_u32", leading_zeros(a)),
    U1("v_ffbl_b32", trailing_zeros(a)),
    U1("v_ffbh_i32", leading_signs(a)),
    U2("v_add_u32", a + b),
    U2("v_sub_u32", a - b),
    U2("v_subrev_u32", b - a),
    I2("v_add_i32", static_cast<i32>(static_cast<u32>(a) + static_cast<u32>(b))),
    I2("v_sub_i32", static_cast<i32>(static_cast<u32>(a) - static_cast<u32>(b))),
    {"v_add_co_u32", &with_carry<plus, false>},
    {"v_sub_co_u32", &with_carry<minus, false>},
    {"v_subrev_co_u32", &with_carry<minus_reversed, false>},
    {"v_addc_co_u32", &with_carry<plus, true>},
    {"v_subb_co_u32", &with_carry<minus, true>},
    {"v_subbrev_co_u32", &with_carry<minus_reversed, true>},
    {"v_bitop3_b32", &bit_operation<u32>},
    {"v_bitop3_b16", &bit_operation<u16>},
    U2("v_and_b32", a &b),
    U2("v_or_b32", a | b),
    U2("v_xor_b32", a ^ b),
    U2("v_xnor_b32", ~(a ^ b)),
    U2("v_lshlrev_b32", b << (a & 31)),
    U2("v_lshrrev_b32", b >> (a & 31)),
    {"v_ashrrev_i32", &binary<i32, u32, i32, [](u32 a, i32 b) { return b >> (a & 31); }>},
    {"v_lshlrev_b64", &binary<u64, u32, u64, [](u32 a, u64 b) { return b << (a & 63); }>},
    {"v_lshrrev_b64", &binary<u64, u32, u64, [](u32 a, u64 b) { return b >> (a & 63); }>},
    {"v_ashrrev_i64", &binary<i64, u32, i64, [](u32 a, i64 b) { return b >> (a & 63); }>},
    ORDERED(u32, U2, false),
    ORDERED(i32, I2, false),
    ORDERED(u16, H2, true),
    ORDERED(i16, S2, true),
    U2("v_mul_lo_u32", a *b),
    U2("v_mul_hi_u32", static_cast<u32>(u64{a} * b >> 32)),
    I2("v_mul_hi_i32", static_cast<i32>(i64{a} * b >> 32)),
    U2("v_mul_u32_u24", low24u(a) * low24u(b)),
    U2("v_mul_hi_u32_u24", static_cast<u32>(u64{low24u(a)} * low24u(b) >> 32)),
    I2("v_mul_i32_i24", static_cast<i32>(i64{low24(a)} * low24(b))),
    I2("v_mul_hi_i32_i24", static_cast<i32>(i64{low24(a)} * low24(b) >> 32)),
    U3("v_mad_u32_u24", low24u(a) * low24u(b) + c),
    I3("v_mad_i32_i24", static_cast<i32>(i64{low24(a)} * low24(b) + c)),
    {"v_mad_u64_u32", &multiply_add_wide<u32, u64, unsigned __int128>},
    {"v_mad_i64_i32", &multiply_add_wide<i32, i64, __int128>},
    U3("v_add3_u32", a + b + c),
    U3("v_lshl_add_u32", (a << (b & 31)) + c),
    U3("v_add_lshl_u32", (a + b) << (c & 31)),
    U3("v_lshl_or_b32", a << (b & 31) | c),
    U3("v_and_or_b32", (a & b) | c),
    U3("v_or3_b32", a | b | c),
    U3("v_xad_u32", (a ^ b) + c),
    {"v_lshl_add_u64", &ternary<u64, u64, u32, u64, [](u64 a, u32 b, u64 c) { return (a << (b & 7)) + c; }>},
    U3("v_bfe_u32", (a >> (b & 31)) & ((1u << (c & 31)) - 1)),
    I3("v_bfe_i32",
       (c & 31) == 0 ? 0 : static_cast<i32>(static_cast<u32>(a >> (b & 31)) << (32 - (c & 31))) >> (32 - (c & 31))),
    U3("v_bfi_b32", (a & b) | (~a & c)),
    U2("v_bfm_b32", ((1u << (a & 31)) - 1) << (b & 31)),
    U2("v_bcnt_u32_b32", static_cast<u32>(std::popcount(a)) + b),
    U3("v_alignbit_b32", static_cast<u32>((u64{a} << 32 | b) >> (c & 31))),
    U3("v_alignbyte_b32", static_cast<u32>((u64{a} << 32 | b) >> (8 * (c & 3)))),
    U3("v_perm_b32", permute_bytes(a, b, c)),
    U3("v_sad_u8", differences<8>(a, b) + c),
    U3("v_sad_hi_u8", (differences<8>(a, b) << 16) + c),
    U3("v_msad_u8", differences<8, true>(a, b) + c),
    U3("v_sad_u16", differences<16>(a, b) + c),
    U3("v_lerp_u8", byte_means(a, b, c)),
    {"v_sat_pk_u8_i16", &unary<u16, u32, [](u32 a) { return saturated_bytes(a); }>},
    {"v_cvt_i32_i16", &unary<i32, i16, [](i16 a) -> i32 { return a; }>},
    {"v_cvt_u32_u16", &unary<u32, u16, [](u16 a) -> u32 { return a; }>},
    {"v_cvt_pk_i16_i32", &binary<u32, i32, i32,
                                 [](i32 a, i32 b) {
                                   return (static_cast<u32>(saturated<i16>(a)) & 0xffff) |
                                          static_cast<u32>(saturated<i16>(b)) << 16;
                                 }>},
    U2("v_cvt_pk_u16_u32", std::min(a, 0xffffu) | std::min(b, 0xffffu) << 16),
    {"v_mad_i32_i16",
     &ternary<i32, i16, i16, i32,
              [](i16 a, i16 b, i32 c) { return static_cast<i32>(static_cast<u32>(a * b) + static_cast<u32>(c)); }>},
    {"v_mad_u32_u16", &ternary<u32, u16, u16, u32, [](u16 a, u16 b, u32 c) { return u32{a} * b + c; }>},
    {"v_swap_b32", &swap},
    {"v_permlane64_b32", &permute_halves},
    {"v_movrels_b32", &move_relative<true, false>},
    {"v_movreld_b32", &move_relative<false, true>},
    {"v_movrelsd_b32", &move_relative<true, true>},
    U3("v_sad_u32", (a > b ? a - b : b - a) + c),
    U3("v_xor3_b32", a ^ b ^ c),
    {"v_cndmask_b32", &select<f32>},
    {"v_readfirstlane_b32", &readfirstlane},
    {"v_readlane_b32", &readlane},
    {"v_writelane_b32", &writelane},
    {"v_permlane16_b32", &permute_row<0>},
    {"v_permlanex16_b32", &permute_row<1>},
    {"v_mbcnt_lo_u32_b32", &mask_count<false>},
    {"v_mbcnt_hi_u32_b32", &mask_count<true>},
    H2("v_add_u16", a + b),
    K2("v_add_i16", a + b),
    K2("v_sub_i16", a - b),
    H2("v_sub_u16", a - b),
    H2("v_subrev_u16", b - a),
    H2("v_mul_lo_u16", u32{a} * b),
    H2("v_lshlrev_b16", b << (a & 15)),
    H2("v_lshrrev_b16", b >> (a & 15)),
    S2("v_ashrrev_i16", b >> (a & 15)),
    H3("v_mad_legacy_u16", u16, false, u32{a} * b + c),
    H3("v_mad_u16", u16, true, u32{a} * b + c),
    H3("v_mad_i16", i16, true, a *b + c),
    H3("v_mad_legacy_i16", i16, false, a *b + c),
    {"v_mov_b16", &unary<u16, u16, [](u16 a) { return a; }>},
    {"v_not_b16", &unary<u16, u16, [](u16 a) { return static_cast<u16>(~a); }>},
    H2("v_and_b16", a &b),
    H2("v_or_b16", a | b),
    H2("v_xor_b16", a ^ b),
    {"v_cndmask_b16", &select<f16>},
    {"v_pack_b32_f16", &binary<u32, f16, f16, [](f16 a, f16 b) { return u32{bits_of(b)} << 16 | bits_of(a); }>},
    {"v_nop", [](Wave &, const Inst &) {}},
};

}  // namespace

Run find_integer(const char *name) { return find_row(integer_rows, name); }
Run find_saturating(const char *name) {
  const Run run = find_row(saturating_rows, name);
  return run ? run : find_saturating_packed(name);
}

}  // namespace isa

#undef U1
#undef U2
#undef U3
#undef I2
#undef I3
#undef H2
#undef S2
#undef K2
#undef H3
#undef ORDERED
