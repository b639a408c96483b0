// Device memory that the host code of a launcher accesses.
#pragma once

#include <csignal>

namespace simt {

// In a handler of SIGSEGV: says on standard error whether host code accessed memory that is kept from it.
void tell_host_access(const siginfo_t &info, const void *context);

}  // namespace simt
