// From words to instructions, once for a code object. What an opcode is called comes from a table made of llvm-mc's.
#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>

#include "decoder.h"
#include "hazards.h"

namespace isa {
namespace {

struct Column {
  const char *target;
  Generation generation;
};
constexpr Column columns[] = {
    // in the order of opcodes.inc
    {"gfx942", Generation::Gfx9},   {"gfx950", Generation::Gfx9},   {"gfx90a", Generation::Gfx9},
    {"gfx908", Generation::Gfx9},   {"gfx906", Generation::Gfx9},   {"gfx1100", Generation::Gfx11},
    {"gfx1151", Generation::Gfx11}, {"gfx1201", Generation::Gfx12}, {"gfx1030", Generation::Gfx10},
};

struct Same {
  std::string_view target, as;
};
constexpr Same same[] = {
#include "same_targets.inc"
};

// `name` without features, or the target whose instructions it has.
std::string_view column_of(std::string_view name) {
  name = name.substr(0, name.find(':'));
  const auto *const found = std::ranges::find(same, name, &Same::target);
  return found == std::end(same) ? name : found->as;
}

struct Opcode {
  Encoding encoding;
  const char *name;
  i16 numbers[std::size(columns)];  // by target, negative where it has no such instruction
};

using enum Encoding;
constexpr Opcode rows[] = {
#include "opcodes.inc"
};

// Parts of names that RDNA has otherwise; what an instruction does is known by CDNA's name.
struct Rename {
  std::string_view from, to;
};
constexpr Rename renames[] = {
    {"ds_load_2addr_stride64_", "ds_read2st64_"},
    {"ds_load_2addr_", "ds_read2_"},
    {"ds_load_", "ds_read_"},
    {"ds_store_2addr_stride64_", "ds_write2st64_"},
    {"ds_store_2addr_", "ds_write2_"},
    {"ds_store_", "ds_write_"},
    {"ds_storexchg_2addr_stride64_", "ds_wrxchg2st64_"},
    {"ds_storexchg_2addr_", "ds_wrxchg2_"},
    {"ds_storexchg_", "ds_wrxchg_"},
    {"s_add_co_ci_u32", "s_addc_u32"},
    {"s_sub_co_ci_u32", "s_subb_u32"},
    {"s_add_co_", "s_add_"},
    {"s_sub_co_", "s_sub_"},
    {"s_addk_co_", "s_addk_"},
    {"v_mad_co_", "v_mad_"},
    {"_num_f", "_f"},
    {"s_and_not1_", "s_andn2_"},
    {"s_or_not1_", "s_orn2_"},
    {"s_clz_i32_u32", "s_flbit_i32_b32"},
    {"s_clz_i32_u64", "s_flbit_i32_b64"},
    {"s_ctz_i32_b32", "s_ff1_i32_b32"},
    {"s_ctz_i32_b64", "s_ff1_i32_b64"},
    {"v_add_co_ci_", "v_addc_co_"},
    {"v_sub_co_ci_", "v_subb_co_"},
    {"v_subrev_co_ci_", "v_subbrev_co_"},
    {"_nc_u32", "_u32"},
    {"_nc_i32", "_i32"},
    {"_nc_u16", "_u16"},
    {"_nc_i16", "_i16"},
    {"v_cvt_pk_rtz_", "v_cvt_pkrtz_"},
    {"v_clz_i32_u32", "v_ffbh_u32"},
    {"v_ctz_i32_b32", "v_ffbl_b32"},
    {"v_cls_i32", "v_ffbh_i32"},
    {"v_cvt_floor_i32_f32", "v_cvt_flr_i32_f32"},
    {"v_cvt_nearest_i32_f32", "v_cvt_rpi_i32_f32"},
    {"v_mul_dx9_zero_f32", "v_mul_legacy_f32"},
    {"s_and_not0_", "s_andn1_"},
    {"s_cls_i32", "s_flbit_i32"},
};

Run find(const char *name) {
  for (auto *look :
       {find_scalar, find_scalar_float, find_control, find_compare, find_float, find_approximate, find_integer,
        find_packed, find_memory, find_lds, find_buffer, find_wait, find_dot, find_matrix, find_byte_float})
    if (const Run run = look(name)) return run;
  return nullptr;
}

// `name`, or what it is renamed to.
std::string renamed(std::string name) {
  if (find(name.c_str())) return name;
  for (const Rename &rename : renames) {
    const std::size_t at = name.find(rename.from);
    if (at == std::string::npos) continue;
    name.replace(at, rename.from.size(), rename.to);
    return name;
  }
  return name;
}

struct Target {
  Generation generation;
  Table table;
};

std::map<std::string, Target, std::less<>> all_targets() {
  std::map<std::string, Target, std::less<>> targets;
  for (const Column &column : columns) targets[column.target].generation = column.generation;
  for (const Opcode &row : rows) {
    const Known known{row.name, find(renamed(row.name).c_str())};
    for (std::size_t n = 0; n < std::size(columns); ++n)
      if (row.numbers[n] >= 0)
        targets[columns[n].target].table.at(row.encoding, static_cast<u32>(row.numbers[n])) = known;
  }
  return targets;
}

Target *target_of(std::string_view name) {
  static std::map<std::string, Target, std::less<>> targets = all_targets();
  const auto found = targets.find(column_of(name));
  return found == targets.end() ? nullptr : &found->second;
}

}  // namespace

std::string plain_name(const char *name) { return renamed(name); }

std::vector<Meaning> meanings(const std::string &name) {
  Target *target = target_of(name);
  if (!target) throw Fault(Fault::Unknown, "the instructions of " + name);
  std::vector<Meaning> found;
  for (int e = 0; e < encodings; ++e)
    for (u32 opcode = 0; opcode < opcodes; ++opcode)
      if (const Known &known = target->table.at(static_cast<Encoding>(e), opcode); known.run)
        found.push_back({static_cast<Encoding>(e), opcode, known.name});
  return found;
}

const char *mnemonic(const std::string &target, const Inst &i) {
  Target *found = target_of(target);
  const char *name = found ? found->table.at(i.encoding, i.opcode).name : nullptr;
  return i.encoding == Encoding::VOPD ? "v_dual" : name ? name : "an instruction word";
}

void decode(Code &code, const u8 *text, std::size_t bytes, const std::string &given) {
  Target *target = target_of(given);
  if (!target) throw Fault(Fault::Unknown, "the instructions of " + given);
  const std::string name = code.target = column_of(given);
  code.generation = static_cast<u32>(target->generation);
  code.is_mi200 = name.starts_with("gfx90a");
  // LLVM, d16PreservesUnusedBits; of gfx906 and gfx908 some have ECC.
  code.has_ecc = code.is_mi200 || name.starts_with("gfx94") || name.starts_with("gfx95");
  const std::size_t words = bytes / 4;
  code.index_of.assign(words, ~0u);
  code.insts.reserve(words);
  const auto decoder = target->generation == Generation::Gfx9
                           ? cdna_decoder(target->table, code, text, bytes)
                           : rdna_decoder(target->table, target->generation, code, text, bytes);
  std::vector<std::pair<u32, i64>> branches;
  for (std::size_t at = 0; at < words;) {
    Inst i = decoder->one(at);
    i.index = static_cast<u32>(code.insts.size());
    if (decoder->branches) branches.emplace_back(i.index, static_cast<i64>(at) + 1 + static_cast<i16>(i.constant));
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
  std::vector<Kind> kinds;
  std::vector<std::unique_ptr<Kind>> known(encodings * opcodes);
  std::vector<bool> labels(code.insts.size());
  for (u32 n = 0; n < end.index; ++n) {
    const Inst &i = code.insts[n];
    const char *found = i.encoding == Encoding::VOPD ? nullptr : target->table.at(i.encoding, i.opcode).name;
    std::unique_ptr<Kind> &kind = known[static_cast<u32>(i.encoding) * opcodes + i.opcode];
    if (!kind) kind = std::make_unique<Kind>(kind_of(found ? found : "", i.encoding, name));
    kinds.push_back(*kind);
    labels[n] = code.functions.contains(code.address_of(n));  // the one before may end without saying so
  }
  for (const auto &[index, word] : branches) {
    const bool valid =
        word >= 0 && word < static_cast<i64>(words) && code.index_of[static_cast<std::size_t>(word)] != ~0u;
    code.insts[index].constant = valid ? code.index_of[static_cast<std::size_t>(word)] : end.index;
    labels[code.insts[index].constant] = true;
  }
  find_hazards(code, kinds, labels);
}

}  // namespace isa
