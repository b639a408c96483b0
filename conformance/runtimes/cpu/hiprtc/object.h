// Reading and patching the 64-bit ELF object file that the compiler made: what the kernels' symbols are called.
#pragma once

#include <string>
#include <vector>

namespace hiprtc {

// Names of the symbols whose addresses are stored, one after the other, in the object's section `section`.
// Throws std::runtime_error if the object has no such section or a slot has no symbol.
std::vector<std::string> symbols_in(const std::string &object, const std::string &section, size_t count);

// Overwrites the start of row i of `section`, rows of `width` bytes, with names[i] and a zero byte.
// Throws std::runtime_error if the section is missing or a name does not fit.
void patch_names(std::string &object, const std::string &section, size_t width, const std::vector<std::string> &names);

}  // namespace hiprtc
