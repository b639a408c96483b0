// The C++ text that turns the kernels found in a source into the module's kernel table.
#pragma once

#include <string>
#include <vector>

#include "scanner.h"

namespace hiprtc {

// Sections of the object file: the linkage is read from one, the names are written to the other.
inline constexpr char address_section[] = "simt_addresses";
inline constexpr char name_section[] = "simt_names";
inline constexpr unsigned name_width = 1024;  // bytes for one kernel's name

// What to append to the source before it is preprocessed: SIMT_MODULE of entry.h, around a placeholder.
std::string registration_request();

struct Registration {
  std::string source;  // the scanned source with the tables filled in
  size_t count = 0;    // rows: the scanned kernels in order, then the name expressions
};

// Throws std::runtime_error if the scanned source has lost the placeholder.
Registration register_kernels(const Scan &scan, const std::vector<std::string> &expressions);

}  // namespace hiprtc
