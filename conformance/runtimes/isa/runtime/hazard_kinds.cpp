// What instructions read and write, as far as hazards go.
#include <algorithm>

#include "hazards.h"

namespace isa {
namespace hazard_kinds {

bool starts(std::string_view name, std::initializer_list<std::string_view> begins) {
  return std::any_of(begins.begin(), begins.end(), [&](std::string_view text) { return name.starts_with(text); });
}

// The first type in a mnemonic is that of the result: f64 in v_cvt_f64_f32.
std::string_view result_type(std::string_view name) {
  for (std::size_t at = name.find('_'); at != name.npos; at = name.find('_', at + 1)) {
    const std::string_view part = name.substr(at + 1, name.find('_', at + 1) - at - 1);
    if (part.size() >= 2 && std::string_view("fiub").find(part[0]) != std::string_view::npos && part[1] >= '1' &&
        part[1] <= '9')
      return part;
  }
  return "";
}

// Passes of a matrix instruction (LLVM, SISchedule.td): by the shape, and on gfx942 by the depth too.
u8 passes_of(std::string_view name, const std::string &target) {
  const bool large = name.find("_32x32x") != name.npos;
  if (target.starts_with("gfx90a")) return large ? 16 : 8;
  if (!target.starts_with("gfx942")) return 0;
  if (name.find("x4_f32") != name.npos) return 8;
  if (name.find("x2_f32") != name.npos) return 16;
  return large ? 8 : 4;
}

// Registers of a factor of a matrix instruction, from its shape: "_16x16x32_f16" has rows of 32 halves, which the lanes
// of a wave that is 64 wide share by four. One where the shape is not of those that are known.
u8 factor_words(std::string_view name, const std::string &target) {
  const std::size_t shape = std::min(name.find("_16x16x"), name.find("_32x32x"));
  if (shape == name.npos || name.starts_with("v_smfmac") || name.starts_with("v_swmmac")) return 1;
  const bool large = name[shape + 1] == '3';
  std::size_t at = shape + 7;
  u32 depth = 0;
  for (; at < name.size() && name[at] >= '0' && name[at] <= '9'; ++at) depth = 10 * depth + (name[at] - '0');
  const std::string_view type = name.substr(std::min(name.size(), at + (at < name.size() && name[at] == '_')));
  const u32 bits = starts(type, {"f16", "bf16"}) ? 16
                   : starts(type, {"i8", "iu8"}) ? 8
                   : starts(type, {"iu4"})       ? 4
                                                 : 32;
  const u32 parts = target.starts_with("gfx11") ? 1 : target.starts_with("gfx12") || large ? 2 : 4;
  return static_cast<u8>(std::max(1u, depth / parts * bits / 32));
}

// How many operands with data an instruction of LDS has.
u8 data_of_lds(std::string_view name) {
  if (starts(name, {"ds_read", "ds_load", "ds_swizzle", "ds_append", "ds_consume", "ds_nop"})) return 0;
  const bool two = starts(
      name, {"ds_write2", "ds_store_2addr", "ds_wrxchg2", "ds_storexchg_2addr", "ds_cmpst", "ds_mskor", "ds_wrap"});
  return two ? 2 : 1;
}

Registers vectors(u16 code, u16 count) {
  return code >= vgpr && code < temporary ? Registers{code, count} : Registers{};
}

// A 16-bit operand above v127 is a high half (RDNA 3).
u16 whole(const Inst &i, const Kind &kind, u16 code) {
  return kind.half && i.flags & Halves && code >= vgpr + 128 ? static_cast<u16>(code - 128) : code;
}

void add_sources(Several &to, const Inst &i, const Kind &kind) {
  for (int n = 0; n < 3; ++n) to.add(vectors(whole(i, kind, i.src[n]), n < 2 ? kind.factor : u16{1}));
}

}  // namespace hazard_kinds

Kind kind_of(std::string_view name, Encoding e, const std::string &target) {
  Kind k;
  k.idles = name == "s_nop";
  k.waits_for_vectors = name == "s_waitcnt_depctr";  // where its bits say so
  k.vector = (e == Encoding::VOP1 || e == Encoding::VOP2 || e == Encoding::VOPC || e == Encoding::VOP3 ||
              e == Encoding::VOP3P || e == Encoding::VOPD) &&
             !name.starts_with("v_accvgpr") && !name.starts_with("v_swap");
  k.scalar = e == Encoding::SOP1 || e == Encoding::SOP2 || e == Encoding::SOPK;
  k.memory = e == Encoding::FLAT || e == Encoding::GLOBAL || e == Encoding::SCRATCH || e == Encoding::MUBUF;
  k.lds = e == Encoding::DS;
  k.ends = hazard_kinds::starts(
      name, {"s_branch", "s_endpgm", "s_setpc", "s_swappc", "s_call", "s_trap", "s_code_end", "s_rfe"});
  k.matrix = hazard_kinds::starts(name, {"v_mfma", "v_smfmac"});
  k.wmma = hazard_kinds::starts(name, {"v_wmma", "v_swmmac"});
  k.dot = name.starts_with("v_dot");
  k.trans = hazard_kinds::starts(
                name, {"v_exp_f", "v_log_f", "v_rcp_f", "v_rcp_iflag", "v_rsq_f", "v_sqrt_f", "v_sin_f", "v_cos_f"}) &&
            name.find("f64") == name.npos;
  k.compare = name.starts_with("v_cmp");
  k.writes_exec = name.starts_with("v_cmpx");
  k.carries = hazard_kinds::starts(name, {"v_add_co", "v_sub_co", "v_subrev_co", "v_addc_co", "v_subb_co",
                                          "v_subbrev_co", "v_div_scale", "v_mad_u64", "v_mad_i64"});
  k.takes_mask = hazard_kinds::starts(name, {"v_cndmask", "v_addc_co", "v_subb_co", "v_subbrev_co"});
  k.accumulates = hazard_kinds::starts(name, {"v_fmac", "v_mac_"});
  k.lane_select = hazard_kinds::starts(name, {"v_readlane", "v_writelane"});
  k.reads_lane = hazard_kinds::starts(name, {"v_readlane", "v_readfirstlane"});
  k.div_fmas = name.starts_with("v_div_fmas");
  k.reads_m0 = hazard_kinds::starts(name, {"s_movrel", "s_sendmsg", "ds_read_addtid", "ds_write_addtid"}) ||
               (k.memory && name.find("_lds_") != name.npos);
  k.sets_register = name.starts_with("s_setreg");
  k.gets_register = name.starts_with("s_getreg");
  k.half = name.ends_with("16");
  if (k.matrix || k.wmma) k.factor = hazard_kinds::factor_words(name, target);
  if (k.matrix) {
    k.passes = hazard_kinds::passes_of(name, target);
    k.xdl = name.find("x4_f32") == name.npos && name.find("x2_f32") == name.npos;
    k.words = name.find("_32x32x") != name.npos ? 16 : 4;
  } else if (k.wmma) {
    k.words = 8;
  } else if (hazard_kinds::result_type(name).ends_with("64") ||
             hazard_kinds::starts(name, {"v_pk_add_f32", "v_pk_mul_f32", "v_pk_fma_f32"})) {
    k.words = 2;
  }
  if (k.lds) {
    k.address = name.find("addtid") == name.npos;
    k.data = hazard_kinds::data_of_lds(name);
  } else if (k.memory) {
    k.data = name.find("_load_") == name.npos;
  }
  if (k.memory && name.find("_store_") != name.npos)
    k.stored = name.ends_with("x4") || name.ends_with("b128")  ? 4
               : name.ends_with("x3") || name.ends_with("b96") ? 3
                                                               : 1;
  return k;
}

Registers Classified::written() const {
  const bool no_result = kind.compare || inst->dst == none;
  return kind.vector && !no_result ? hazard_kinds::vectors(hazard_kinds::whole(*inst, kind, inst->dst), kind.words)
                                   : Registers{};
}

Registers Classified::scalars_written() const {
  const u16 mask = code->generation == 9 ? 2 : 1;  // RDNA is run in waves of 32 nearly always: the least
  if (kind.sets_register) return {static_cast<u16>(hardware_register + (inst->constant & 63)), 1};
  if (kind.scalar && inst->dst < 128) return {inst->dst, kind.words};
  if (!kind.vector) return {};
  if (kind.compare || kind.carries) return inst->sdst < 128 ? Registers{inst->sdst, mask} : Registers{};
  return kind.reads_lane && inst->dst < 128 ? Registers{inst->dst, 1} : Registers{};
}

Several Classified::read() const {
  Several found;
  if (inst->encoding == Encoding::VOPD) {
    if (inst->run == no_instruction) return found;
    const Dual &both = code->duals[inst->constant];
    hazard_kinds::add_sources(found, both.x, kind);
    hazard_kinds::add_sources(found, both.y, kind);
    return found;
  }
  if (kind.vector) {
    hazard_kinds::add_sources(found, *inst, kind);
    if (kind.accumulates) found.add(written());
    return found;
  }
  if (!kind.memory && !kind.lds) return found;
  if (kind.address) found.add(hazard_kinds::vectors(inst->src[0], 1));
  for (int n = 1; n <= kind.data; ++n) found.add(hazard_kinds::vectors(inst->src[n], 1));
  if (kind.stored && inst->src[1] >= vgpr) found.add(hazard_kinds::vectors(inst->src[1], kind.stored));
  return found;
}

Several Classified::scalars_read() const {
  Several found;
  if (!kind.vector || inst->encoding == Encoding::VOPD) return found;
  const u16 mask = code->generation == 9 ? 2 : 1;
  const bool promoted = inst->flags & Promoted;
  const int has_mask = kind.takes_mask && promoted ? 2 : 0;
  const bool second = promoted && inst->opcode < 320;  // VOPC and VOP2 have two operands, other ones may lack it
  for (int n = 0; n < 3; ++n)
    if (inst->src[n] < vcc + 2 && (inst->src[n] || n == 0 || n == has_mask || (n == 1 && second)))  // 0 where none is
      found.add({inst->src[n], n && n == has_mask ? mask : u16{1}});
  if ((kind.takes_mask && !promoted) || kind.div_fmas) found.add({vcc, mask});
  return found;
}

}  // namespace isa
