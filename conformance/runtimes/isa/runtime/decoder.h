// What the encodings of all generations have in common: scalar instructions, VOP1, VOP2, VOPC and VOP3.
#pragma once

#include <algorithm>
#include <memory>

#include "machine.h"

namespace isa {

struct Known {
  const char *name = nullptr;
  Run run = nullptr;
};

constexpr int encodings = static_cast<int>(Encoding::VOPD) + 1;
constexpr int opcodes = 1024;

// The opcodes of a target, with what they do.
struct Table {
  std::vector<Known> known = std::vector<Known>(encodings * opcodes);

  Known &at(Encoding e, u32 opcode) { return known[static_cast<u32>(e) * opcodes + opcode]; }
};

// Gfx9 (Vega and CDNA), Gfx10 (RDNA 1 and 2), Gfx11 (RDNA 3), Gfx12 (RDNA 4).
enum class Generation : u8 { Gfx9 = 9, Gfx10 = 10, Gfx11 = 11, Gfx12 = 12 };

// Of a buffer instruction: the registers as the second word of most encodings has them, and which the address has.
struct BufferFields {
  u32 registers, offset, parts;
  bool returns;
};

class Decoder {
 public:
  Decoder(Table &table, Generation generation, Code &code, const u8 *text, std::size_t bytes)
      : table_(table), generation_(generation), code_(code), text_(text), words_(bytes / 4) {}
  virtual ~Decoder() = default;

  // The instruction at word `at`; its length in words is at least 1.
  Inst one(std::size_t at);

  bool branches = false;  // the last one is a branch, whose `constant` is a distance in words

 protected:
  virtual void long_one(Inst &i, std::size_t at) = 0;

  u32 word(std::size_t at) const { return at < words_ ? load_as<u32>(text_ + 4 * at) : 0; }
  bool is_rdna() const { return generation_ != Generation::Gfx9; }
  void name(Inst &i, Encoding e, u32 opcode);
  bool begins(const char *text) const { return std::strncmp(name_, text, std::strlen(text)) == 0; }
  // An operand as ours are numbered: RDNA 3 has m0 and null the other way round, and null is none of ours.
  u16 operand(u32 code) const;
  void with_literal(Inst &i, std::size_t at);
  void dpp(Inst &i, u32 word, bool signs);
  void vop3(Inst &i, std::size_t at);
  void vop3p(Inst &i, std::size_t at);
  void lds(Inst &i, u32 first, u32 second);
  void buffer_operands(Inst &i, const BufferFields &fields);

  Table &table_;
  Generation generation_;
  Code &code_;
  const u8 *text_;
  std::size_t words_;
  const char *name_ = "";

 private:
  void scalar(Inst &i, std::size_t at);
  void vector(Inst &i, std::size_t at);
  void sdwa(Inst &i, u32 word);
  void clamp(Inst &i, Run &run);
};

std::unique_ptr<Decoder> cdna_decoder(Table &, Code &, const u8 *text, std::size_t bytes);
std::unique_ptr<Decoder> rdna_decoder(Table &, Generation, Code &, const u8 *text, std::size_t bytes);

}  // namespace isa
