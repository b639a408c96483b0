#include "sandbox_handler.h"

#include <linux/audit.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "hipcpu.h"
#include "sandbox.h"

namespace simt {
namespace {

// Emulates rt_sigprocmask, which the filter traps: the mask takes effect on return from the handler. The signals that
// the runtime handles stay unblocked.
greg_t change_mask(ucontext_t &machine) {
  const greg_t *registers = machine.uc_mcontext.gregs;
  const std::uint64_t ours = std::uint64_t{1} << (SIGSYS - 1) | unblocked_signals();
  std::uint64_t mask, change;
  if (registers[REG_R10] != sizeof mask) return -EINVAL;
  std::memcpy(&change, reinterpret_cast<const void *>(registers[REG_RSI]), sizeof change);
  std::memcpy(&mask, &machine.uc_sigmask, sizeof mask);
  if (registers[REG_RDX]) std::memcpy(reinterpret_cast<void *>(registers[REG_RDX]), &mask, sizeof mask);
  switch (static_cast<int>(registers[REG_RDI])) {
    case SIG_BLOCK:
      mask |= change & ~ours;
      break;
    case SIG_SETMASK:
      mask = change & ~ours;
      break;
    default:
      return -EINVAL;
  }
  std::memcpy(&machine.uc_sigmask, &mask, sizeof mask);
  return 0;
}

// glibc makes some calls, such as setuid(), in every thread: the first one reports, the others wait for the end.
[[noreturn]] void exit_for_forbidden_call(const char *call) {
  static std::atomic_flag reporting = ATOMIC_FLAG_INIT;
  while (reporting.test_and_set()) __builtin_ia32_pause();
  char line[128];
  const int bytes = std::snprintf(line, sizeof line, "called %s, which is forbidden in kernels\n", call);
  if (write(STDERR_FILENO, line, static_cast<std::size_t>(bytes)) < 0) _exit(HIPCPU_FORBIDDEN_EXIT);
  _exit(HIPCPU_FORBIDDEN_EXIT);
}

void on_forbidden_call(int, siginfo_t *info, void *context) {
  if (info->si_code <= 0) return;  // sent by a process, not raised by the filter
  auto &machine = *static_cast<ucontext_t *>(context);
  greg_t &result = machine.uc_mcontext.gregs[REG_RAX];
  if (info->si_arch == AUDIT_ARCH_X86_64 && info->si_syscall == SYS_rt_sigprocmask) {
    result = change_mask(machine);
    return;
  }
  const char *call = forbidden_call_name(info->si_arch, info->si_syscall);
  if (!noted_in_kernel(call, machine)) exit_for_forbidden_call(call);
  result = -EPERM;
}

}  // namespace

void install_sandbox_handler() {
  struct sigaction ours{};
  ours.sa_sigaction = on_forbidden_call;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART;
  sigemptyset(&ours.sa_mask);
  sigaction(SIGSYS, &ours, nullptr);
  sigset_t reports;
  sigemptyset(&reports);
  sigaddset(&reports, SIGSYS);
  pthread_sigmask(SIG_UNBLOCK, &reports, nullptr);
}

}  // namespace simt
