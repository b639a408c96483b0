// The encodings of Vega and CDNA that have two words.

#include "decoder.h"

namespace isa {
namespace {

class CdnaDecoder : public Decoder {
 public:
  CdnaDecoder(Table &table, Code &code, const u8 *text, std::size_t bytes)
      : Decoder(table, Generation::Gfx9, code, text, bytes) {}

 private:
  void long_one(Inst &i, std::size_t at) override {
    const u32 w = word(at), next = word(at + 1);
    switch (w >> 26) {
      case 0x30:
        scalar_memory(i, w, next);
        break;
      case 0x34:
        if ((w >> 23 & 7) == 7 && is_matrix(w >> 16 & 127))
          matrix(i, w, next);
        else if ((w >> 23 & 7) == 7)
          vop3p(i, at);
        else
          vop3(i, at);
        break;
      case 0x36:
        name(i, Encoding::DS, w >> 17 & 255);
        lds(i, w, next);
        if (w >> 16 & 1) i.run = unknown;  // GDS
        if (w >> 25 & 1)                   // data in accumulation registers
          for (u16 *data : {&i.src[1], &i.src[2], &i.dst}) *data = static_cast<u16>(*data + 256);
        break;
      case 0x37:
        flat(i, w, next);
        break;
      case 0x38:
        name(i, Encoding::MUBUF, w >> 18 & 127);
        buffer(i, w, next);
        break;
      case 0x31:
      case 0x3a:
      case 0x3c:
        i.words = 2;
        i.run = no_instruction;
        break;
      default:
        i.run = no_instruction;
    }
  }

  bool is_matrix(u32 opcode) {
    const char *name = table_.at(Encoding::VOP3P, opcode).name;
    return name && (std::strncmp(name, "v_mfma", 6) == 0 || std::strncmp(name, "v_smfmac", 8) == 0);
  }

  // VOP3P with operands in accumulation registers where bits say so.
  void matrix(Inst &i, u32 w, u32 next) {
    name(i, Encoding::VOP3P, w >> 16 & 127);
    i.words = 2;
    const bool apart = code_.target.starts_with("gfx908");  // CDNA 1 adds up in accumulation registers alone
    const bool accumulated[] = {(next >> 27 & 1) != 0, (next >> 28 & 1) != 0, apart || (w >> 15 & 1) != 0};
    i.dst = static_cast<u16>(vgpr + (w & 255) + (accumulated[2] ? 256 : 0));
    for (int n = 0; n < 3; ++n) {
      i.src[n] = operand(next >> 9 * n & 511);
      if (i.src[n] >= vgpr && accumulated[n]) i.src[n] = static_cast<u16>(i.src[n] + 256);
    }
    if (w >> 8 & 0x7f || next >> 29) i.run = unknown;  // broadcasts and permutations of blocks
  }

  void scalar_memory(Inst &i, u32 w, u32 next) {
    name(i, Encoding::SMEM, w >> 18 & 255);
    i.words = 2;
    i.src[0] = static_cast<u16>((w & 63) << 1);
    i.dst = w >> 6 & 127;
    const u32 offset = next & 0x1fffff;
    if (w >> 17 & 1)
      i.constant = static_cast<u32>(static_cast<i32>(offset << 11) >> 11);
    else
      i.src[1] = offset & 127;
    if (w >> 14 & 1) i.src[1] = next >> 25;
  }

  void buffer(Inst &i, u32 w, u32 next) {
    buffer_operands(i, {.registers = next, .offset = w & 0xfff, .parts = w >> 12 & 3, .returns = (w >> 14 & 1) != 0});
    if (w >> 16 & 1) i.run = unknown;  // loads into LDS
    if (!(next >> 23 & 1)) return;
    if (code_.target.starts_with("gfx906") || code_.target.starts_with("gfx908")) i.run = unknown;  // a status
    for (u16 *data : {&i.src[1], &i.dst}) *data = static_cast<u16>(*data + 256);  // in accumulation registers
  }

  void flat(Inst &i, u32 w, u32 next) {
    const u32 segment = w >> 14 & 3;
    name(i, segment == 0 ? Encoding::FLAT : segment == 1 ? Encoding::SCRATCH : Encoding::GLOBAL, w >> 18 & 127);
    i.words = 2;
    i.constant = segment ? static_cast<u32>(static_cast<i32>(w << 19) >> 19) : w & 0xfff;
    i.src[0] = static_cast<u16>(vgpr + (next & 255));
    const u16 first = vgpr + (next >> 23 & 1 ? 256 : 0);  // or accumulation registers
    i.src[1] = static_cast<u16>(first + (next >> 8 & 255));
    const u16 base = next >> 16 & 127;
    const bool cdna3 = (code_.target.starts_with("gfx94") || code_.target.starts_with("gfx95"));
    if (segment && base != 127) i.src[2] = base;
    if (!cdna3 && w >> 13 & 1) i.run = unknown;  // loads into LDS
    if (segment == 1) {
      // CDNA 3 and 4 have a bit that says whether lanes have an address of their own.
      const bool own_address = cdna3 ? w >> 13 & 1 : i.src[2] == none;
      if (!own_address) i.src[0] = none;
    }
    i.dst = static_cast<u16>(first + (next >> 24));
    if (w >> 16 & 1) i.flags |= Returns;
  }
};

}  // namespace

std::unique_ptr<Decoder> cdna_decoder(Table &table, Code &code, const u8 *text, std::size_t bytes) {
  return std::make_unique<CdnaDecoder>(table, code, text, bytes);
}

}  // namespace isa
