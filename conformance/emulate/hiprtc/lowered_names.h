// The symbols of kernels and variables whose addresses a code object holds.
#pragma once

#include <string>
#include <vector>

namespace hiprtc {

// For each of the pointer variables prefix0 to prefix(count - 1) of the ELF file `code`, the name of the function or
// variable that it points to. Throws std::runtime_error where one is missing or points to nothing that has a name.
std::vector<std::string> names_pointed_to(const std::string &code, const std::string &prefix, std::size_t count);

}  // namespace hiprtc
