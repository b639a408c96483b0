#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "sandbox.h"

namespace simt {
namespace {

enum Rule { allowed, forbidden, by_argument };  // by_argument: forbidden for some, see add_argument_rules

struct SystemCall {
  int number;
  Rule rule;
  const char *name;  // "called NAME, which is forbidden in kernels"
};
constexpr SystemCall system_calls[] = {
#include "sandbox_calls.inc"
};

constexpr std::uint32_t x32_bit = 0x40000000;
constexpr std::uint32_t allow = SECCOMP_RET_ALLOW, trap = SECCOMP_RET_TRAP;
constexpr std::uint32_t return_errno(int error) { return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error); }

// Offsets of an argument's halves: of int arguments the operating system reads the low half only.
constexpr std::uint32_t low(unsigned argument) { return offsetof(seccomp_data, args) + 8 * argument; }
constexpr std::uint32_t high(unsigned argument) { return low(argument) + 4; }

class Filter {
 public:
  void load(std::uint32_t offset) { add(BPF_LD | BPF_W | BPF_ABS, offset); }
  void end(std::uint32_t action) { add(BPF_RET | BPF_K, action); }
  void if_equal(std::uint32_t value, std::uint32_t action) { branch(BPF_JEQ, value, action); }
  void if_at_least(std::uint32_t value, std::uint32_t action) { branch(BPF_JGE, value, action); }
  void if_any_bit(std::uint32_t bits, std::uint32_t action) { branch(BPF_JSET, bits, action); }
  void unless_equal(std::uint32_t value, std::uint32_t action) {
    add(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0);
    end(action);
  }
  void unless_any_bit(std::uint32_t bits, std::uint32_t action) {
    add(BPF_JMP | BPF_JSET | BPF_K, bits, 1, 0);
    end(action);
  }

  // A rule for one call: `rule` tests arguments and ends with an action on every path.
  template <class Rule>
  void call(int number, Rule &&rule) {
    const std::size_t test = code_.size();
    add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(number), 0, 0);
    rule();
    code_[test].jf = static_cast<unsigned char>(code_.size() - test - 1);
  }

  sock_fprog program() { return {static_cast<unsigned short>(code_.size()), code_.data()}; }

 private:
  void branch(int test, std::uint32_t value, std::uint32_t action) {
    add(BPF_JMP | test | BPF_K, value, 0, 1);
    end(action);
  }
  void add(int code, std::uint32_t k, unsigned char jt = 0, unsigned char jf = 0) {
    code_.push_back({static_cast<unsigned short>(code), jt, jf, k});
  }

  std::vector<sock_filter> code_;
};

// O_TMPFILE holds O_DIRECTORY, which is harmless, and a bit of its own.
constexpr std::uint32_t writing = O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY);
constexpr std::uint32_t new_namespace_or_traced = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                                  CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_PTRACE;

constexpr std::uint32_t harmless_fcntl[] = {
    F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC, 1033 /* F_ADD_SEALS */, 1034 /* F_GET_SEALS */};
constexpr std::uint32_t signalling_fcntl[] = {8 /* F_SETOWN */, 10 /* F_SETSIG */, 15 /* F_SETOWN_EX */};
constexpr std::uint32_t harmless_ioctl[] = {TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX};
constexpr std::uint32_t forbidden_ioctl[] = {TIOCSTI, TIOCLINUX, FIOASYNC, 0x8901 /* FIOSETOWN */,
                                             0x8902 /* SIOCSPGRP */};
constexpr std::uint32_t harmless_prctl[] = {PR_SET_NAME,         PR_GET_NAME,    PR_GET_PDEATHSIG, PR_GET_DUMPABLE,
                                            PR_GET_KEEPCAPS,     PR_GET_SECCOMP, PR_CAPBSET_READ,  PR_GET_TIMERSLACK,
                                            PR_GET_NO_NEW_PRIVS, 0x53564d41 /* PR_SET_VMA: names of mappings */};

void add_argument_rules(Filter &f) {
  const auto pid = static_cast<std::uint32_t>(getpid());
  const auto one_of = [&f](const auto &values, std::uint32_t action) {
    for (const std::uint32_t value : values) f.if_equal(value, action);
  };
  const auto trap_unless_null = [&f](unsigned argument) {
    f.load(low(argument));
    f.unless_equal(0, trap);
    f.load(high(argument));
    f.unless_equal(0, trap);
  };
  const auto allow_if_null = [&](unsigned argument) {
    trap_unless_null(argument);
    f.end(allow);
  };
  // Every launch queries the fault handlers once.
  f.call(SYS_rt_sigaction, [&] {
    f.load(low(0));
    f.unless_equal(SIGSYS, allow);
    allow_if_null(1);
  });
  for (const auto &[number, flags] : {std::pair{SYS_openat, 2u}, std::pair{SYS_open, 1u}})
    f.call(static_cast<int>(number), [&, flags = flags] {
      f.load(low(flags));
      f.if_any_bit(writing, trap);
      f.end(allow);
    });
  f.call(SYS_clone, [&] {
    f.load(low(0));
    f.unless_any_bit(CLONE_THREAD, trap);
    f.if_any_bit(new_namespace_or_traced, trap);
    f.end(allow);
  });
  for (const int number : {SYS_tgkill, SYS_kill})
    f.call(number, [&] {
      f.load(low(0));
      f.if_equal(pid, allow);
      f.end(trap);
    });
  // Blocking signals is left to the handler, see sandbox.h; queries and unblocking are allowed.
  f.call(SYS_rt_sigprocmask, [&] {
    f.load(low(0));
    f.if_equal(SIG_UNBLOCK, allow);
    allow_if_null(1);
  });
  f.call(SYS_prlimit64, [&] {
    trap_unless_null(2);
    f.load(low(0));
    f.if_equal(0, allow);
    f.if_equal(pid, allow);
    f.end(trap);
  });
  f.call(SYS_sched_setaffinity, [&] {
    f.load(low(0));
    f.if_equal(0, allow);
    f.if_equal(pid, allow);
    f.end(trap);
  });
  f.call(SYS_fcntl, [&] {
    f.load(low(1));
    one_of(harmless_fcntl, allow);
    one_of(signalling_fcntl, trap);
    f.end(return_errno(EPERM));
  });
  f.call(SYS_ioctl, [&] {
    f.load(low(1));
    one_of(harmless_ioctl, allow);
    one_of(forbidden_ioctl, trap);
    f.end(return_errno(EPERM));
  });
  f.call(SYS_prctl, [&] {
    f.load(low(0));
    one_of(harmless_prctl, allow);
    f.end(return_errno(EPERM));
  });
}

Filter sandbox_filter() {
  Filter f;
  f.load(offsetof(seccomp_data, arch));
  f.unless_equal(AUDIT_ARCH_X86_64, trap);
  f.load(offsetof(seccomp_data, nr));
  f.if_equal(~std::uint32_t{0}, return_errno(ENOSYS));
  f.if_at_least(x32_bit, trap);
  add_argument_rules(f);  // first: Linux since 5.11 does not run the filter for calls that it always allows
  for (const SystemCall &call : system_calls)
    if (call.rule != by_argument)
      f.if_equal(static_cast<std::uint32_t>(call.number), call.rule == allowed ? allow : trap);
  f.end(return_errno(ENOSYS));
  return f;
}

}  // namespace

const char *forbidden_call_name(unsigned architecture, int number) {
  if (architecture != AUDIT_ARCH_X86_64) return "a 32-bit system call (int 0x80)";
  if (static_cast<std::uint32_t>(number) >= x32_bit) return "a system call of the x32 ABI";
  const SystemCall *end = std::end(system_calls);
  const SystemCall *found =
      std::find_if(std::begin(system_calls), end, [number](const SystemCall &c) { return c.number == number; });
  return found == end ? "a system call" : found->name;
}

int install_filter() {
  Filter filter = sandbox_filter();
  sock_fprog program = filter.program();
  // Without SPEC_ALLOW, Linux before 5.16 enables costly speculation mitigations; this process holds no secrets.
  for (const unsigned long extra : {SECCOMP_FILTER_FLAG_SPEC_ALLOW, 0ul}) {
    const long done = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC | extra, &program);
    if (done == 0) return 0;
    if (done > 0) return -1;
    if (errno != EINVAL) break;
  }
  return errno;
}

}  // namespace simt
