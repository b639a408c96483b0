// The seal at the end of a module file: hipModuleLoadData gets a pointer and no size, so a module says where it ends
// and what it holds. File = ELF image, zero bytes up to a multiple of 8, seal.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

struct simt_seal {
  char magic[8];       // "SIMTSEAL"
  std::uint64_t size;  // bytes before the seal, a multiple of 8
  std::uint64_t hash;  // simt_seal_hash of those bytes
};
static_assert(sizeof(simt_seal) == 24);

// FNV-1a over little-endian 64-bit words, folded after every word; `size` is a multiple of 8.
inline std::uint64_t simt_seal_hash(const void *data, std::size_t size) {
  std::uint64_t h = 14695981039346656037u;
  const char *p = static_cast<const char *>(data);
  for (std::size_t i = 0; i + 8 <= size; i += 8) {
    std::uint64_t w;
    std::memcpy(&w, p + i, 8);
    h = (h ^ w) * 1099511628211u;
    h ^= h >> 32;
  }
  return h;
}

// Appends padding and seal to an ELF image held in a byte container (std::string, std::vector<char>).
template <class Bytes>
void simt_append_seal(Bytes &image) {
  image.resize((image.size() + 7) & ~std::size_t{7});
  simt_seal seal{{'S', 'I', 'M', 'T', 'S', 'E', 'A', 'L'}, image.size(), simt_seal_hash(image.data(), image.size())};
  const char *p = reinterpret_cast<const char *>(&seal);
  image.insert(image.end(), p, p + sizeof seal);
}
