// What the sandbox of the cpu runtime asks: here it guards against the host code of launchers, and no kernel makes
// calls or faults.
#include <csignal>

#include "host_access.h"
#include "sandbox_handler.h"

namespace simt {
namespace {

void on_fault(int signal, siginfo_t *info, void *context) {
  tell_host_access(*info, context);
  ::signal(signal, SIG_DFL);  // it is taken when the instruction faults again
  if (info->si_code <= 0) raise(signal);
}

}  // namespace

void install_fault_handlers() {
  struct sigaction ours{};
  ours.sa_sigaction = on_fault;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  sigaction(SIGSEGV, &ours, nullptr);
}
bool noted_in_kernel(const char *, const ucontext_t &) { return false; }
std::uint64_t unblocked_signals() { return 0; }

}  // namespace simt
