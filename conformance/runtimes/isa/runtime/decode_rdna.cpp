// The longer encodings of RDNA, two operations in one among them.

#include "decoder.h"

#include <string_view>
#include "operands.h"

namespace isa {
namespace {

// Both halves read their operands before either writes.
void run_dual(Wave &w, const Inst &i) {
  const Dual &both = w.launch->code->duals[i.constant];
  u32 *result = w.v[temporary - vgpr + 3];
  std::memcpy(result, w.out(both.x.dst - vgpr), sizeof(u32) * lanes);
  Inst x = both.x;
  x.dst = temporary + 3;
  x.run(w, x);
  both.y.run(w, both.y);
  put_words(w, w.exec_, both.x.dst - vgpr, result);
}

constexpr const char *dual_names[] = {
    "v_fmac_f32", "v_fmaak_f32",  "v_fmamk_f32",      "v_mul_f32",        "v_add_f32",
    "v_sub_f32",  "v_subrev_f32", "v_mul_legacy_f32", "v_mov_b32",        "v_cndmask_b32",
    "v_max_f32",  "v_min_f32",    "v_dot2c_f32_f16",  "v_dot2c_f32_bf16", nullptr,
    nullptr,      "v_add_u32",    "v_lshlrev_b32",    "v_and_b32",
};

class RdnaDecoder : public Decoder {
 public:
  using Decoder::Decoder;

 private:
  void long_one(Inst &i, std::size_t at) override {
    const u32 w = word(at), next = word(at + 1);
    const bool three = generation_ >= Generation::Gfx11;
    i.words = 2;
    switch (w >> 26) {
      case 0x32:
        if (three)
          dual(i, at);
        else
          i.words = 1, i.run = no_instruction;
        break;
      case 0x33:
        if (w >> 24 == 0xcc)
          vop3p(i, at);
        else
          i.words = w >> 24 == 0xce ? 1 : 2, i.run = no_instruction;
        break;
      case 0x35:
        vop3(i, at);
        break;
      case 0x36:
        name(i, Encoding::DS, w >> 18 & 255);
        lds(i, w, next);
        if (w >> 17 & 1) i.run = unknown;  // GDS
        break;
      case 0x37:
        flat(i, w, next, three);
        break;
      case 0x38:
        name(i, Encoding::MUBUF, three ? w >> 18 & 255 : w >> 18 & 127);
        buffer_operands(i, {.registers = next,
                            .offset = w & 0xfff,
                            .parts = three ? next >> 22 & 3 : w >> 12 & 3,
                            .returns = (w >> 14 & 1) != 0});
        if (three ? next >> 21 & 1 : next >> 23 & 1 || w >> 16 & 1) i.run = unknown;  // a status behind data, to LDS
        break;
      case 0x3b:
        if (generation_ == Generation::Gfx12)
          long_flat(i, at);
        else
          i.words = 1, i.run = no_instruction;
        break;
      case 0x31:
        if (generation_ == Generation::Gfx12)
          long_buffer(i, at);
        else
          i.words = 1, i.run = no_instruction;
        break;
      case 0x34:
      case 0x39:
        i.words = generation_ == Generation::Gfx12 ? 3 : 1;
        i.run = no_instruction;
        break;
      case 0x3d:
        name(i, Encoding::SMEM, generation_ == Generation::Gfx12 ? w >> 13 & 63 : w >> 18 & 255);
        i.src[0] = static_cast<u16>((w & 63) << 1);
        i.dst = operand(w >> 6 & 127);
        i.constant = generation_ == Generation::Gfx12 ? static_cast<u32>(static_cast<i32>(next << 8) >> 8)
                                                      : static_cast<u32>(static_cast<i32>(next << 11) >> 11);
        if (operand(next >> 25) != null_operand) i.src[1] = operand(next >> 25);
        break;
      case 0x3c:
        i.words = static_cast<u8>(three ? 2 + (w & 1) : 2 + (w >> 1 & 3));
        i.run = no_instruction;
        break;
      case 0x3a:
      case 0x3e:
        i.run = no_instruction;
        break;
      default:
        i.words = 1;
        i.run = no_instruction;
    }
  }

  void flat(Inst &i, u32 w, u32 next, bool three) {
    const u32 segment = three ? w >> 16 & 3 : w >> 14 & 3;
    name(i, segment == 0 ? Encoding::FLAT : segment == 1 ? Encoding::SCRATCH : Encoding::GLOBAL, w >> 18 & 127);
    const int unused = three ? 19 : 20;
    i.constant = static_cast<u32>(static_cast<i32>(w << unused) >> unused);
    i.src[0] = static_cast<u16>(vgpr + (next & 255));
    i.src[1] = static_cast<u16>(vgpr + (next >> 8 & 255));
    const u16 base = operand(next >> 16 & 127);
    if (segment && base != null_operand && base != 127) i.src[2] = base;
    if (segment == 1) {
      const bool own_address = three ? next >> 23 & 1 : i.src[2] == none;
      if (!own_address) i.src[0] = none;
    }
    i.dst = static_cast<u16>(vgpr + (next >> 24));
    if (w >> (three ? 14 : 16) & 1) i.flags |= Returns;
  }

  // RDNA 4: the third word has the lanes' address and the offset.
  void long_flat(Inst &i, std::size_t at) {
    const u32 w = word(at), next = word(at + 1), last = word(at + 2), segment = w >> 24 & 3;
    i.words = 3;
    name(i, segment == 0 ? Encoding::FLAT : segment == 1 ? Encoding::SCRATCH : Encoding::GLOBAL, w >> 14 & 255);
    i.constant = static_cast<u32>(static_cast<i32>(last) >> 8);
    i.src[0] = static_cast<u16>(vgpr + (last & 255));
    i.src[1] = static_cast<u16>(vgpr + (next >> 23 & 255));
    const u16 base = operand(w & 127);
    if (segment && base != null_operand) i.src[2] = base;
    if (segment == 1 && !(next >> 17 & 1)) i.src[0] = none;
    i.dst = static_cast<u16>(vgpr + (next & 255));
    if (next >> 20 & 1) i.flags |= Returns;
  }

  void long_buffer(Inst &i, std::size_t at) {
    const u32 w = word(at), next = word(at + 1), last = word(at + 2);
    name(i, Encoding::MUBUF, w >> 14 & 255);
    const u32 resource = next >> 11 & 31, scalar = w & 127;
    buffer_operands(i, {.registers = (last & 255) | (next & 255) << 8 | resource << 16 | scalar << 24,
                        .offset = last >> 8,
                        .parts = next >> 30,
                        .returns = (next >> 20 & 1) != 0});
    i.words = 3;
    if (w >> 22 & 1) i.run = unknown;  // a status behind data
  }

  Inst half(u32 opcode, u32 source, u32 second, u32 destination, u32 constant) {
    Inst i{};
    i.encoding = Encoding::VOP2;
    i.src[0] = operand(source);
    i.src[1] = static_cast<u16>(vgpr + second);
    i.src[2] = none;
    i.dst = static_cast<u16>(vgpr + destination);
    i.sdst = vcc;
    i.constant = constant;
    const char *found = opcode < std::size(dual_names) ? dual_names[opcode] : nullptr;
    i.run = found ? find_float(found) : nullptr;
    if (found && !i.run) i.run = find_integer(found);
    if (found && !i.run) i.run = find_dot(found);
    if (found && std::string_view(found) == "v_mov_b32") i.src[1] = none;
    if (opcode == 1) i.src[2] = literal;
    if (opcode == 2) {
      i.src[2] = i.src[1];
      i.src[1] = literal;
    }
    return i;
  }

  void dual(Inst &i, std::size_t at) {
    const u32 w = word(at), next = word(at + 1);
    i.encoding = Encoding::VOPD;
    const u32 x = w >> 22 & 15, y = w >> 17 & 31, to_x = next >> 24;
    const u32 to_y = (next >> 17 & 127) << 1 | (~to_x & 1);
    const bool constant = x == 1 || x == 2 || y == 1 || y == 2 || (w & 511) == literal || (next & 511) == literal;
    const u32 value = constant ? word(at + 2) : 0;
    i.words = constant ? 3 : 2;
    const Dual both{half(x, w & 511, w >> 9 & 255, to_x, value), half(y, next & 511, next >> 9 & 255, to_y, value)};
    if (!both.x.run || !both.y.run) {
      i.run = no_instruction;
      return;
    }
    i.run = run_dual;
    i.constant = static_cast<u32>(code_.duals.size());
    code_.duals.push_back(both);
  }
};

}  // namespace

std::unique_ptr<Decoder> rdna_decoder(Table &table, Generation generation, Code &code, const u8 *text,
                                      std::size_t bytes) {
  return std::make_unique<RdnaDecoder>(table, generation, code, text, bytes);
}

}  // namespace isa
