#include "object.h"

#include <cxxabi.h>
#include <elf.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

#include "msgpack.h"

namespace isa {
namespace {

constexpr u64 page = 4096;
constexpr u64 largest = u64{1} << 30;
constexpr u32 most_kernarg_bytes = 1 << 16;
// Of a lane: 8 MiB of a wave of 64, which is what targets before RDNA 3 have (LLVM, GCNSubtarget.h).
constexpr u32 most_scratch_bytes = 1 << 17;
constexpr u32 dynamic_stack = 1 << 11;     // the compiler knows no bound: recursion, or calls of what it does not see
constexpr u32 least_dynamic_stack = 1024;  // hipLimitStackSize as HIP sets it
constexpr u16 machine_amdgpu = 224;
constexpr u32 note_metadata = 32;
enum Relocation : u32 { Abs64 = 3, Relative64 = 13 };

template <class T>
T read(std::string_view file, u64 offset) {
  if (offset > file.size() || sizeof(T) > file.size() - offset) throw Fault(Fault::Other, "is cut short");
  return load_as<T>(file.data() + offset);
}
std::string_view part(std::string_view file, u64 offset, u64 size) {
  if (offset > file.size() || size > file.size() - offset) throw Fault(Fault::Other, "is cut short");
  return file.substr(offset, size);
}
bool lies_in(u64 offset, u64 bytes, u64 size) { return offset <= size && bytes <= size - offset; }
std::string_view text_at(std::string_view names, u64 offset) {
  if (offset >= names.size()) throw Fault(Fault::Other, "has a name outside of its table");
  const std::string_view rest = names.substr(offset);
  return rest.substr(0, rest.find('\0'));
}

// The name of a kernel as its source has it: `fill<float, 256>` for `_Z4fillIfLi256EEvPT_`.
std::string as_written(const std::string &name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void *)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                     std::free);
  if (!text) return name;
  std::string shown = text.get();
  if (shown.starts_with("void ")) shown.erase(0, 5);
  if (!shown.ends_with(')')) return shown;
  std::size_t at = shown.size();
  for (int depth = 0; at--;) {
    depth += (shown[at] == ')') - (shown[at] == '(');
    if (!depth) break;
  }
  return shown.substr(0, at);
}

template <class Visit>
void each_section(std::string_view file, Visit visit) {
  const auto header = read<Elf64_Ehdr>(file, 0);
  for (u64 n = 0; n < header.e_shnum; ++n)
    visit(read<Elf64_Shdr>(file, header.e_shoff + n * sizeof(Elf64_Shdr)), header);
}

}  // namespace

Object::Object(const std::string &file) {
  if (!file.starts_with(ELFMAG)) throw Fault(Fault::Other, "is not an ELF file");
  const auto header = read<Elf64_Ehdr>(file, 0);
  if (header.e_machine != machine_amdgpu) throw Fault(Fault::Other, "is not for an AMD GPU");
  load_segments(file);
  for (u64 n = 0; n < header.e_phnum; ++n) {
    const auto segment = read<Elf64_Phdr>(file, header.e_phoff + n * sizeof(Elf64_Phdr));
    if (segment.p_type != PT_NOTE) continue;
    std::string_view notes = part(file, segment.p_offset, segment.p_filesz);
    while (notes.size() >= 12) {
      const u32 name = (load_as<u32>(notes.data()) + 3) & ~3u, size = load_as<u32>(notes.data() + 4);
      const std::string_view content = part(notes, 12 + u64{name}, size);
      if (load_as<u32>(notes.data() + 8) == note_metadata) read_metadata(content);
      notes.remove_prefix(std::min<std::size_t>(notes.size(), 12 + u64{name} + ((u64{size} + 3) & ~u64{3})));
    }
  }
  file_ = file;
  read_symbols(file);
  relocate(file);
  for (auto &[name, kernel] : kernels_) {
    const auto found = descriptors_.find(name);
    if (found == descriptors_.end()) throw Fault(Fault::Other, "has no descriptor of kernel " + name);
    read_descriptor(kernel, found->second);
    kernel.object = this;
  }
  each_section(file, [&](const Elf64_Shdr &section, const Elf64_Ehdr &) {
    if (section.sh_type != SHT_PROGBITS || !(section.sh_flags & SHF_EXECINSTR)) return;
    if (!code_.insts.empty()) throw Fault(Fault::Other, "has code in two sections");
    const std::string_view text = part(file, section.sh_offset, section.sh_size);
    if (!lies_in(section.sh_addr, section.sh_size, image_.size)) throw Fault(Fault::Other, "has code outside of it");
    code_.address = image_.base + section.sh_addr;
    decode(code_, reinterpret_cast<const u8 *>(text.data()), text.size(), target_);
  });
}

Mapping::~Mapping() {
  if (base) munmap(reinterpret_cast<void *>(base), size);
}

void Mapping::make(u64 bytes) {
  void *map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) throw Fault(Fault::Other, "does not fit the memory");
  base = reinterpret_cast<u64>(map);
  size = bytes;
}

void Object::load_segments(std::string_view file) {
  const auto header = read<Elf64_Ehdr>(file, 0);
  std::vector<Elf64_Phdr> segments;
  u64 end = 0;
  for (u64 n = 0; n < header.e_phnum; ++n) {
    const auto segment = read<Elf64_Phdr>(file, header.e_phoff + n * sizeof(Elf64_Phdr));
    if (segment.p_type != PT_LOAD) continue;
    if (segment.p_vaddr > largest || segment.p_memsz > largest || segment.p_filesz > segment.p_memsz)
      throw Fault(Fault::Other, "has a segment of impossible size");
    segments.push_back(segment);
    end = std::max(end, segment.p_vaddr + segment.p_memsz);
  }
  if (!end) throw Fault(Fault::Other, "has nothing to load");
  image_.make((end + page - 1) / page * page);
  for (const Elf64_Phdr &segment : segments) {
    const std::string_view content = part(file, segment.p_offset, segment.p_filesz);
    std::memcpy(reinterpret_cast<void *>(image_.base + segment.p_vaddr), content.data(), content.size());
  }
}

void Object::read_symbols(std::string_view file) {
  each_section(file, [&](const Elf64_Shdr &section, const Elf64_Ehdr &header) {
    if (section.sh_type != SHT_DYNSYM && section.sh_type != SHT_SYMTAB) return;
    const auto strings = read<Elf64_Shdr>(file, header.e_shoff + u64{section.sh_link} * sizeof(Elf64_Shdr));
    const std::string_view names = part(file, strings.sh_offset, strings.sh_size);
    for (u64 n = 1; n < section.sh_size / sizeof(Elf64_Sym); ++n) {
      const auto symbol = read<Elf64_Sym>(file, section.sh_offset + n * sizeof(Elf64_Sym));
      if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC) code_.functions.insert(image_.base + symbol.st_value);
      if (section.sh_type == SHT_SYMTAB) continue;
      const std::string name(text_at(names, symbol.st_name));
      if (symbol.st_shndx == SHN_UNDEF && ELF64_ST_BIND(symbol.st_info) != STB_WEAK)
        throw Fault(Fault::Other, "has the undefined symbol " + name);
      if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_shndx == SHN_UNDEF) continue;
      if (!lies_in(symbol.st_value, symbol.st_size, image_.size))
        throw Fault(Fault::Other, "has the symbol " + name + " outside of it");
      if (name.ends_with(".kd"))
        descriptors_[name.substr(0, name.size() - 3)] = symbol.st_value;
      else
        globals_[name] = {image_.base + symbol.st_value, image_.base + symbol.st_value + symbol.st_size};
    }
  });
}

void Object::relocate(std::string_view file) {
  each_section(file, [&](const Elf64_Shdr &section, const Elf64_Ehdr &header) {
    if (section.sh_type != SHT_RELA) return;
    const auto symbols = read<Elf64_Shdr>(file, header.e_shoff + u64{section.sh_link} * sizeof(Elf64_Shdr));
    for (u64 n = 0; n < section.sh_size / sizeof(Elf64_Rela); ++n) {
      const auto entry = read<Elf64_Rela>(file, section.sh_offset + n * sizeof(Elf64_Rela));
      if (!lies_in(entry.r_offset, 8, image_.size)) throw Fault(Fault::Other, "has a relocation outside of it");
      u64 value = image_.base + static_cast<u64>(entry.r_addend);
      if (ELF64_R_TYPE(entry.r_info) == Abs64) {
        const auto symbol = read<Elf64_Sym>(file, symbols.sh_offset + ELF64_R_SYM(entry.r_info) * sizeof(Elf64_Sym));
        value += symbol.st_value;
      } else if (ELF64_R_TYPE(entry.r_info) != Relative64) {
        throw Fault(Fault::Other, "has a relocation of a kind that is not known");
      }
      store_as<u64>(reinterpret_cast<void *>(image_.base + entry.r_offset), value);
    }
  });
}

void Object::read_metadata(std::string_view note) {
  Packed packed(note);
  for (u32 n = packed.map(); n; --n) {
    const std::string key = packed.text();
    if (key == "amdhsa.target") {
      const std::string triple = packed.text();
      const std::size_t at = triple.rfind("--");
      if (at == std::string::npos)
        throw Fault(Fault::Other, "has the target " + triple + ", not amdgcn-amd-amdhsa--gfx...");
      target_ = triple.substr(at + 2);
    } else if (key == "amdhsa.kernels") {
      for (u32 count = packed.array(); count; --count) {
        Kernel kernel;
        for (u32 fields = packed.map(); fields; --fields) {
          const std::string field = packed.text();
          if (field == ".name")
            kernel.name = packed.text();
          else if (field == ".max_flat_workgroup_size")
            kernel.most_threads = static_cast<u32>(packed.integer());
          else if (field == ".args")
            for (u32 arguments = packed.array(); arguments; --arguments) {
              Argument argument{};
              for (u32 parts = packed.map(); parts; --parts) {
                const std::string what = packed.text();
                if (what == ".offset")
                  argument.offset = static_cast<u32>(packed.integer());
                else if (what == ".size")
                  argument.size = static_cast<u32>(packed.integer());
                else if (what == ".value_kind")
                  argument.kind = packed.text();
                else
                  packed.skip();
              }
              kernel.arguments.push_back(argument);
            }
          else
            packed.skip();
        }
        const std::string name = kernel.name;
        kernel.shown = as_written(name);
        kernels_.emplace(name, std::move(kernel));
      }
    } else {
      packed.skip();
    }
  }
}

void Object::read_descriptor(Kernel &kernel, u64 address) {
  if (!lies_in(address, 64, image_.size)) throw Fault(Fault::Other, "has a descriptor outside of it");
  const u8 *d = reinterpret_cast<const u8 *>(image_.base + address);
  kernel.lds_bytes = load_as<u32>(d);
  kernel.scratch_bytes = load_as<u32>(d + 4);
  kernel.kernarg_bytes = load_as<u32>(d + 8);
  if (kernel.kernarg_bytes > most_kernarg_bytes || kernel.scratch_bytes > most_scratch_bytes)
    throw Fault(Fault::Other, "has kernel " + kernel.name + " with " + std::to_string(kernel.kernarg_bytes) +
                                  " bytes of arguments and " + std::to_string(kernel.scratch_bytes) +
                                  " of scratch memory; at most " + std::to_string(most_kernarg_bytes) + " and " +
                                  std::to_string(most_scratch_bytes));
  kernel.entry = image_.base + address + load_as<u64>(d + 16);
  kernel.rsrc1 = load_as<u32>(d + 48);
  kernel.rsrc2 = load_as<u32>(d + 52);
  kernel.properties = load_as<u16>(d + 56);
  if (kernel.properties & dynamic_stack) kernel.scratch_bytes = std::max(kernel.scratch_bytes, least_dynamic_stack);
}

}  // namespace isa
