#include "object.h"

#include <elf.h>

#include <cstring>
#include <stdexcept>

namespace hiprtc {
namespace {

class Object {
 public:
  explicit Object(const std::string &bytes) : bytes_(bytes) {
    header_ = at<Elf64_Ehdr>(0);
    if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0 || header_.e_ident[EI_CLASS] != ELFCLASS64)
      throw std::runtime_error("the compiler's output is not a 64-bit ELF object");
    for (unsigned i = 0; i < header_.e_shnum; ++i)
      sections_.push_back(at<Elf64_Shdr>(header_.e_shoff + i * sizeof(Elf64_Shdr)));
  }

  const Elf64_Shdr &section(size_t index) const { return sections_.at(index); }
  size_t section_count() const { return sections_.size(); }
  const char *name(const Elf64_Shdr &section) const { return text(sections_.at(header_.e_shstrndx), section.sh_name); }

  size_t find(const std::string &wanted) const {
    for (size_t i = 0; i < sections_.size(); ++i)
      if (wanted == name(sections_[i]) && sections_[i].sh_type == SHT_PROGBITS) return i;
    throw std::runtime_error("the compiled object has no section " + wanted);
  }

  template <class T>
  T at(size_t offset) const {
    T value;
    if (offset + sizeof(T) > bytes_.size()) throw std::runtime_error("the compiled object is truncated");
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }
  const char *text(const Elf64_Shdr &strings, size_t offset) const {
    if (strings.sh_offset + offset >= bytes_.size()) throw std::runtime_error("the compiled object is truncated");
    return bytes_.data() + strings.sh_offset + offset;
  }

 private:
  const std::string &bytes_;
  Elf64_Ehdr header_;
  std::vector<Elf64_Shdr> sections_;
};

// The symbol that a relocation points at. Functions of internal linkage are often written as section plus offset.
std::string target(const Object &object, const Elf64_Shdr &relocations, const Elf64_Rela &relocation) {
  const Elf64_Shdr &table = object.section(relocations.sh_link);
  const Elf64_Shdr &strings = object.section(table.sh_link);
  auto symbol_at = [&](size_t i) { return object.at<Elf64_Sym>(table.sh_offset + i * sizeof(Elf64_Sym)); };
  Elf64_Sym symbol = symbol_at(ELF64_R_SYM(relocation.r_info));
  if (ELF64_ST_TYPE(symbol.st_info) != STT_SECTION) return object.text(strings, symbol.st_name);
  for (size_t i = 0; i < table.sh_size / sizeof(Elf64_Sym); ++i) {
    Elf64_Sym other = symbol_at(i);
    if (ELF64_ST_TYPE(other.st_info) == STT_FUNC && other.st_shndx == symbol.st_shndx &&
        other.st_value == static_cast<Elf64_Addr>(relocation.r_addend))
      return object.text(strings, other.st_name);
  }
  return "";
}

}  // namespace

std::vector<std::string> symbols_in(const std::string &bytes, const std::string &section, size_t count) {
  Object object(bytes);
  size_t wanted = object.find(section);
  std::vector<std::string> names(count);
  for (size_t i = 0; i < object.section_count(); ++i) {
    const Elf64_Shdr &relocations = object.section(i);
    if (relocations.sh_type != SHT_RELA || relocations.sh_info != wanted) continue;
    for (size_t k = 0; k < relocations.sh_size / sizeof(Elf64_Rela); ++k) {
      auto relocation = object.at<Elf64_Rela>(relocations.sh_offset + k * sizeof(Elf64_Rela));
      size_t slot = relocation.r_offset / sizeof(void *);
      if (slot < count) names[slot] = target(object, relocations, relocation);
    }
  }
  for (size_t i = 0; i < count; ++i)
    if (names[i].empty())
      throw std::runtime_error("no symbol for kernel number " + std::to_string(i) + " of the table");
  return names;
}

void patch_names(std::string &bytes, const std::string &section, size_t width, const std::vector<std::string> &names) {
  size_t offset = 0, size = 0;
  {
    Object object(bytes);
    const Elf64_Shdr &found = object.section(object.find(section));
    offset = found.sh_offset;
    size = found.sh_size;
  }
  if (size < width * names.size()) throw std::runtime_error("section " + section + " is too small");
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].size() >= width)
      throw std::runtime_error("the kernel name " + names[i] + " has more than " + std::to_string(width - 1) +
                               " characters");
    std::memcpy(bytes.data() + offset + i * width, names[i].c_str(), names[i].size() + 1);
  }
}

}  // namespace hiprtc
