// Where a module's __shared__ variables are, in clang's own intermediate text.
//
// The headers declare them thread_local. Here each becomes a row of a table, its address a load from the table that
// the runtime fills before a launch: every variable then ends at a guard page, and the variables of the kernel that
// is launched are the only ones to be filled before a block. Which these are is read off the text too.
#pragma once

#include <string>

namespace hiprtc {

// `text` is LLVM assembly before any optimisation; the tables of simt/abi.h are appended to it. A variable that is
// used in a way not known here stays thread_local.
std::string place_shared_memory(const std::string &text);

}  // namespace hiprtc
