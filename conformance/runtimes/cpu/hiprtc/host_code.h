// A program's source is compiled for its kernels alone (-DSIMT_PROGRAM): what the compiler made of its host code, which
// another compiler compiles, is taken out of the module.
#pragma once

#include <string>

namespace hiprtc {

// `module`, in LLVM's text form before optimisation, in which functions that no kernel needs are internal, so that the
// optimiser removes them, and no constructor runs when it is loaded. Static variables are exported. It has a table
// simt_launched with the kernels that the host code launches, templates above all, by their symbols (simt/abi.h). The
// kernels of its own table are those whose addresses are in the section `addresses`.
std::string without_host_code(const std::string &module, const std::string &addresses);

}  // namespace hiprtc
