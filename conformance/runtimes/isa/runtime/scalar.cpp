// The scalar unit.
#include <algorithm>

#include "operands.h"

namespace isa {

u32 Wave::scalar(u16 code, const Inst &i) const {
  if (code == null_operand) return 0;
  if (code < exec) {
    check_scalar(code, false);
    return s[code];
  }
  if (code == exec) return static_cast<u32>(exec_);
  if (code == exec + 1) return static_cast<u32>(exec_ >> 32);
  if (code == literal) return i.constant;
  if (is_inline(code)) return inline_constant<u32>(code);
  switch (code) {
    case shared_base:
      return static_cast<u32>(shared_aperture >> 32);
    case private_base:
      return static_cast<u32>(private_aperture >> 32);
    case vccz:
      return vcc_mask() == 0;
    case execz:
      return exec_ == 0;
    case scc:
      return scc_;
    default:
      throw Fault(Fault::Unknown, "the operand " + std::to_string(code));
  }
}

u64 Wave::scalar64(u16 code, const Inst &i) const {
  if (code < exec) {
    check_scalar(code, false);
    check_scalar(code + 1u, false);
    return u64{s[code + 1]} << 32 | s[code];
  }
  if (code == exec) return exec_;
  if (code == null_operand) return 0;
  if (code == literal)
    return i.flags & SignedLiteral ? static_cast<u64>(i64{static_cast<i32>(i.constant)}) : i.constant;
  if (code <= 208 && code >= zero) return inline_constant<u64>(code);
  if (code == shared_base) return shared_aperture;
  if (code == private_base) return private_aperture;
  if (code == shared_limit) return shared_aperture | 0xffffffff;
  if (code == private_limit) return private_aperture | 0xffffffff;
  if (is_inline(code)) return inline_constant<u64>(code);
  return scalar(code, i);
}

void Wave::set_scalar(u16 code, u32 value) {
  if (code < exec) check_scalar(code, true);
  load_scalar(code, value);
}

void Wave::load_scalar(u16 code, u32 value) {
  if (code < exec)
    s[code] = value;
  else if (code == exec)
    exec_ = (exec_ & ~u64{0xffffffff}) | value;
  else if (code == exec + 1)
    exec_ = launch->wave == 32 ? exec_ : (exec_ & 0xffffffff) | u64{value} << 32;
  else if (code == null_operand)
    return;
  else
    throw Fault(Fault::Unknown, "a scalar destination " + std::to_string(code));
}

void Wave::set_scalar64(u16 code, u64 value) {
  if (code == exec) {
    exec_ = launch->wave == 32 ? value & 0xffffffff : value;
    return;
  }
  if (code == null_operand) return;
  set_scalar(code, static_cast<u32>(value));
  set_scalar(static_cast<u16>(code + 1), static_cast<u32>(value >> 32));
}

namespace {

u32 s0(const Wave &w, const Inst &i) { return w.scalar(i.src[0], i); }
u32 s1(const Wave &w, const Inst &i) { return w.scalar(i.src[1], i); }
u64 d0(const Wave &w, const Inst &i) { return w.scalar64(i.src[0], i); }
u64 d1(const Wave &w, const Inst &i) { return w.scalar64(i.src[1], i); }
i32 k(const Inst &i) { return static_cast<i16>(i.constant); }

template <auto f>
void two(Wave &w, const Inst &i) {  // SCC as it was
  w.set_scalar(i.dst, f(s0(w, i), s1(w, i)));
}
// One register, or two for 64 bits.
template <class T>
T get(const Wave &w, u16 code, const Inst &i) {
  if constexpr (sizeof(T) == 8)
    return w.scalar64(code, i);
  else
    return w.scalar(code, i);
}
void set(Wave &w, u16 code, u32 value) { w.set_scalar(code, value); }
void set(Wave &w, u16 code, u64 value) { w.set_scalar64(code, value); }
template <class T, class U, auto f>
void bits(Wave &w, const Inst &i) {  // SCC: not 0
  const T r = f(get<T>(w, i.src[0], i), get<U>(w, i.src[1], i));
  set(w, i.dst, r);
  w.scc_ = r != 0;
}
template <auto f>
void carry(Wave &w, const Inst &i) {  // SCC: what does not fit 32 bits
  const u64 r = f(u64{s0(w, i)}, u64{s1(w, i)}, u64{w.scc_});
  w.set_scalar(i.dst, static_cast<u32>(r));
  w.scc_ = r >> 32 != 0;
}
template <auto f>
void overflow(Wave &w, const Inst &i) {  // SCC: signed overflow
  const i64 r = f(i64{static_cast<i32>(s0(w, i))}, i64{static_cast<i32>(s1(w, i))});
  w.set_scalar(i.dst, static_cast<u32>(r));
  w.scc_ = r != static_cast<i32>(r);
}
template <auto first>
void choose(Wave &w, const Inst &i) {  // min and max; SCC: it is the first
  const u32 a = s0(w, i), b = s1(w, i);
  w.scc_ = first(a, b);
  w.set_scalar(i.dst, w.scc_ ? a : b);
}
template <auto f>
void one32(Wave &w, const Inst &i) {
  w.set_scalar(i.dst, f(s0(w, i)));
}
template <auto f, bool sets_scc>
void one64(Wave &w, const Inst &i) {
  const u64 r = f(d0(w, i));
  w.set_scalar64(i.dst, r);
  if (sets_scc) w.scc_ = r != 0;
}
// `exec`, or its lower half; SCC: not 0.
template <class T>
void set_exec(Wave &w, u64 value) {
  constexpr u64 part = static_cast<T>(~T{0});
  w.exec_ = (w.exec_ & ~part) | (value & part);
  w.scc_ = static_cast<T>(value) != 0;
}
template <class T, auto f>
void save_exec(Wave &w, const Inst &i) {
  const T old = static_cast<T>(w.exec_), mask = get<T>(w, i.src[0], i);
  set(w, i.dst, old);
  set_exec<T>(w, f(mask, old));
}
template <auto f>
void compare32(Wave &w, const Inst &i) {
  w.scc_ = f(s0(w, i), s1(w, i));
}
template <auto f>
void compare_k(Wave &w, const Inst &i) {
  w.scc_ = f(static_cast<i32>(w.scalar(i.dst, i)), k(i));
}
template <auto f>
void compare_ku(Wave &w, const Inst &i) {
  w.scc_ = f(w.scalar(i.dst, i), i.constant & 0xffff);
}

i32 s(u32 a) { return static_cast<i32>(a); }
u32 field(u32 a, u32 b) {
  const u32 width = b >> 16 & 127;
  const u32 moved = a >> (b & 31);
  return width >= 32 ? moved : moved & ((1u << width) - 1);
}
u64 field64(u64 a, u32 b, bool with_sign) {
  const u32 width = b >> 16 & 127;
  const u64 moved = with_sign ? static_cast<u64>(static_cast<i64>(a) >> (b & 63)) : a >> (b & 63);
  if (width == 0) return 0;
  if (width >= 64) return moved;
  const u64 part = moved & ((u64{1} << width) - 1);
  return with_sign && part >> (width - 1) ? part | ~u64{0} << width : part;
}

// For each quad of bits whether one is set, in all four or in one bit.
u64 whole_quads(u64 a) { return ((a | a >> 1 | a >> 2 | a >> 3) & 0x1111111111111111) * 15; }
u64 quads(u64 a) {
  u64 r = 0;
  for (int n = 0; n < 16; ++n) r |= u64{(a >> 4 * n & 15) != 0} << n;
  return r;
}
u64 doubled_bits(u32 a) {
  u64 r = 0;
  for (int n = 0; n < 32; ++n) r |= (a >> n & 1 ? u64{3} : 0) << 2 * n;
  return r;
}
// How many bits from the top on are like the sign.
u32 signs(u64 a, int bits) {
  const u64 up = a << (64 - bits), other = static_cast<i64>(up) < 0 ? ~up >> (64 - bits) : up >> (64 - bits);
  return other ? static_cast<u32>(std::countl_zero(other) - (64 - bits)) : ~0u;
}
// s_movrels and s_movreld: M0 counts registers from the source, or the destination, on.
u16 relative(const Wave &w, const Inst &i, u16 code, u32 words) {
  const u64 at = u64{code} + w.scalar(m0, i);
  if (code > 105 || at + words > 106) throw Fault(Fault::Other, "a relative move outside of the registers");
  return static_cast<u16>(at);
}
template <class T, auto f>
void write_exec(Wave &w, const Inst &i) {
  set_exec<T>(w, f(get<T>(w, i.src[0], i), w.exec_));
  set(w, i.dst, static_cast<T>(w.exec_));
}

#define CMP(name, ...) {name, &compare32<[](u32 a, u32 b) -> bool { return __VA_ARGS__; }>}
#define CMPK(name, ...) {name, &compare_k<[](i32 a, i32 b) -> bool { return __VA_ARGS__; }>}
#define CMPKU(name, ...) {name, &compare_ku<[](u32 a, u32 b) -> bool { return __VA_ARGS__; }>}
#define B32(name, ...) {name, &bits<u32, u32, [](u32 a, u32 b) -> u32 { return __VA_ARGS__; }>}
#define B64(name, ...) {name, &bits<u64, u64, [](u64 a, u64 b) -> u64 { return __VA_ARGS__; }>}
#define T32(name, ...) {name, &two<[](u32 a, u32 b) -> u32 { return __VA_ARGS__; }>}
#define LOGIC(op, ...) B32("s_" op "_b32", static_cast<u32>(__VA_ARGS__)), B64("s_" op "_b64", __VA_ARGS__)
#define SAVE(op, ...)                                                                            \
  {"s_" op "_saveexec_b64", &save_exec<u64, [](u64 a, u64 b) -> u64 { return __VA_ARGS__; }>}, { \
    "s_" op "_saveexec_b32", &save_exec<u32, [](u64 a, u64 b) -> u64 { return __VA_ARGS__; }>    \
  }

constexpr Semantics scalar_rows[] = {
    {"s_mov_b32", &one32<[](u32 a) { return a; }>},
    {"s_mov_b64", &one64<[](u64 a) { return a; }, false>},
    {"s_cmov_b32", [](Wave &w, const Inst &i) { if (w.scc_) w.set_scalar(i.dst, s0(w, i)); }},
    {"s_cmov_b64", [](Wave &w, const Inst &i) { if (w.scc_) w.set_scalar64(i.dst, d0(w, i)); }},
    {"s_not_b32", [](Wave &w, const Inst &i) { const u32 r = ~s0(w, i); w.set_scalar(i.dst, r); w.scc_ = r != 0; }},
    {"s_not_b64", &one64<[](u64 a) { return ~a; }, true>},
    {"s_brev_b32", &one32<[](u32 a) -> u32 { return reversed_bits(a); }>},
    {"s_brev_b64", &one64<[](u64 a) -> u64 { return u64{reversed_bits(static_cast<u32>(a))} << 32 | reversed_bits(static_cast<u32>(a >> 32)); }, false>},
    {"s_bcnt1_i32_b32", [](Wave &w, const Inst &i) { const u32 r = static_cast<u32>(std::popcount(s0(w, i))); w.set_scalar(i.dst, r); w.scc_ = r != 0; }},
    {"s_bcnt1_i32_b64", [](Wave &w, const Inst &i) { const u32 r = static_cast<u32>(std::popcount(d0(w, i))); w.set_scalar(i.dst, r); w.scc_ = r != 0; }},
    {"s_ff1_i32_b32", &one32<[](u32 a) -> u32 { return a ? static_cast<u32>(std::countr_zero(a)) : ~0u; }>},
    {"s_ff1_i32_b64", [](Wave &w, const Inst &i) { const u64 a = d0(w, i); w.set_scalar(i.dst, a ? static_cast<u32>(std::countr_zero(a)) : ~0u); }},
    {"s_flbit_i32_b32", &one32<[](u32 a) -> u32 { return a ? static_cast<u32>(std::countl_zero(a)) : ~0u; }>},
    {"s_flbit_i32_b64", [](Wave &w, const Inst &i) { const u64 a = d0(w, i); w.set_scalar(i.dst, a ? static_cast<u32>(std::countl_zero(a)) : ~0u); }},
    {"s_ff0_i32_b32", &one32<[](u32 a) -> u32 { return ~a ? static_cast<u32>(std::countr_one(a)) : ~0u; }>},
    {"s_ff0_i32_b64", [](Wave &w, const Inst &i) { const u64 a = d0(w, i); w.set_scalar(i.dst, ~a ? static_cast<u32>(std::countr_one(a)) : ~0u); }},
    {"s_flbit_i32", &one32<[](u32 a) { return signs(a, 32); }>},
    {"s_flbit_i32_i64", [](Wave &w, const Inst &i) { w.set_scalar(i.dst, signs(d0(w, i), 64)); }},
    {"s_bcnt0_i32_b32", [](Wave &w, const Inst &i) { const u32 r = static_cast<u32>(std::popcount(~s0(w, i))); w.set_scalar(i.dst, r); w.scc_ = r != 0; }},
    {"s_bcnt0_i32_b64", [](Wave &w, const Inst &i) { const u32 r = static_cast<u32>(std::popcount(~d0(w, i))); w.set_scalar(i.dst, r); w.scc_ = r != 0; }},
    {"s_wqm_b32", [](Wave &w, const Inst &i) { const u32 r = static_cast<u32>(whole_quads(s0(w, i))); w.set_scalar(i.dst, r); w.scc_ = r != 0; }},
    {"s_wqm_b64", &one64<whole_quads, true>},
    {"s_quadmask_b32", [](Wave &w, const Inst &i) { const u32 r = static_cast<u32>(quads(s0(w, i))); w.set_scalar(i.dst, r); w.scc_ = r != 0; }},
    {"s_quadmask_b64", &one64<quads, true>},
    {"s_bitreplicate_b64_b32", [](Wave &w, const Inst &i) { w.set_scalar64(i.dst, doubled_bits(s0(w, i))); }},
    {"s_bitset0_b64", [](Wave &w, const Inst &i) { w.set_scalar64(i.dst, w.scalar64(i.dst, i) & ~(u64{1} << (s0(w, i) & 63))); }},
    {"s_bitset1_b64", [](Wave &w, const Inst &i) { w.set_scalar64(i.dst, w.scalar64(i.dst, i) | u64{1} << (s0(w, i) & 63)); }},
    {"s_movrels_b32", [](Wave &w, const Inst &i) { w.set_scalar(i.dst, w.scalar(relative(w, i, i.src[0], 1), i)); }},
    {"s_movrels_b64", [](Wave &w, const Inst &i) { w.set_scalar64(i.dst, w.scalar64(relative(w, i, i.src[0], 2), i)); }},
    {"s_movreld_b32", [](Wave &w, const Inst &i) { w.set_scalar(relative(w, i, i.dst, 1), s0(w, i)); }},
    {"s_movreld_b64", [](Wave &w, const Inst &i) { w.set_scalar64(relative(w, i, i.dst, 2), d0(w, i)); }},
    {"s_andn1_wrexec_b64", &write_exec<u64, [](u64 a, u64 b) { return ~a & b; }>},
    {"s_andn2_wrexec_b64", &write_exec<u64, [](u64 a, u64 b) { return a & ~b; }>},
    {"s_andn1_wrexec_b32", &write_exec<u32, [](u64 a, u64 b) { return ~a & b; }>},
    {"s_andn2_wrexec_b32", &write_exec<u32, [](u64 a, u64 b) { return a & ~b; }>},
    {"s_sext_i32_i8", &one32<[](u32 a) { return static_cast<u32>(static_cast<i8>(a)); }>},
    {"s_sext_i32_i16", &one32<[](u32 a) { return static_cast<u32>(static_cast<i16>(a)); }>},
    {"s_bitset0_b32", [](Wave &w, const Inst &i) { w.set_scalar(i.dst, w.scalar(i.dst, i) & ~(1u << (s0(w, i) & 31))); }},
    {"s_bitset1_b32", [](Wave &w, const Inst &i) { w.set_scalar(i.dst, w.scalar(i.dst, i) | 1u << (s0(w, i) & 31)); }},
    {"s_abs_i32", [](Wave &w, const Inst &i) { const u32 a = s0(w, i), r = s(a) < 0 ? 0u - a : a; w.set_scalar(i.dst, r); w.scc_ = r != 0; }},
    SAVE("and", a & b), SAVE("or", a | b), SAVE("xor", a ^ b), SAVE("andn2", a & ~b), SAVE("orn2", a | ~b),
    SAVE("nand", ~(a & b)), SAVE("nor", ~(a | b)), SAVE("xnor", ~(a ^ b)), SAVE("andn1", ~a & b), SAVE("orn1", ~a | b),
    SAVE("and_not1", a & ~b), SAVE("or_not1", a | ~b), SAVE("and_not0", ~a & b), SAVE("or_not0", ~a | b),
    LOGIC("and", a & b), LOGIC("or", a | b), LOGIC("xor", a ^ b), LOGIC("andn2", a & ~b), LOGIC("orn2", a | ~b),
    LOGIC("nand", ~(a & b)), LOGIC("nor", ~(a | b)), LOGIC("xnor", ~(a ^ b)),
    {"s_add_u32", &carry<[](u64 a, u64 b, u64) { return a + b; }>},
    {"s_sub_u32", &carry<[](u64 a, u64 b, u64) { return a - b; }>},
    {"s_addc_u32", &carry<[](u64 a, u64 b, u64 c) { return a + b + c; }>},
    {"s_subb_u32", &carry<[](u64 a, u64 b, u64 c) { return a - b - c; }>},
    {"s_add_i32", &overflow<[](i64 a, i64 b) { return a + b; }>},
    {"s_sub_i32", &overflow<[](i64 a, i64 b) { return a - b; }>},
    {"s_min_i32", &choose<[](u32 a, u32 b) { return s(a) < s(b); }>},
    {"s_max_i32", &choose<[](u32 a, u32 b) { return s(a) >= s(b); }>},
    {"s_min_u32", &choose<[](u32 a, u32 b) { return a < b; }>},
    {"s_max_u32", &choose<[](u32 a, u32 b) { return a >= b; }>},
    {"s_cselect_b32", [](Wave &w, const Inst &i) { w.set_scalar(i.dst, w.scc_ ? s0(w, i) : s1(w, i)); }},
    {"s_cselect_b64", [](Wave &w, const Inst &i) { w.set_scalar64(i.dst, w.scc_ ? d0(w, i) : d1(w, i)); }},
    B32("s_lshl_b32", a << (b & 31)), B32("s_lshr_b32", a >> (b & 31)),
    B32("s_ashr_i32", static_cast<u32>(s(a) >> (b & 31))),
    {"s_lshl_b64", &bits<u64, u32, [](u64 a, u32 b) { return a << (b & 63); }>},
    {"s_lshr_b64", &bits<u64, u32, [](u64 a, u32 b) { return a >> (b & 63); }>},
    {"s_ashr_i64", &bits<u64, u32, [](u64 a, u32 b) { return static_cast<u64>(static_cast<i64>(a) >> (b & 63)); }>},
    B32("s_bfe_u32", field(a, b)),
    B32("s_bfe_i32", static_cast<u32>(field64(static_cast<u64>(static_cast<i64>(s(a))), b & ~32u, true))),
    {"s_bfe_u64", &bits<u64, u32, [](u64 a, u32 b) { return field64(a, b, false); }>},
    {"s_bfe_i64", &bits<u64, u32, [](u64 a, u32 b) { return field64(a, b, true); }>},
    T32("s_bfm_b32", ((1u << (a & 31)) - 1) << (b & 31)),
    {"s_bfm_b64", [](Wave &w, const Inst &i) { w.set_scalar64(i.dst, ((u64{1} << (s0(w, i) & 63)) - 1) << (s1(w, i) & 63)); }},
    T32("s_mul_i32", a * b),
    T32("s_mul_hi_u32", static_cast<u32>(u64{a} * b >> 32)),
    T32("s_mul_hi_i32", static_cast<u32>(i64{s(a)} * s(b) >> 32)),
    T32("s_pack_ll_b32_b16", (a & 0xffff) | b << 16),
    T32("s_pack_lh_b32_b16", (a & 0xffff) | (b & 0xffff0000)),
    B32("s_absdiff_i32", s(a - b) < 0 ? b - a : a - b),
    T32("s_pack_hl_b32_b16", a >> 16 | b << 16),
    T32("s_pack_hh_b32_b16", a >> 16 | (b & 0xffff0000)),
    {"s_lshl1_add_u32", &carry<[](u64 a, u64 b, u64) { return (a << 1) + b; }>},
    {"s_lshl2_add_u32", &carry<[](u64 a, u64 b, u64) { return (a << 2) + b; }>},
    {"s_lshl3_add_u32", &carry<[](u64 a, u64 b, u64) { return (a << 3) + b; }>},
    {"s_lshl4_add_u32", &carry<[](u64 a, u64 b, u64) { return (a << 4) + b; }>},
    CMP("s_cmp_eq_i32", a == b), CMP("s_cmp_lg_i32", a != b), CMP("s_cmp_gt_i32", s(a) > s(b)),
    CMP("s_cmp_ge_i32", s(a) >= s(b)), CMP("s_cmp_lt_i32", s(a) < s(b)), CMP("s_cmp_le_i32", s(a) <= s(b)),
    CMP("s_cmp_eq_u32", a == b), CMP("s_cmp_lg_u32", a != b), CMP("s_cmp_gt_u32", a > b),
    CMP("s_cmp_ge_u32", a >= b), CMP("s_cmp_lt_u32", a < b), CMP("s_cmp_le_u32", a <= b),
    CMP("s_bitcmp0_b32", !(a >> (b & 31) & 1)), CMP("s_bitcmp1_b32", a >> (b & 31) & 1),
    {"s_bitcmp0_b64", [](Wave &w, const Inst &i) { w.scc_ = !(d0(w, i) >> (s1(w, i) & 63) & 1); }},
    {"s_bitcmp1_b64", [](Wave &w, const Inst &i) { w.scc_ = d0(w, i) >> (s1(w, i) & 63) & 1; }},
    {"s_cmp_eq_u64", [](Wave &w, const Inst &i) { w.scc_ = d0(w, i) == d1(w, i); }},
    {"s_cmp_lg_u64", [](Wave &w, const Inst &i) { w.scc_ = d0(w, i) != d1(w, i); }},
    CMPK("s_cmpk_eq_i32", a == b), CMPK("s_cmpk_lg_i32", a != b), CMPK("s_cmpk_gt_i32", a > b),
    CMPK("s_cmpk_ge_i32", a >= b), CMPK("s_cmpk_lt_i32", a < b), CMPK("s_cmpk_le_i32", a <= b),
    CMPKU("s_cmpk_eq_u32", a == b), CMPKU("s_cmpk_lg_u32", a != b), CMPKU("s_cmpk_gt_u32", a > b),
    CMPKU("s_cmpk_ge_u32", a >= b), CMPKU("s_cmpk_lt_u32", a < b), CMPKU("s_cmpk_le_u32", a <= b),
    {"s_movk_i32", [](Wave &w, const Inst &i) { w.set_scalar(i.dst, static_cast<u32>(k(i))); }},
    {"s_cmovk_i32", [](Wave &w, const Inst &i) { if (w.scc_) w.set_scalar(i.dst, static_cast<u32>(k(i))); }},
    {"s_addk_i32", [](Wave &w, const Inst &i) { const i64 r = i64{s(w.scalar(i.dst, i))} + k(i); w.set_scalar(i.dst, static_cast<u32>(r)); w.scc_ = r != static_cast<i32>(r); }},
    {"s_mulk_i32", [](Wave &w, const Inst &i) { w.set_scalar(i.dst, w.scalar(i.dst, i) * static_cast<u32>(k(i))); }},
};

}  // namespace

Run find_scalar(const char *name) { return find_row(scalar_rows, name); }

}  // namespace isa

#undef CMP
#undef CMPK
#undef CMPKU
#undef B32
#undef B64
#undef T32
#undef LOGIC
#undef SAVE
