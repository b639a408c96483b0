#include "parameters.h"

#include <elf.h>

#include <algorithm>

#include "msgpack.h"

namespace capture {
namespace {

using isa::Fault;
using isa::load_as;
using isa::u32;
using isa::u64;

constexpr std::string_view bundle_magic = "__CLANG_OFFLOAD_BUNDLE__", amd_target = "amdgcn-amd-amdhsa";
constexpr u32 note_metadata = 32;
constexpr u64 everything = u64{1} << 40;

std::string_view part(std::string_view file, u64 offset, u64 size) {
  if (offset > file.size() || size > file.size() - offset) throw Fault(Fault::Other, "is cut short");
  return file.substr(offset, size);
}

Parameters parameters_of(isa::Packed &packed) {
  Parameters found;
  for (u32 count = packed.array(); count; --count) {
    Parameter parameter{};
    std::string kind;
    for (u32 fields = packed.map(); fields; --fields) {
      const std::string field = packed.text();
      if (field == ".offset")
        parameter.offset = static_cast<u32>(packed.integer());
      else if (field == ".size")
        parameter.bytes = static_cast<u32>(packed.integer());
      else if (field == ".value_kind")
        kind = packed.text();
      else
        packed.skip();
    }
    if (!kind.starts_with("hidden_")) found.push_back(parameter);
  }
  return found;
}

void add_kernels(std::string_view note, Kernels &found) {
  isa::Packed packed(note);
  for (u32 n = packed.map(); n; --n) {
    if (packed.text() != "amdhsa.kernels") {
      packed.skip();
      continue;
    }
    for (u32 count = packed.array(); count; --count) {
      std::string name;
      Parameters parameters;
      for (u32 fields = packed.map(); fields; --fields) {
        const std::string field = packed.text();
        if (field == ".name")
          name = packed.text();
        else if (field == ".args")
          parameters = parameters_of(packed);
        else
          packed.skip();
      }
      found.emplace(std::move(name), std::move(parameters));
    }
  }
}

void add_object(std::string_view file, Kernels &found) {
  const auto header = load_as<Elf64_Ehdr>(part(file, 0, sizeof(Elf64_Ehdr)).data());
  for (u64 n = 0; n < header.e_phnum; ++n) {
    const std::string_view row = part(file, header.e_phoff + n * sizeof(Elf64_Phdr), sizeof(Elf64_Phdr));
    const auto segment = load_as<Elf64_Phdr>(row.data());
    if (segment.p_type != PT_NOTE) continue;
    std::string_view notes = part(file, segment.p_offset, segment.p_filesz);
    while (notes.size() >= 12) {
      const u64 name = (load_as<u32>(notes.data()) + 3) & ~3u, size = load_as<u32>(notes.data() + 4);
      if (load_as<u32>(notes.data() + 8) == note_metadata) add_kernels(part(notes, 12 + name, size), found);
      notes.remove_prefix(std::min<std::size_t>(notes.size(), 12 + name + ((size + 3) & ~u64{3})));
    }
  }
}

// Every code object of a bundle, whatever its target: a kernel has the same parameters in each of them.
void add_bundle(std::string_view file, Kernels &found) {
  const auto number = [file](u64 at) { return load_as<u64>(part(file, at, 8).data()); };
  u64 at = bundle_magic.size() + 8;
  for (u64 n = 0, count = number(bundle_magic.size()); n < count; ++n) {
    const u64 offset = number(at), size = number(at + 8), length = number(at + 16);
    if (part(file, at + 24, length).find(amd_target) != std::string_view::npos)
      add_object(part(file, offset, size), found);
    at += 24 + length;
  }
}

}  // namespace

Kernels kernels_in(std::string_view content) {
  Kernels found;
  try {
    if (content.starts_with(ELFMAG))
      add_object(content, found);
    else if (content.starts_with(bundle_magic))
      add_bundle(content, found);
  } catch (const Fault &) {
    found.clear();  // the library that loads it says what is wrong with it
  }
  return found;
}

Kernels kernels_at(const void *image) {
  // How long it is only its own headers say: they are read as if it had no end.
  return image ? kernels_in({static_cast<const char *>(image), everything}) : Kernels{};
}

}  // namespace capture
