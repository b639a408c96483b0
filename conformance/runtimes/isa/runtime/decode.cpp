// From words to instructions, once for a code object. The encodings are those of Vega and CDNA; what an opcode is called
// comes from tables made of llvm-mc's.
#include <algorithm>
#include <map>
#include <memory>

#include "machine.h"

namespace isa {
namespace {

struct Opcode {
  Encoding encoding;
  u16 number;
  const char *name;
};

constexpr Opcode gfx906[] = {
#include "opcodes_gfx906.inc"
};
constexpr Opcode gfx90a[] = {
#include "opcodes_gfx90a.inc"
};
constexpr Opcode gfx942[] = {
#include "opcodes_gfx942.inc"
};

struct Known {
  const char *name = nullptr;
  Run run = nullptr;
};

constexpr int encodings = static_cast<int>(Encoding::MUBUF) + 1;
constexpr int opcodes = 1024;

// The opcodes of a target, with what they do.
struct Table {
  std::vector<Known> known = std::vector<Known>(encodings * opcodes);

  template <std::size_t n>
  explicit Table(const Opcode (&rows)[n]) {
    for (const Opcode &row : rows) {
      Run run = nullptr;
      for (auto *find : {find_scalar, find_control, find_compare, find_float, find_integer, find_packed, find_memory,
                         find_lds})
        if (!run) run = find(row.name);
      at(row.encoding, row.number) = {row.name, run};
    }
  }
  Known &at(Encoding e, u32 opcode) { return known[static_cast<u32>(e) * opcodes + opcode]; }
};

Table *table_of(const std::string &target) {
  const std::string processor = target.substr(0, target.find(':'));
  static Table &vega = *new Table(gfx906), &cdna2 = *new Table(gfx90a), &cdna3 = *new Table(gfx942);
  if (processor == "gfx906") return &vega;
  if (processor == "gfx90a") return &cdna2;
  if (processor == "gfx942") return &cdna3;
  return nullptr;
}

[[noreturn]] void unknown(Wave &w, const Inst &i) {
  throw Fault(Fault::Unknown, mnemonic(w.launch->code->target, i));
}

[[noreturn]] void no_instruction(Wave &, const Inst &) { throw Fault(Fault::Unknown, "an instruction word"); }

class Decoder {
 public:
  Decoder(Table &table, const u8 *text, std::size_t bytes) : table_(table), text_(text), words_(bytes / 4) {}

  // The instruction at word `at`; its length in words is at least 1.
  Inst one(std::size_t at) {
    Inst i{};
    i.words = 1;
    i.opcode = opcodes - 1;  // which no encoding has
    i.src[0] = i.src[1] = i.src[2] = i.dst = i.sdst = none;
    const u32 w = word(at), next = word(at + 1);
    if (w >> 31 == 0)
      vector(i, w, next);
    else if (w >> 30 == 2)
      scalar(i, w, next);
    else
      long_one(i, w, next);
    return i;
  }

 private:
  u32 word(std::size_t at) const { return at < words_ ? load_as<u32>(text_ + 4 * at) : 0; }

  void name(Inst &i, Encoding e, u32 opcode) {
    i.encoding = e;
    i.opcode = static_cast<u16>(opcode);
    const Known &known = table_.at(e, opcode);
    i.run = known.run ? known.run : known.name ? unknown : no_instruction;
    name_ = known.name ? known.name : "";
  }
  bool begins(const char *text) const { return std::strncmp(name_, text, std::strlen(text)) == 0; }

  void with_literal(Inst &i, u32 next) {
    if (i.words == 1 && std::find(i.src, i.src + 3, literal) != i.src + 3) {
      i.constant = next;
      i.words = 2;
    }
  }

  void scalar(Inst &i, u32 w, u32 next) {
    const u16 s0 = w & 255, s1 = w >> 8 & 255, d = w >> 16 & 127;
    switch (w >> 23) {
      case 0x17f:
        name(i, Encoding::SOPP, w >> 16 & 127);
        i.constant = w & 0xffff;
        branches_ = begins("s_branch") || begins("s_cbranch");
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
          if ((w >> 23 & 31) == 20) i.words = 2;  // s_setreg_imm32_b32
          return;
        }
        name(i, Encoding::SOP2, w >> 23 & 127);
        i.src[0] = s0;
        i.src[1] = s1;
        i.dst = d;
    }
    with_literal(i, next);
  }

  // VOP1, VOP2 and VOPC, which may have a literal, SDWA or DPP behind them.
  void vector(Inst &i, u32 w, u32 next) {
    const u32 opcode = w >> 25;
    const u16 s0 = w & 511, v1 = static_cast<u16>(vgpr + (w >> 9 & 255)), d = static_cast<u16>(vgpr + (w >> 17 & 255));
    i.src[0] = s0;
    if (opcode == 0x3f) {
      name(i, Encoding::VOP1, w >> 9 & 255);
      i.dst = begins("v_readfirstlane") ? static_cast<u16>(w >> 17 & 255) : d;
    } else if (opcode == 0x3e) {
      name(i, Encoding::VOPC, w >> 17 & 255);
      i.src[1] = v1;
      i.sdst = vcc;
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
    if (s0 == 249)
      sdwa(i, next);
    else if (s0 == 250)
      dpp(i, next);
    else
      with_literal(i, next);
  }

  void sdwa(Inst &i, u32 word) {
    i.words = 2;
    i.constant = word;
    i.inner = i.run;
    if (i.run != unknown && i.run != no_instruction) i.run = run_sdwa;
    i.flags |= Sdwa;
    i.src[0] = static_cast<u16>((word & 255) + (word >> 23 & 1 ? 0 : vgpr));
    if (i.encoding != Encoding::VOP1 && word >> 31) i.src[1] = static_cast<u16>(i.src[1] - vgpr);
    i.neg = static_cast<u8>((word >> 20 & 1) | (word >> 28 & 1) << 1);
    i.abs = static_cast<u8>((word >> 21 & 1) | (word >> 29 & 1) << 1);
    if (i.encoding == Encoding::VOPC) {
      if (word >> 15 & 1) i.sdst = word >> 8 & 127;
    } else {
      if (word >> 13 & 1) i.flags |= Clamp;
      i.omod = word >> 14 & 3;
    }
  }

  void dpp(Inst &i, u32 word) {
    i.words = 2;
    i.constant = word;
    i.inner = i.run;
    if (i.run != unknown && i.run != no_instruction) i.run = run_dpp;
    i.flags |= Dpp;
    i.src[0] = static_cast<u16>(vgpr + (word & 255));
    i.neg = static_cast<u8>((word >> 20 & 1) | (word >> 22 & 1) << 1);
    i.abs = static_cast<u8>((word >> 21 & 1) | (word >> 23 & 1) << 1);
  }

  void vop3(Inst &i, u32 w, u32 next) {
    const u32 opcode = w >> 16 & 1023;
    name(i, Encoding::VOP3, opcode);
    i.flags |= Promoted;
    i.words = 2;
    for (int n = 0; n < 3; ++n) i.src[n] = next >> 9 * n & 511;
    i.neg = next >> 29 & 7;
    i.omod = next >> 27 & 3;
    if (w >> 15 & 1) i.flags |= Clamp;
    const u8 d = w & 255;
    i.dst = static_cast<u16>(vgpr + d);
    i.sdst = vcc;
    if (begins("v_cmp")) {
      i.sdst = d;
      i.abs = w >> 8 & 7;
      i.op_sel = w >> 11 & 15;
    } else if (begins("v_div_scale") || begins("v_add_co") || begins("v_sub_co") || begins("v_subrev_co") ||
               begins("v_addc_co") || begins("v_subb_co") || begins("v_subbrev_co") || begins("v_mad_u64") ||
               begins("v_mad_i64")) {
      i.sdst = w >> 8 & 127;
    } else {
      i.abs = w >> 8 & 7;
      i.op_sel = w >> 11 & 15;
      if (begins("v_readlane") || begins("v_readfirstlane")) i.dst = d;
    }
    if ((begins("v_mad_u") || begins("v_mad_i")) && i.flags & Clamp) i.run = unknown;  // saturation of integers
  }

  void vop3p(Inst &i, u32 w, u32 next) {
    name(i, Encoding::VOP3P, w >> 16 & 127);
    i.words = 2;
    i.dst = static_cast<u16>(vgpr + (w & 255));
    for (int n = 0; n < 3; ++n) i.src[n] = next >> 9 * n & 511;
    i.neg = next >> 29 & 7;
    i.neg_hi = w >> 8 & 7;
    i.op_sel = w >> 11 & 7;
    i.op_sel_hi = static_cast<u8>((next >> 27 & 3) | (w >> 14 & 1) << 2);
    if (w >> 15 & 1) i.flags |= Clamp;
    if (begins("v_dot")) i.op_sel = 0;
  }

  void long_one(Inst &i, u32 w, u32 next) {
    switch (w >> 26) {
      case 0x30:
        scalar_memory(i, w, next);
        break;
      case 0x34:
        if ((w >> 23 & 7) == 7)
          vop3p(i, w, next);
        else
          vop3(i, w, next);
        break;
      case 0x36:
        name(i, Encoding::DS, w >> 17 & 255);
        i.words = 2;
        i.constant = w & 0xffff;
        i.src[0] = static_cast<u16>(vgpr + (next & 255));
        i.src[1] = static_cast<u16>(vgpr + (next >> 8 & 255));
        i.src[2] = static_cast<u16>(vgpr + (next >> 16 & 255));
        i.dst = static_cast<u16>(vgpr + (next >> 24));
        if (w >> 16 & 1 || w >> 25 & 1) i.run = unknown;  // GDS, and accumulation registers
        break;
      case 0x37:
        flat(i, w, next);
        break;
      case 0x38:
        name(i, Encoding::MUBUF, w >> 18 & 127);
        i.words = 2;
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

  void flat(Inst &i, u32 w, u32 next) {
    const u32 segment = w >> 14 & 3;
    name(i, segment == 0 ? Encoding::FLAT : segment == 1 ? Encoding::SCRATCH : Encoding::GLOBAL, w >> 18 & 127);
    i.words = 2;
    i.constant = static_cast<u32>(static_cast<i32>((w & 0x1fff) << 19) >> 19);
    if (segment == 0) i.constant = w & 0xfff;
    i.src[0] = static_cast<u16>(vgpr + (next & 255));
    i.src[1] = static_cast<u16>(vgpr + (next >> 8 & 255));
    const u16 base = next >> 16 & 127;
    if (segment && base != 127) i.src[2] = base;
    if (segment == 1) {
      i.constant = static_cast<u32>(static_cast<i32>((w & 0x1fff) << 19) >> 19);
      const bool has_lane_address = table_.at(Encoding::VOP3P, 62).name ? w >> 13 & 1 : i.src[2] == none;
      if (table_.at(Encoding::VOP3P, 62).name) i.constant = static_cast<u32>(static_cast<i32>((w & 0xfff) << 20) >> 20);
      if (!has_lane_address) i.src[0] = none;
    }
    i.dst = static_cast<u16>(vgpr + (next >> 24));
    if (w >> 16 & 1) i.flags |= Returns;
    if (next >> 23 & 1) i.run = unknown;  // accumulation registers
  }

  Table &table_;
  const u8 *text_;
  std::size_t words_;
  const char *name_ = "";

 public:
  bool branches_ = false;
};

}  // namespace

const char *mnemonic(const std::string &target, const Inst &i) {
  Table *table = table_of(target);
  const char *name = table ? table->at(i.encoding, i.opcode).name : nullptr;
  return name ? name : "an instruction word";
}

void decode(Code &code, const u8 *text, std::size_t bytes, const std::string &target) {
  Table *table = table_of(target);
  if (!table) throw Fault(Fault::Unknown, "the instructions of " + target);
  code.target = target;
  const std::size_t words = bytes / 4;
  code.index_of.assign(words, ~0u);
  code.insts.reserve(words);
  Decoder decoder(*table, text, bytes);
  std::vector<std::pair<u32, i64>> targets;
  for (std::size_t at = 0; at < words;) {
    decoder.branches_ = false;
    Inst i = decoder.one(at);
    i.index = static_cast<u32>(code.insts.size());
    if (decoder.branches_)
      targets.emplace_back(i.index, static_cast<i64>(at) + 1 + static_cast<i16>(i.constant));
    code.index_of[at] = i.index;
    code.offsets.push_back(static_cast<u32>(4 * at));
    code.insts.push_back(i);
    at += i.words;
  }
  // What runs beyond the end, or jumps to where no instruction begins, is a fault when it is executed.
  Inst end{};
  end.words = 1;
  end.index = static_cast<u32>(code.insts.size());
  end.run = [](Wave &, const Inst &) { throw Fault(Fault::Other, "runs beyond the end of the code"); };
  code.insts.push_back(end);
  code.offsets.push_back(static_cast<u32>(bytes));
  for (const auto &[index, word] : targets) {
    const bool valid = word >= 0 && word < static_cast<i64>(words) && code.index_of[static_cast<std::size_t>(word)] != ~0u;
    code.insts[index].constant = valid ? code.index_of[static_cast<std::size_t>(word)] : end.index;
  }
}

}  // namespace isa
