// The hazards that AMD's documents leave to software, a row each, and the search for them in straight-line code.
#include "hazards.h"

#include <algorithm>
#include <atomic>

namespace isa {
namespace hazards {

using Found = Several;

Found one(const Registers &registers) { return Found(registers); }

// What the first instruction of a pair has to do with registers.
Found valu_result(const Classified &s) { return one(s.written()); }
Found valu_scalar(const Classified &s) { return s.kind.vector ? one(s.scalars_written()) : Found{}; }
Found valu_exec(const Classified &s) { return s.kind.vector && s.kind.writes_exec ? Found({exec, 2}) : Found{}; }
Found plain_result(const Classified &s) { return s.kind.matrix || s.kind.dot ? Found{} : valu_result(s); }
Found trans_result(const Classified &s) { return s.kind.trans ? valu_result(s) : Found{}; }
Found dot_result(const Classified &s) { return s.kind.dot ? valu_result(s) : Found{}; }
Found part_of_result(const Classified &s) {
  const bool sdwa = s.inst->run == run_sdwa && !s.kind.compare && (s.inst->constant >> 8 & 7) != 6;
  const bool high = s.inst->encoding == Encoding::VOP3 && s.inst->op_sel & 8;
  return sdwa || high ? valu_result(s) : Found{};
}
bool is_known(const Inst &i) { return i.run != unknown && i.run != no_instruction; }
bool is_timed(const Classified &s) { return s.kind.passes && is_known(*s.inst); }
Found xdl_result(const Classified &s) { return is_timed(s) && s.kind.xdl ? valu_result(s) : Found{}; }
Found matrix_f32_result(const Classified &s) { return is_timed(s) && !s.kind.xdl ? valu_result(s) : Found{}; }
Found matrix_result(const Classified &s) { return is_timed(s) ? valu_result(s) : Found{}; }
Found matrix_addend(const Classified &s) {
  const bool reads = is_timed(s) && s.inst->src[2] >= vgpr && s.inst->src[2] < temporary;
  return reads ? Found({s.inst->src[2], s.kind.words}) : Found{};
}
Found xdl_addend(const Classified &s) { return s.kind.xdl ? matrix_addend(s) : Found{}; }
// One to a buffer with an offset in a scalar register leaves time enough (LLVM, createsVALUHazard).
Found wide_store(const Classified &s) {
  const bool slow = s.inst->encoding == Encoding::MUBUF && s.inst->sdst < 128;
  return s.kind.stored > 2 && !slow ? one({s.inst->src[1], s.kind.stored}) : Found{};
}
Found set_register(const Classified &s) { return s.kind.sets_register ? one(s.scalars_written()) : Found{}; }
Found salu_m0(const Classified &s) {
  return s.kind.scalar && s.inst->dst == m0 && !s.kind.sets_register ? Found({m0, 1}) : Found{};
}
Found wmma_result(const Classified &s) { return s.kind.wmma ? valu_result(s) : Found{}; }

// What the second one has.
Found moved(const Classified &s) { return s.inst->run == run_dpp ? Found({s.inst->src[0], 1}) : Found{}; }
Found dpp_lanes(const Classified &s) { return s.inst->run == run_dpp ? Found({exec, 2}) : Found{}; }
Found selected_lane(const Classified &s) {
  return s.kind.lane_select && s.inst->src[1] < 128 ? Found({s.inst->src[1], 1}) : Found{};
}
Found base_address(const Classified &s) {
  Found found;
  if (!s.kind.memory || s.inst->src[2] >= 128) return found;
  const bool buffer = s.inst->encoding == Encoding::MUBUF;
  const u16 count = s.inst->encoding == Encoding::SCRATCH ? 1 : buffer ? 4 : 2;
  found.add({s.inst->src[2], count});
  if (buffer && s.inst->sdst < 128) found.add({s.inst->sdst, 1});
  return found;
}
Found div_fmas_mask(const Classified &s) { return s.kind.div_fmas ? Found({vcc, 2}) : Found{}; }
Found scalar_operands(const Classified &s) { return s.scalars_read(); }
Found lane_source(const Classified &s) {
  return s.kind.reads_lane && s.inst->src[0] >= vgpr ? Found({s.inst->src[0], 1}) : Found{};
}
Found lanes_of_lane_access(const Classified &s) {
  return s.kind.reads_lane || s.kind.lane_select ? Found({exec, 2}) : Found{};
}
Found used_register(const Classified &s) {
  return s.kind.gets_register || s.kind.sets_register
             ? Found({static_cast<u16>(hardware_register + (s.inst->constant & 63)), 1})
             : Found{};
}
Found used_m0(const Classified &s) { return s.kind.reads_m0 ? Found({m0, 1}) : Found{}; }
Found plain_operands(const Classified &s) { return s.kind.trans || !s.kind.vector ? Found{} : s.read(); }
Found valu_operands(const Classified &s) { return s.kind.vector ? s.read() : Found{}; }
Found operands(const Classified &s) { return s.kind.matrix ? Found{} : s.read(); }
Found plain_written(const Classified &s) { return s.kind.matrix ? Found{} : valu_result(s); }
Found matrix_operands(const Classified &s) { return s.kind.matrix ? s.read() : Found{}; }
Found factors(const Classified &s) {
  Found found;
  for (int n = 0; n < 2; ++n)
    if ((s.kind.matrix || s.kind.wmma) && s.inst->src[n] >= vgpr && s.inst->src[n] < temporary)
      found.add({s.inst->src[n], s.kind.factor});
  return found;
}
Found matrix_lanes(const Classified &s) { return s.kind.matrix ? Found({exec, 2}) : Found{}; }

enum Chips : u8 { Gfx906 = 1, Gfx90a = 2, Gfx942 = 4, Gfx950 = 8, Gfx1100 = 16, Rdna3And4 = 32 };
constexpr u8 vega = Gfx906 | Gfx90a | Gfx942 | Gfx950, cdna3 = Gfx942 | Gfx950, matrices = Gfx90a | Gfx942;

// What else decides: Passes adds those of the first instruction; Partly excepts an addend that is all of its result;
// OtherDot excepts the same dot product; Vectors counts VALU instructions in place of wait states, up to another trans
// and to what waits for all of them.
enum Rule : u8 { Plain, Passes, Partly, OtherDot, Vectors, AnyVector };

struct Row {
  u8 targets;
  const char *first;
  Found (*producer)(const Classified &);
  const char *second;
  Found (*consumer)(const Classified &);
  int needed;
  Rule rule;
  const char *source;
};

constexpr const char *vega_isa = "Vega ISA document, 4.5";
constexpr const char *llvm_valu = "LLVM, GCNHazardRecognizer, checkVALUHazards";
constexpr const char *llvm_matrix = "LLVM, GCNHazardRecognizer, checkMAIHazards90A and checkMAIVALUHazards";
constexpr const char *llvm_rdna = "LLVM, GCNHazardRecognizer, fixVALUTransUseHazard and fixWMMAHazards";

constexpr Row rows[] = {
    {vega, "a VALU instruction writes", valu_result, "DPP moves it", moved, 2, Plain, vega_isa},
    {vega, "a VALU instruction writes", valu_exec, "DPP follows", dpp_lanes, 5, Plain, vega_isa},
    {vega, "a VALU instruction writes", valu_scalar, "it selects a lane", selected_lane, 4, Plain, vega_isa},
    {vega, "a VALU instruction writes", valu_scalar, "it is the base of an address", base_address, 5, Plain, vega_isa},
    {vega, "a VALU instruction writes", valu_scalar, "v_div_fmas reads it", div_fmas_mask, 4, Plain, vega_isa},
    {vega, "s_setreg writes", set_register, "it is accessed again", used_register, 2, Plain, vega_isa},
    {vega, "a SALU instruction writes", salu_m0, "it is read", used_m0, 1, Plain, vega_isa},
    {Gfx906 | Gfx90a, "a store of over 8 bytes reads", wide_store, "a VALU instruction writes it", valu_result, 1,
     Plain, vega_isa},
    {cdna3, "a store of over 8 bytes reads", wide_store, "a VALU instruction writes it", valu_result, 2, Plain,
     llvm_valu},
    {cdna3, "an approximate function writes", trans_result, "another VALU instruction reads it", plain_operands, 1,
     Plain, llvm_valu},
    {cdna3, "a VALU instruction writes a part of", part_of_result, "a VALU instruction reads it", valu_operands, 1,
     Plain, llvm_valu},
    {cdna3, "a VALU instruction writes", valu_scalar, "a VALU instruction reads it", scalar_operands, 2, Plain,
     llvm_valu},
    {cdna3, "a VALU instruction writes", valu_result, "a lane of it is read", lane_source, 1, Plain, llvm_valu},
    {cdna3, "a VALU instruction writes", valu_exec, "a lane is accessed", lanes_of_lane_access, 4, Plain, llvm_valu},
    {matrices, "a VALU instruction writes", valu_exec, "MFMA follows", matrix_lanes, 4, Plain, llvm_matrix},
    {matrices, "a VALU instruction writes", plain_result, "MFMA reads it", matrix_operands, 2, Plain, llvm_matrix},
    {matrices, "a dot product writes", dot_result, "another instruction reads it", operands, 3, OtherDot, llvm_matrix},
    {matrices, "a dot product writes", dot_result, "another instruction writes it", plain_written, 3, OtherDot,
     llvm_matrix},
    {Gfx90a, "MFMA writes", matrix_result, "MFMA multiplies it", factors, 3, Passes, llvm_matrix},
    {Gfx90a, "MFMA writes", matrix_result, "MFMA adds a part of it", matrix_addend, 0, Partly, llvm_matrix},
    {Gfx90a, "MFMA writes", matrix_result, "another instruction reads it", operands, 3, Passes, llvm_matrix},
    {Gfx90a, "MFMA writes", matrix_result, "a VALU instruction writes it", plain_written, 3, Passes, llvm_matrix},
    {Gfx90a, "MFMA adds", matrix_addend, "a VALU instruction writes it", plain_written, -1, Passes, llvm_matrix},
    {Gfx942, "MFMA writes", xdl_result, "MFMA multiplies it", factors, 3, Passes, llvm_matrix},
    {Gfx942, "MFMA writes", xdl_result, "MFMA adds a part of it", matrix_addend, 1, Partly, llvm_matrix},
    {Gfx942, "MFMA writes", xdl_result, "another instruction reads it", operands, 3, Passes, llvm_matrix},
    {Gfx942, "MFMA writes", xdl_result, "a VALU instruction writes it", plain_written, 3, Passes, llvm_matrix},
    {Gfx942, "MFMA adds", xdl_addend, "a VALU instruction writes it", plain_written, -1, Passes, llvm_matrix},
    {Gfx942, "MFMA of f32 writes", matrix_f32_result, "MFMA multiplies it", factors, 2, Passes, llvm_matrix},
    {Gfx942, "MFMA of f32 writes", matrix_f32_result, "another instruction reads it", operands, 2, Passes, llvm_matrix},
    {Gfx942, "MFMA of f32 writes", matrix_f32_result, "a VALU instruction writes it", plain_written, 2, Passes,
     llvm_matrix},
    {Gfx1100, "an approximate function writes", trans_result, "a VALU instruction reads it", valu_operands, 6, Vectors,
     llvm_rdna},
    {Rdna3And4, "WMMA writes", wmma_result, "WMMA multiplies it", factors, 1, AnyVector, llvm_rdna},
};

u8 target_bits(const std::string &name) {
  // CDNA 1 has those of Vega; its own of MFMA, other than CDNA 2's, are not among the rows.
  static constexpr struct {
    const char *name;
    int bits;
  } targets[] = {{"gfx906", Gfx906},     {"gfx908", Gfx906},    {"gfx90a", Gfx90a},
                 {"gfx942", Gfx942},     {"gfx950", Gfx950},    {"gfx1100", Gfx1100 | Rdna3And4},
                 {"gfx1151", Rdna3And4}, {"gfx1201", Rdna3And4}};
  for (const auto &target : targets)
    if (name.substr(0, name.find(':')) == target.name) return static_cast<u8>(target.bits);
  return 0;
}

constexpr int most_passes = 16;

std::atomic<u64> found_total{0};

int reach(const Row &row) { return row.needed + (row.rule == Passes || row.rule == Partly ? most_passes : 0); }

std::string register_name(u16 code) {
  if (code >= hardware_register) return "a hardware register";
  if (code >= vgpr + 256) return "a" + std::to_string(code - vgpr - 256);
  if (code >= vgpr) return "v" + std::to_string(code - vgpr);
  if (code == vcc || code == vcc + 1) return "vcc";
  return code == exec || code == exec + 1 ? "exec" : code == m0 ? "m0" : "s" + std::to_string(code);
}

[[noreturn]] void run_hazard(Wave &w, const Inst &i) {
  const Code &code = *w.launch->code;
  const Hazard &hazard = code.hazards.at(i.index);
  const Inst &before = code.insts[hazard.first];
  throw Fault(Fault::Other, std::string(mnemonic(code.target, i)) + " comes " + hazard.gap + " after the " +
                                mnemonic(code.target, before) + " at " + w.launch->address(before) + hazard.why);
}

// How much lies between two instructions, on the way back from the second.
struct Distance {
  int states = 0, vectors = 0, trans = 0;
  bool waited = false;

  void pass(const Classified &s) {
    states += s.kind.idles ? static_cast<int>(s.inst->constant & 15) + 1 : 1;
    vectors += s.kind.vector;
    trans += s.kind.trans;
    waited |= s.kind.memory || s.kind.lds || (s.kind.waits_for_vectors && s.inst->constant >> 12 == 0);
  }
};

// How many wait states (or VALU instructions) are missing between `first` and `second`; 0 where all is well.
int missing(const Row &row, const Classified &first, const Classified &second, const Registers &a, const Registers &b,
            const Distance &between) {
  const auto lacks = [&](int needed) { return std::max(0, needed - between.states); };
  switch (row.rule) {
    case Passes:
      return lacks(row.needed + first.kind.passes);
    case Partly:
      if (second.kind.xdl && !first.kind.xdl) return 0;
      return a.first == b.first && a.count == b.count ? 0 : lacks(row.needed + first.kind.passes);
    case OtherDot:
      return first.inst->opcode == second.inst->opcode && first.inst->encoding == second.inst->encoding
                 ? 0
                 : lacks(row.needed);
    case Vectors:
      return between.waited || between.trans > 1 ? 0 : std::max(0, row.needed - between.vectors);
    case AnyVector:
      return std::max(0, row.needed - between.vectors);
    default:
      return lacks(row.needed);
  }
}

std::string counted(int count, const char *what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

// A row for which an instruction is the first or the second of a pair, and the registers.
struct Part {
  u32 row;
  Registers registers;
};

class Search {
 public:
  Search(Code &code, const std::vector<Kind> &kinds, const std::vector<bool> &labels)
      : code_(code), kinds_(kinds), labels_(labels) {
    const u8 target = target_bits(code.target);
    const bool timed = std::any_of(kinds.begin(), kinds.end(), [](const Kind &kind) { return kind.passes != 0; });
    for (const Row &row : rows)
      if (row.targets & target && (timed || reach(row) < most_passes - 1)) asked_.push_back(&row);
  }

  void run() {
    if (asked_.empty()) return;
    for (std::size_t n = 0; n < kinds_.size(); ++n) {
      find_producers(n);
      if (n) look_back(n);
    }
    for (const auto &[index, hazard] : code_.hazards)
      if (is_known(code_.insts[index])) code_.insts[index].run = run_hazard;  // else there is no verdict at all
  }

 private:
  Classified seen(std::size_t n) const { return {&code_.insts[n], &code_, kinds_[n]}; }

  // What instruction `n` may be the first of a pair by, behind that of those before it.
  void find_producers(std::size_t n) {
    const Classified s = seen(n);
    begins_.push_back(static_cast<u32>(parts_.size()));
    const Kind &k = s.kind;
    if (!k.vector && !k.scalar && !k.stored) return;
    for (u32 row = 0; row < asked_.size(); ++row)
      for (const Registers &each : asked_[row]->producer(s)) parts_.push_back({row, each});
  }

  void look_back(std::size_t n) {
    const Classified second = seen(n);
    std::vector<Part> &wanted = wanted_;
    wanted.clear();
    int farthest = 0;
    for (u32 row = 0; row < asked_.size(); ++row)
      for (const Registers &each : asked_[row]->consumer(second)) {
        wanted.push_back({row, each});
        farthest = std::max(farthest, reach(*asked_[row]));
      }
    if (wanted.empty()) return;
    Distance between;
    std::vector<Registers> &overwritten = overwritten_;  // between the two: the second has nothing of the first
    overwritten.clear();
    for (std::size_t at = n; at-- > 0 && !labels_[at + 1] && !kinds_[at].ends;) {
      const Classified first = seen(at);
      const u32 end = begins_[at + 1];
      for (u32 p = begins_[at]; p < end; ++p)
        for (const Part &part : wanted)
          if (part.row == parts_[p].row && overlap(part.registers, parts_[p].registers) &&
              !hidden(part.registers, parts_[p].registers) && note(part, parts_[p].registers, first, second, between))
            return;
      overwritten.push_back(first.written());
      overwritten.push_back(first.scalars_written());
      between.pass(first);
      if (between.states >= farthest && between.vectors >= farthest) return;
      if (between.states >= 4 * most_passes) return;
    }
  }

  bool hidden(const Registers &a, const Registers &b) const {
    return std::any_of(overwritten_.begin(), overwritten_.end(), [&](const Registers &between) {
      return !between.empty() && overlap(between, a) && overlap(between, b);
    });
  }

  bool note(const Part &part, const Registers &written, const Classified &first, const Classified &second,
            const Distance &d) {
    const Row &row = *asked_[part.row];
    const int lacking = missing(row, first, second, written, part.registers, d);
    if (!lacking) return false;
    const bool counts = row.rule == Vectors || row.rule == AnyVector;
    const int had = counts ? d.vectors : d.states;
    code_.hazards[second.inst->index] = {first.inst->index, counted(had, counts ? "VALU instruction" : "wait state"),
                                         ", and " + std::to_string(had + lacking) + " are needed where " + row.first +
                                             " " + register_name(std::max(written.first, part.registers.first)) +
                                             " and " + row.second + " (" + row.source + ")"};
    return true;
  }

  Code &code_;
  const std::vector<Kind> &kinds_;
  const std::vector<bool> &labels_;
  std::vector<const Row *> asked_;
  std::vector<Part> parts_, wanted_;
  std::vector<u32> begins_;
  std::vector<Registers> overwritten_;
};

}  // namespace hazards

void find_hazards(Code &code, const std::vector<Kind> &kinds, const std::vector<bool> &labels) {
  hazards::Search(code, kinds, labels).run();
  hazards::found_total += code.hazards.size();
}

u64 hazards_found() { return hazards::found_total; }

}  // namespace isa
