// Faults of kernels with the places of programs' sources.
#pragma once

#include <string>

namespace simt {

// Whether the environment names a program that finds places.
bool tells_places();

// `message` with the line of the source for each "at 0x1970", an address in the kernel's code object `code`, and with
// the program's call that launched the kernel. Called under the launch mutex, where `tells_places`.
std::string with_places(const std::string &message, const std::string &code);

}  // namespace simt
