// Moves a module's __shared__ variables into a table, in clang's LLVM IR.
//
// The headers declare them thread_local. Here each becomes a row of a table, its address a load from the table that
// the runtime fills before a launch: every variable then ends at a guard page, and the variables of the kernel that
// is launched are the only ones to be filled before a block. Which these are is found in the IR too.
#pragma once

#include <string>

namespace hiprtc {

// `text` is LLVM assembly before any optimisation; the tables of simt/abi.h are appended to it. A variable that is
// used in an unsupported way stays thread_local.
std::string place_shared_memory(const std::string &text);

}  // namespace hiprtc
