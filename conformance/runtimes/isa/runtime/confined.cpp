// What the sandbox of the cpu runtime asks: here it guards against the host code of launchers, and no kernel makes
// calls.
#include "sandbox_handler.h"

namespace simt {

void install_fault_handlers() {}
bool noted_in_kernel(const char *, const ucontext_t &) { return false; }
std::uint64_t unblocked_signals() { return 0; }

}  // namespace simt
