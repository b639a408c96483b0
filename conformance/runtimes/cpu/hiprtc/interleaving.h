// Lets other threads of a block come between what a thread reads and what it then writes to the same place, as on a
// GPU: where that is not the thread's own, an addition without an atomic operation loses what the others added.
#pragma once

#include <string>

namespace hiprtc {

// `text` is LLVM assembly after optimisation. A call of simt_before_store is put before every store to an address that
// its function also reads; not volatile ones, nor those of a thread's own variables.
std::string interleave_stores(const std::string &text);

}  // namespace hiprtc
