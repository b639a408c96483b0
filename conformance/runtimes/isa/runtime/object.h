// A code object: loaded, its kernels with their descriptors and arguments, its code decoded.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "machine.h"

namespace isa {

struct Argument {
  u32 offset, size;
  std::string kind;
};

// A kernel: its descriptor (LLVM's AMDGPU usage document, "Kernel Descriptor") and its metadata.
struct Kernel {
  std::string name, shown;  // as in its code object, and as in its source
  std::vector<Argument> arguments;
  u32 lds_bytes = 0, scratch_bytes = 0, kernarg_bytes = 0, most_threads = 1024;
  u32 rsrc1 = 0, rsrc2 = 0;
  u16 properties = 0;
  u64 entry = 0;  // an address in the loaded image
  const class Object *object = nullptr;

  u32 wave() const { return properties >> 10 & 1 ? 32 : 64; }
  u32 vgprs() const { return 8 * ((rsrc1 & 63) + 1); }
  u32 user_registers() const { return rsrc2 >> 1 & 31; }
};

// Memory that holds a loaded image.
class Mapping {
 public:
  Mapping() = default;
  ~Mapping();
  Mapping(const Mapping &) = delete;
  Mapping &operator=(const Mapping &) = delete;

  void make(u64 bytes);  // raises Fault

  u64 base = 0, size = 0;
};

class Object {
 public:
  // Loads the ELF file in `file`; raises Fault, whose text says what is wrong with it.
  explicit Object(const std::string &file);

  const std::map<std::string, Kernel, std::less<>> &kernels() const { return kernels_; }
  const std::map<std::string, Window, std::less<>> &globals() const { return globals_; }
  const Code &code() const { return code_; }
  u32 lds_limit() const { return target_.starts_with("gfx950") ? 160 * 1024 : 64 * 1024; }
  const std::string &file() const { return file_; }
  Window image() const { return {image_.base, image_.base + image_.size}; }

 private:
  void load_segments(std::string_view file);
  void read_symbols(std::string_view file);
  void read_metadata(std::string_view note);
  void relocate(std::string_view file);
  void read_descriptor(Kernel &kernel, u64 address);

  Mapping image_;
  std::map<std::string, Kernel, std::less<>> kernels_;
  std::map<std::string, Window, std::less<>> globals_;
  std::map<std::string, u64, std::less<>> descriptors_;
  std::string target_;
  std::string file_;  // as it was loaded, for the lines of faults
  Code code_;
};

}  // namespace isa
