#include "lowered_names.h"

#include <elf.h>

#include <cstring>
#include <map>
#include <stdexcept>

namespace hiprtc {
namespace {

constexpr unsigned amdgpu_abs64 = 3;  // R_AMDGPU_ABS64; all others that linked code has are relative to the image

class Elf {
 public:
  explicit Elf(const std::string &bytes) : bytes_(bytes), header_(at<Elf64_Ehdr>(0)) {
    if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0 || header_.e_ident[EI_CLASS] != ELFCLASS64)
      throw std::runtime_error("the compiler's output is not a 64-bit ELF file");
  }

  // Calls `use` with each row, a T, of each section of `type`, and with that section.
  template <class T, class Use>
  void each(Elf64_Word type, Use use) const {
    for (unsigned n = 0; n < header_.e_shnum; ++n) {
      const auto section = section_at(n);
      if (section.sh_type != type) continue;
      for (Elf64_Xword row = 0; row < section.sh_size / sizeof(T); ++row)
        use(at<T>(section.sh_offset + row * sizeof(T)), section);
    }
  }
  Elf64_Sym symbol(const Elf64_Shdr &relocations, Elf64_Xword info) const {
    return at<Elf64_Sym>(section_at(relocations.sh_link).sh_offset + ELF64_R_SYM(info) * sizeof(Elf64_Sym));
  }
  std::string name(const Elf64_Sym &symbol, const Elf64_Shdr &symbols) const {
    const Elf64_Off offset = section_at(symbols.sh_link).sh_offset + symbol.st_name;
    if (offset >= bytes_.size()) throw std::runtime_error("the code object is truncated");
    return bytes_.c_str() + offset;
  }

 private:
  template <class T>
  T at(Elf64_Off offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T))
      throw std::runtime_error("the code object is truncated");
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  Elf64_Shdr section_at(unsigned index) const { return at<Elf64_Shdr>(header_.e_shoff + index * sizeof(Elf64_Shdr)); }

  const std::string &bytes_;
  Elf64_Ehdr header_;
};

}  // namespace

std::vector<std::string> names_pointed_to(const std::string &code, const std::string &prefix, std::size_t count) {
  const Elf elf(code);
  std::map<std::string, Elf64_Addr> pointers;  // the variables of `prefix`, where they lie
  std::map<Elf64_Addr, std::string> named;     // everything else that has a name, by its address
  elf.each<Elf64_Sym>(SHT_DYNSYM, [&](const Elf64_Sym &symbol, const Elf64_Shdr &section) {
    const std::string name = elf.name(symbol, section);
    if (name.starts_with(prefix))
      pointers[name] = symbol.st_value;
    else if (symbol.st_shndx != SHN_UNDEF)
      named[symbol.st_value] = name;
  });
  std::map<Elf64_Addr, Elf64_Addr> content;  // where a pointer lies, where it points
  elf.each<Elf64_Rela>(SHT_RELA, [&](const Elf64_Rela &relocation, const Elf64_Shdr &section) {
    Elf64_Addr target = static_cast<Elf64_Addr>(relocation.r_addend);
    if (ELF64_R_TYPE(relocation.r_info) == amdgpu_abs64) target += elf.symbol(section, relocation.r_info).st_value;
    content[relocation.r_offset] = target;
  });
  std::vector<std::string> names;
  for (std::size_t n = 0; n < count; ++n) {
    const auto pointer = pointers.find(prefix + std::to_string(n));
    const auto target = pointer == pointers.end() ? content.end() : content.find(pointer->second);
    const auto found = target == content.end() ? named.end() : named.find(target->second);
    if (found == named.end())
      throw std::runtime_error("name expression " + std::to_string(n) + " names nothing that other code can see");
    names.push_back(found->second);
  }
  return names;
}

}  // namespace hiprtc
