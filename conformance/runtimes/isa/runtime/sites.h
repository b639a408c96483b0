// The instruction sites of a kernel, and which of them its launches have reached.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "object.h"

namespace isa {

// Indices of the instructions that a kernel's code can come to by its branches and calls, in their order, and those of
// `also`, which it came to otherwise. What lies between functions is none of it.
std::vector<u32> sites_of(const Code &code, u64 entry, const std::vector<u8> &also);

// Files in a folder, one for each kernel by its name: for each site a word of 32 bits, twice its offset in the code
// object, plus one where it was reached. What another process has reached of the same sites is kept.
class Coverage {
 public:
  // Where to; nothing is kept without a folder.
  void set_folder(const std::string &folder);
  explicit operator bool() const { return !folder_.empty(); }

  // A file that cannot be written is removed.
  void add(const Kernel &kernel, const std::vector<u8> &reached);

 private:
  struct Kept {
    const Code *code = nullptr;
    u64 entry = 0;
    std::vector<u32> sites;
    std::vector<u8> reached;
    std::vector<u32> words;
  };
  void begin(Kept &kept, const Kernel &kernel, const std::vector<u8> &reached);
  std::string file_of(const Kernel &kernel) const;

  std::string folder_;
  std::map<std::string, Kept> kept_;
};

}  // namespace isa
