#include "image.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "simt/seal.h"

namespace simt {
namespace {

constexpr std::uint64_t max_image = std::uint64_t{1} << 30;
constexpr Elf64_Half machine_amdgpu = 224;
constexpr char bundle_magic[] = "__CLANG_OFFLOAD_BUNDLE__";
constexpr char compressed_magic[] = "CCOB";

// write() lets the operating system read the image: unreadable memory gives a short write instead of a fault.
bool copy_bytes(const void *from, std::size_t bytes, int fd) {
  const char *p = static_cast<const char *>(from);
  if (lseek(fd, 0, SEEK_SET) != 0) return false;
  while (bytes) {
    const ssize_t n = write(fd, p, bytes);
    if (n <= 0) return false;
    p += n;
    bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

class Mapped {
 public:
  Mapped(int fd, std::size_t bytes) : bytes_(bytes), p_(mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, 0)) {}
  ~Mapped() {
    if (p_ != MAP_FAILED) munmap(p_, bytes_);
  }
  Mapped(const Mapped &) = delete;
  Mapped &operator=(const Mapped &) = delete;
  const char *data() const { return p_ == MAP_FAILED ? nullptr : static_cast<const char *>(p_); }

 private:
  std::size_t bytes_;
  void *p_;
};

bool inside(std::uint64_t offset, std::uint64_t bytes, std::uint64_t size) {
  return offset <= size && bytes <= size - offset;
}

const char *wrong_headers(const char *data, std::uint64_t size, const Elf64_Ehdr &elf) {
  if (elf.e_phentsize != sizeof(Elf64_Phdr) || elf.e_phoff % alignof(Elf64_Phdr)) return "program header table";
  if (!inside(elf.e_phoff, std::uint64_t{elf.e_phnum} * sizeof(Elf64_Phdr), size)) return "program header table";
  for (unsigned i = 0; i < elf.e_phnum; ++i) {
    Elf64_Phdr h;
    std::memcpy(&h, data + elf.e_phoff + i * sizeof h, sizeof h);
    if (!inside(h.p_offset, h.p_filesz, size)) return "segment";
    if (h.p_filesz > h.p_memsz && h.p_type == PT_LOAD) return "segment";
  }
  for (unsigned i = 0; i < elf.e_shnum; ++i) {
    Elf64_Shdr h;
    std::memcpy(&h, data + elf.e_shoff + i * sizeof h, sizeof h);
    if (h.sh_type != SHT_NOBITS && h.sh_type != SHT_NULL && !inside(h.sh_offset, h.sh_size, size)) return "section";
  }
  return nullptr;
}

}  // namespace

Error copy_image(const void *image, FileDescriptor &file, std::uint64_t &hash) {
  if (!image) return fail(InvalidValue, "module load: the image pointer is null");
  FileDescriptor fd(memfd_create("simt_module", MFD_CLOEXEC));
  if (fd.get() < 0) return fail(OutOfMemory, "module load: no memory file: %s", std::strerror(errno));

  Elf64_Ehdr elf{};
  const bool whole_header = copy_bytes(image, sizeof elf, fd.get());
  if (pread(fd.get(), &elf, sizeof elf, 0) < static_cast<ssize_t>(SELFMAG))
    return fail(InvalidImage, "module load: the image is not readable");
  if (std::memcmp(&elf, bundle_magic, sizeof bundle_magic - 1) == 0 ||
      std::memcmp(&elf, compressed_magic, sizeof compressed_magic - 1) == 0)
    return fail(NoBinaryForGpu,
                "module load: the image is an offload bundle of GPU code; this is the cpu runtime, "
                "compile with its own libhiprtc");
  if (std::memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_ident[EI_CLASS] != ELFCLASS64 || !whole_header)
    return fail(InvalidImage, "module load: the image is not a 64-bit ELF file");
  if (elf.e_machine == machine_amdgpu)
    return fail(NoBinaryForGpu,
                "module load: the image is AMD GPU code; this is the cpu runtime, compile with its own "
                "libhiprtc");
  if (elf.e_machine != EM_X86_64 || elf.e_type != ET_DYN)
    return fail(InvalidImage, "module load: the image is not an x86-64 shared object (machine %u, type %u)",
                elf.e_machine, elf.e_type);
  if (elf.e_shentsize != sizeof(Elf64_Shdr) || elf.e_shoff < sizeof elf || elf.e_shoff > max_image)
    return fail(InvalidImage, "module load: the image's section header table is damaged");

  // Linkers write the section headers last; the seal follows them.
  const std::uint64_t end = elf.e_shoff + std::uint64_t{elf.e_shnum} * sizeof(Elf64_Shdr);
  const std::uint64_t size = (end + 7) & ~std::uint64_t{7};
  const Mapped bytes(fd.get(), size + sizeof(simt_seal));
  if (!bytes.data()) return fail(OutOfMemory, "module load: out of memory");
  simt_seal seal{};
  const bool copied = copy_bytes(image, size + sizeof seal, fd.get());
  if (copied) std::memcpy(&seal, bytes.data() + size, sizeof seal);
  if (!copied || std::memcmp(seal.magic, "SIMTSEAL", sizeof seal.magic) != 0)
    return fail(InvalidImage,
                "module load: no seal after %llu bytes: the image is truncated or was not made by the "
                "cpu runtime's libhiprtc; compile it again",
                static_cast<unsigned long long>(size));
  if (seal.size != size || seal.hash != simt_seal_hash(bytes.data(), size))
    return fail(InvalidImage, "module load: the image does not match its seal: truncated or damaged; compile it again");
  if (const char *what = wrong_headers(bytes.data(), size, elf))
    return fail(InvalidImage, "module load: a %s lies outside the image; compile it again", what);
  hash = seal.hash;
  file = std::move(fd);
  return Success;
}

}  // namespace simt
