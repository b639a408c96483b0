#include "decoder.h"

#include <cstdio>
#include <string_view>

namespace isa {

void unknown(Wave &w, const Inst &i) { throw Fault(Fault::Unknown, mnemonic(w.launch->code->target, i)); }

void no_instruction(Wave &w, const Inst &i) {
  char text[40];
  const u32 word = load_as<u32>(reinterpret_cast<const void *>(w.launch->code->address_of(i.index)));
  std::snprintf(text, sizeof text, "the instruction word %#x", word);
  throw Fault(Fault::Unknown, text);
}

Inst Decoder::one(std::size_t at) {
  Inst i{};
  i.words = 1;
  i.opcode = opcodes - 1;  // which no encoding has
  i.src[0] = i.src[1] = i.src[2] = i.dst = i.sdst = none;
  branches = false;
  const u32 w = word(at);
  if (w >> 31 == 0)
    vector(i, at);
  else if (w >> 30 == 2)
    scalar(i, at);
  else
    long_one(i, at);
  if (is_rdna()) i.flags |= Keeps;
  return i;
}

void Decoder::name(Inst &i, Encoding e, u32 opcode) {
  i.encoding = e;
  i.opcode = static_cast<u16>(opcode);
  const Known &known = table_.at(e, opcode);
  i.run = known.run ? known.run : known.name ? unknown : no_instruction;
  name_ = known.name ? known.name : "";
}

namespace {

bool is_known(const Inst &i) { return i.run != unknown && i.run != no_instruction; }

// Whether an instruction's result is floats, which the clamp bit holds between 0 and 1.
bool clamps_floats(const std::string &name) {
  if (name.starts_with("v_s_")) return false;
  if (name.starts_with("v_pk_")) return name.ends_with("_f16") || name.ends_with("_f32");
  const bool to_integer = name.starts_with("v_cvt_i") || name.starts_with("v_cvt_pk") || name.starts_with("v_cvt_u") ||
                          name.starts_with("v_frexp_exp");
  return (find_float(name.c_str()) || find_approximate(name.c_str())) && !to_integer;
}

}  // namespace

u16 Decoder::operand(u32 code) const {
  if (generation_ == Generation::Gfx10 && code == 125) return null_operand;
  if (generation_ >= Generation::Gfx11 && code == 124) return null_operand;
  if (generation_ >= Generation::Gfx11 && code == 125) return m0;
  return static_cast<u16>(code);
}

void Decoder::with_literal(Inst &i, std::size_t at) {
  if (std::find(i.src, i.src + 3, literal) == i.src + 3) return;
  i.constant = word(at + i.words);
  ++i.words;
}

void Decoder::scalar(Inst &i, std::size_t at) {
  const u32 w = word(at);
  const u16 s0 = operand(w & 255), s1 = operand(w >> 8 & 255), d = operand(w >> 16 & 127);
  switch (w >> 23) {
    case 0x17f:
      name(i, Encoding::SOPP, w >> 16 & 127);
      i.constant = w & 0xffff;
      branches = begins("s_branch") || begins("s_cbranch");
      return;
    case 0x17e:
      name(i, Encoding::SOPC, w >> 16 & 127);
      i.src[0] = s0;
      i.src[1] = s1;
      break;
    case 0x17d:
      name(i, Encoding::SOP1, w >> 8 & 255);
      i.src[0] = s0;
      i.dst = d;
      break;
    default:
      if (w >> 28 == 0xb) {
        name(i, Encoding::SOPK, w >> 23 & 31);
        i.dst = d;
        i.constant = w & 0xffff;
        if (begins("s_setreg_imm32")) i.words = 2;
        return;
      }
      name(i, Encoding::SOP2, w >> 23 & 127);
      i.src[0] = s0;
      i.src[1] = s1;
      i.dst = d;
      if (begins("s_fmaak")) i.src[2] = literal;
      if (begins("s_fmamk")) {
        i.src[2] = s1;
        i.src[1] = literal;
      }
  }
  if (std::strstr(name_, "_i64")) i.flags |= SignedLiteral;
  with_literal(i, at);
}

// VOP1, VOP2 and VOPC, which may have a literal, SDWA or DPP behind them.
void Decoder::vector(Inst &i, std::size_t at) {
  const u32 w = word(at), opcode = w >> 25;
  const u16 s0 = operand(w & 511), v1 = static_cast<u16>(vgpr + (w >> 9 & 255)),
            d = static_cast<u16>(vgpr + (w >> 17 & 255));
  i.src[0] = s0;
  if (generation_ >= Generation::Gfx11) i.flags |= Halves;
  if (opcode == 0x3f) {
    name(i, Encoding::VOP1, w >> 9 & 255);
    i.dst = begins("v_readfirstlane") ? operand(w >> 17 & 255) : d;
  } else if (opcode == 0x3e) {
    name(i, Encoding::VOPC, w >> 17 & 255);
    i.src[1] = v1;
    i.sdst = is_rdna() && begins("v_cmpx") ? none : vcc;
  } else {
    name(i, Encoding::VOP2, opcode);
    i.src[1] = v1;
    i.dst = d;
    i.sdst = vcc;
    if (begins("v_fmaak") || begins("v_madak")) {
      i.src[2] = literal;
    } else if (begins("v_fmamk") || begins("v_madmk")) {
      i.src[2] = v1;
      i.src[1] = literal;
    }
  }
  if (s0 == 249 && generation_ < Generation::Gfx11) {
    sdwa(i, word(at + 1));
  } else if (s0 == 250) {
    i.words = 2;
    dpp(i, word(at + 1), true);
  } else if (is_rdna() && (s0 == 233 || s0 == 234)) {  // DPP8
    i.words = 2;
    i.run = unknown;
  } else {
    with_literal(i, at);
  }
}

// Floats are held between 0 and 1, sums and differences of integers at the ends of their type. Of other instructions
// it is not known what the bit does.
void Decoder::clamp(Inst &i, Run &run) {
  i.flags |= Clamp;
  if (!is_known(i)) return;
  const std::string plain = plain_name(name_);
  if (const Run saturating = find_saturating(plain.c_str()))
    run = saturating;
  else if (!clamps_floats(plain))
    i.run = run = unknown;
}

void Decoder::lds(Inst &i, u32 w, u32 next) {
  i.words = 2;
  i.constant = w & 0xffff;
  i.src[0] = static_cast<u16>(vgpr + (next & 255));
  i.src[1] = static_cast<u16>(vgpr + (next >> 8 & 255));
  i.src[2] = static_cast<u16>(vgpr + (next >> 16 & 255));
  i.dst = static_cast<u16>(vgpr + (next >> 24));
}

// Of those that access memory; others are for caches.
void Decoder::buffer_operands(Inst &i, const BufferFields &fields) {
  i.words = 2;
  if (!begins("buffer_load_") && !begins("buffer_store_") && !begins("buffer_atomic_")) return;
  const u32 registers = fields.registers;
  i.constant = fields.offset;
  i.op_sel = static_cast<u8>(fields.parts);
  if (fields.parts) i.src[0] = static_cast<u16>(vgpr + (registers & 255));
  i.dst = i.src[1] = static_cast<u16>(vgpr + (registers >> 8 & 255));
  i.src[2] = static_cast<u16>((registers >> 16 & 31) * 4);
  i.sdst = operand(registers >> 24);
  if (fields.returns) i.flags |= Returns;
}

void Decoder::sdwa(Inst &i, u32 word) {
  i.words = 2;
  i.constant = word;
  i.inner = i.run;
  if (is_known(i)) i.run = begins("v_readfirstlane") ? unknown : run_sdwa;  // its result is no vector register
  i.src[0] = static_cast<u16>((word & 255) + (word >> 23 & 1 ? 0 : vgpr));
  if (i.encoding != Encoding::VOP1 && word >> 31) i.src[1] = static_cast<u16>(i.src[1] - vgpr);
  i.neg = static_cast<u8>((word >> 20 & 1) | (word >> 28 & 1) << 1);
  i.abs = static_cast<u8>((word >> 21 & 1) | (word >> 29 & 1) << 1);
  if (i.encoding == Encoding::VOPC) {
    if (word >> 15 & 1) i.sdst = operand(word >> 8 & 127);
  } else {
    i.omod = word >> 14 & 3;
    if (word >> 13 & 1) clamp(i, i.inner);
  }
}

void Decoder::dpp(Inst &i, u32 word, bool signs) {
  i.constant = word;
  i.inner = i.run;
  if (std::strstr(name_, "64")) i.run = unknown;  // pairs of registers
  // A 16-bit operand above v127 is a high half (RDNA 3), which op_sel says of the moved word.
  if (signs && i.flags & Halves && (word & 255) >= 128 && std::strstr(name_, "16")) {
    const std::string_view name(name_);
    if (!name.ends_with("16") || name.find("dot") != name.npos || name.find("pk") != name.npos) i.run = unknown;
    i.op_sel |= 1;
    i.constant &= ~u32{128};
  }
  if (is_known(i)) i.run = run_dpp;
  i.flags |= Dpp;
  i.src[0] = static_cast<u16>(vgpr + (i.constant & 255));
  if (!signs) return;
  i.neg = static_cast<u8>((word >> 20 & 1) | (word >> 22 & 1) << 1);
  i.abs = static_cast<u8>((word >> 21 & 1) | (word >> 23 & 1) << 1);
}

void Decoder::vop3(Inst &i, std::size_t at) {
  const u32 w = word(at), next = word(at + 1);
  name(i, Encoding::VOP3, w >> 16 & 1023);
  i.flags |= Promoted;
  i.words = 2;
  for (int n = 0; n < 3; ++n) i.src[n] = operand(next >> 9 * n & 511);
  i.neg = next >> 29 & 7;
  i.omod = next >> 27 & 3;
  if (w >> 15 & 1) clamp(i, i.run);
  if (i.omod && generation_ == Generation::Gfx12) i.run = unknown;  // what RDNA 4 does is not known
  const u8 d = w & 255;
  i.dst = static_cast<u16>(vgpr + d);
  i.sdst = vcc;
  static constexpr const char *with_scalar_result[] = {
      "v_div_scale", "v_add_co",     "v_sub_co",  "v_subrev_co", "v_addc_co",
      "v_subb_co",   "v_subbrev_co", "v_mad_u64", "v_mad_i64",   "v_mad_co",
  };
  if (std::any_of(std::begin(with_scalar_result), std::end(with_scalar_result),
                  [this](const char *text) { return begins(text); })) {
    i.sdst = operand(w >> 8 & 127);
  } else {
    i.abs = w >> 8 & 7;
    i.op_sel = w >> 11 & 15;
    if (begins("v_cmp")) i.sdst = is_rdna() && begins("v_cmpx") ? none : operand(d);
    if (begins("v_readlane") || begins("v_readfirstlane") || begins("v_s_")) i.dst = operand(d);
  }
  if (!is_rdna()) return;
  if (i.src[0] == 250) {
    dpp(i, word(at + 2), false);
    i.words = 3;
  } else if (i.src[0] == 233 || i.src[0] == 234) {
    i.words = 3;
    i.run = unknown;
  } else {
    with_literal(i, at);
  }
}

void Decoder::vop3p(Inst &i, std::size_t at) {
  const u32 w = word(at), next = word(at + 1);
  name(i, Encoding::VOP3P, w >> 16 & 127);
  i.words = 2;
  i.dst = static_cast<u16>(vgpr + (w & 255));
  for (int n = 0; n < 3; ++n) i.src[n] = operand(next >> 9 * n & 511);
  i.neg = next >> 29 & 7;
  i.neg_hi = w >> 8 & 7;
  i.op_sel = w >> 11 & 7;
  i.op_sel_hi = static_cast<u8>((next >> 27 & 3) | (w >> 14 & 1) << 2);
  if (w >> 15 & 1) clamp(i, i.run);
  if (is_rdna()) with_literal(i, at);
}

}  // namespace isa
