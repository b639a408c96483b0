// Which instructions a kernel has, by the flow of control from its first on.
#include "sites.h"

#include <cctype>
#include <cstdio>
#include <fstream>
#include <string_view>

namespace isa {
namespace {

constexpr u32 look_ahead = 6;  // instructions after s_getpc_b64 in which the address is completed

// What s_getpc_b64 and the sum after it make: the address of a function, a far branch's target, or of data.
bool made_address(const Code &code, u32 at, u64 &address) {
  const Inst &base = code.insts[at];
  u64 value = code.address_of(at) + 4 * base.words;
  bool low = false;
  for (u32 n = at + 1; n < code.insts.size() && n <= at + look_ahead; ++n) {
    const Inst &i = code.insts[n];
    const std::string name = plain_name(mnemonic(code.target, i));
    if (i.encoding != Encoding::SOP2 || i.src[1] != literal) continue;
    const u64 constant = static_cast<u64>(static_cast<i64>(static_cast<i32>(i.constant)));
    if (name == "s_add_u32" && i.dst == base.dst) {
      value += constant;
      low = true;
    } else if (name == "s_add_u64" && i.dst == base.dst) {
      value += constant;
      low = true;
    }
  }
  address = value;
  return low;
}

bool is_index(const Code &code, u64 address, u32 &index) {
  const u64 offset = address - code.address;
  if (address < code.address || offset % 4 || offset / 4 >= code.index_of.size()) return false;
  index = code.index_of[offset / 4];
  return index != ~0u;
}

bool ends_flow(std::string_view name) {
  return name.starts_with("s_endpgm") || name == "s_branch" || name.starts_with("s_setpc_") || name == "s_code_end" ||
         name.starts_with("s_rfe_");
}

}  // namespace

std::vector<u32> sites_of(const Code &code, u64 entry, const std::vector<u8> &also) {
  const u32 count = static_cast<u32>(code.insts.size()) - 1;  // the last one is ours
  std::vector<u8> seen(count);
  std::vector<u32> open;
  const auto visit = [&](u32 index) {
    if (index >= count || seen[index]) return;
    seen[index] = 1;
    open.push_back(index);
  };
  u32 first = 0;
  if (is_index(code, entry, first)) visit(first);
  for (u32 n = 0; n < count && n < also.size(); ++n)
    if (also[n]) visit(n);
  while (!open.empty()) {
    const u32 at = open.back();
    open.pop_back();
    const Inst &i = code.insts[at];
    const std::string name = mnemonic(code.target, i);
    u32 target = 0;
    u64 address = 0;
    if (i.encoding == Encoding::SOPP && (name == "s_branch" || name.starts_with("s_cbranch_"))) visit(i.constant);
    if (name == "s_getpc_b64" && made_address(code, at, address) && is_index(code, address, target)) visit(target);
    if (name == "s_call_b64") {
      const i64 words = static_cast<i16>(i.constant);
      if (is_index(code, code.address_of(at) + 4 + static_cast<u64>(4 * words), target)) visit(target);
    }
    if (!ends_flow(name)) visit(at + 1);
  }
  std::vector<u32> sites;
  for (u32 n = 0; n < count; ++n)
    if (seen[n]) sites.push_back(n);
  return sites;
}

void Coverage::set_folder(const std::string &folder) {
  folder_ = folder;
  kept_.clear();
}

std::string Coverage::file_of(const Kernel &kernel) const {
  std::string name = kernel.name.substr(0, 200);
  for (char &c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return folder_ + "/" + name + ".sites";
}

void Coverage::begin(Kept &kept, const Kernel &kernel, const std::vector<u8> &reached) {
  const Code &code = kernel.object->code();
  kept = {&code, kernel.entry, sites_of(code, kernel.entry, reached), {}, {}};
  kept.reached.resize(code.insts.size());
  std::ifstream file(file_of(kernel), std::ios::binary);
  std::vector<u32> before(kept.sites.size());
  const auto bytes = static_cast<std::streamsize>(sizeof(u32) * before.size());
  const bool read = file.read(reinterpret_cast<char *>(before.data()), bytes) && file.peek() == EOF;
  for (std::size_t n = 0; n < kept.sites.size(); ++n) {
    const u64 offset = code.address_of(kept.sites[n]) - kernel.object->image().begin;
    kept.words.push_back(static_cast<u32>(2 * offset));
    if (read && before[n] == kept.words[n] + 1) kept.reached[kept.sites[n]] = 1;
  }
}

void Coverage::add(const Kernel &kernel, const std::vector<u8> &reached) {
  Kept &kept = kept_[kernel.name];
  const Code &code = kernel.object->code();
  const bool first = kept.code != &code || kept.entry != kernel.entry || kept.reached.size() != code.insts.size();
  if (first) begin(kept, kernel, reached);
  bool more = first, beyond = false;
  for (std::size_t n = 0; n < kept.reached.size() && n < reached.size(); ++n)
    if (reached[n] && !kept.reached[n]) kept.reached[n] = more = true;
  if (!more) return;
  std::vector<u32> words = kept.words;
  u64 known = 0, all = 0;
  for (std::size_t n = 0; n < kept.sites.size(); ++n) {
    words[n] += kept.reached[kept.sites[n]];
    known += kept.reached[kept.sites[n]];
  }
  for (const u8 one : kept.reached) all += one;
  beyond = all > known;
  if (beyond) {  // a call by a pointer
    const std::vector<u8> all_reached = kept.reached;
    begin(kept, kernel, all_reached);
    kept.reached = all_reached;
    words = kept.words;
    for (std::size_t n = 0; n < kept.sites.size(); ++n) words[n] += kept.reached[kept.sites[n]];
  }
  std::ofstream file(file_of(kernel), std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char *>(words.data()), static_cast<std::streamsize>(sizeof(u32) * words.size()));
  file.close();
  if (!file) std::remove(file_of(kernel).c_str());  // nothing is known then, which is what a reader sees
}

}  // namespace isa
