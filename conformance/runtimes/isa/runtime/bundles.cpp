// The format is documented by LLVM's ClangOffloadBundler.
#include "bundles.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "machine.h"

namespace isa {
namespace {

constexpr std::string_view magic = "__CLANG_OFFLOAD_BUNDLE__", compressed_magic = "CCOB", triple = "amdgcn-amd-amdhsa-";
constexpr u64 most_bytes = u64{1} << 31;

// Whether `size` bytes from `at` are in a bundle of `bytes` bytes.
bool is_in(u64 bytes, u64 at, u64 size) { return at <= bytes && size <= bytes - at; }

// The entry for `processor` in the bundle at `bundle`; empty where there is none. `others` are the targets it is for.
// Of a bundle that is cut off only what is there is looked at.
std::string entry(const char *bundle, u64 bytes, const std::string &processor, std::string &others) {
  const auto number = [bundle](u64 at) { return load_as<u64>(bundle + at); };
  u64 at = magic.size() + 8;
  if (!is_in(bytes, 0, at)) return {};
  for (u64 n = 0, count = number(magic.size()); n < count; ++n) {
    if (!is_in(bytes, at, 24)) return {};
    const u64 offset = number(at), size = number(at + 8), length = number(at + 16);
    if (!is_in(bytes, at + 24, length) || !is_in(bytes, offset, size)) return {};
    const std::string_view id(bundle + at + 24, length);
    at += 24 + length;
    const auto found = id.find(triple);
    if (found == id.npos) continue;
    std::string_view target = id.substr(found + triple.size());
    target.remove_prefix(std::min(target.find_first_not_of('-'), target.size()));
    if (target.substr(0, target.find(':')) == processor) return {bundle + offset, size};
    others += (others.empty() ? "" : ", ") + std::string(target);
  }
  return {};
}

// A library of this machine that decompresses, opened when a program brings what it is for.
template <class Function>
Function *function_of(const char *library, const char *name) {
  void *const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  return handle ? reinterpret_cast<Function *>(dlsym(handle, name)) : nullptr;
}

bool inflate(const char *from, u64 bytes, std::string &to) {
  using Uncompress = int(unsigned char *, unsigned long *, const unsigned char *, unsigned long);
  static Uncompress *const uncompress = function_of<Uncompress>("libz.so.1", "uncompress");
  unsigned long size = to.size();
  return uncompress &&
         uncompress(reinterpret_cast<unsigned char *>(to.data()), &size, reinterpret_cast<const unsigned char *>(from),
                    bytes) == 0 &&
         size == to.size();
}
bool unpack_zstd(const char *from, u64 bytes, std::string &to) {
  using Decompress = std::size_t(void *, std::size_t, const void *, std::size_t);
  static Decompress *const decompress = function_of<Decompress>("libzstd.so.1", "ZSTD_decompress");
  return decompress && decompress(to.data(), to.size(), from, bytes) == to.size();
}

// The bundle that the compressed one at `from` holds; empty where it cannot be had, which `why` explains.
std::string decompressed(const char *from, u64 bytes, std::string &why) {
  enum Method : u16 { Zlib = 0, Zstd = 1 };
  constexpr u64 longest_header = 32;
  if (bytes < longest_header) {
    why = "its compressed code objects are cut off";
    return {};
  }
  const auto version = load_as<u16>(from + 4), method = load_as<u16>(from + 6);
  const bool wide = version >= 3;
  if (version < 2 || version > 3) {
    why = "its code objects are compressed in version " + std::to_string(version) +
          " of clang's format; 2 and 3 can be read: compile it without --offload-compress";
    return {};
  }
  const u64 total = wide ? load_as<u64>(from + 8) : load_as<u32>(from + 8);
  const u64 size = wide ? load_as<u64>(from + 16) : load_as<u32>(from + 12);
  const u64 header = wide ? 32 : 24;
  if (total < header || total > bytes || total > most_bytes || size > most_bytes) {
    why = "its compressed code objects are cut off, or of an impossible size";
    return {};
  }
  std::string to(size, '\0');
  if (method == Zlib ? inflate(from + header, total - header, to) : unpack_zstd(from + header, total - header, to))
    return to;
  why = std::string("its code objects are compressed, and cannot be read with this machine's ") +
        (method == Zlib ? "libz.so.1" : "libzstd.so.1") + "; install it, or compile without --offload-compress";
  return {};
}

}  // namespace

bool is_bundle(std::string_view head) { return head.starts_with(magic) || head.starts_with(compressed_magic); }

simt::Error code_in_bundle(const char *bundle, const std::string &processor, std::string &code, std::string &why,
                           std::size_t bytes) {
  std::string others, unpacked;
  const auto begins_with = [&](std::string_view text) {
    return text.size() <= bytes && std::memcmp(bundle, text.data(), text.size()) == 0;
  };
  if (begins_with(compressed_magic)) {
    unpacked = decompressed(bundle, bytes, why);
    if (unpacked.empty()) return simt::NotSupported;
    bundle = unpacked.data();
    bytes = unpacked.size();
  }
  if (begins_with(magic)) code = entry(bundle, bytes, processor, others);
  if (!code.empty()) return simt::Success;
  why = "it has no code object for " + processor + (others.empty() ? "" : ", but for " + others);
  return simt::NoBinaryForGpu;
}

}  // namespace isa
