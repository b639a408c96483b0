#include "faults.h"

#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>

#include "host_access.h"
#include "sandbox_handler.h"
#include "worker.h"

namespace simt {
namespace {

constexpr int handled[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
constexpr int page_fault_write = 2;  // bit of the x86 page-fault error code

struct sigaction previous[std::size(handled)];

int interrupt_signal() { return SIGRTMIN + 9; }

Incident incident_of(Incident::Kind kind, const Worker &worker, const ucontext_t &context) {
  Incident i = worker.incident_here(kind);
  i.pc = reinterpret_cast<const void *>(context.uc_mcontext.gregs[REG_RIP]);
  return i;
}

// For signals that no kernel caused: calls the previous handler. If that one raises the signal again, the default
// action is taken.
void forward(int signal, siginfo_t *info, void *context) {
  static thread_local volatile sig_atomic_t forwarding = 0;
  if (!forwarding) tell_host_access(*info, context);
  const struct sigaction *to = nullptr;
  for (unsigned i = 0; i < std::size(handled); ++i)
    if (handled[i] == signal) to = &previous[i];
  if (!forwarding && to && (to->sa_flags & SA_SIGINFO) && to->sa_sigaction) {
    forwarding = 1;
    to->sa_sigaction(signal, info, context);
    forwarding = 0;
    return;
  }
  if (!forwarding && to && !(to->sa_flags & SA_SIGINFO) && to->sa_handler != SIG_DFL && to->sa_handler != SIG_IGN) {
    forwarding = 1;
    to->sa_handler(signal);
    forwarding = 0;
    return;
  }
  // The default action is taken when the instruction faults again; a signal that was sent is sent again.
  ::signal(signal, SIG_DFL);
  if (info->si_code <= 0) raise(signal);
}

void on_fault(int signal, siginfo_t *info, void *context) {
  Worker *worker = Worker::current();
  if (!worker || !worker->in_kernel() || info->si_code <= 0) return forward(signal, info, context);
  const auto &machine = *static_cast<const ucontext_t *>(context);
  Incident i = incident_of(Incident::Fault, *worker, machine);
  i.signal = signal;
  i.address = info->si_addr;
  i.write = signal == SIGSEGV && (machine.uc_mcontext.gregs[REG_ERR] & page_fault_write);
  i.area = worker->area_of(info->si_addr);
  if (signal == SIGSEGV && info->si_code == SI_KERNEL) i.area.kind = Area::Unknown;
  worker->abort_block(i);
}

void on_interrupt(int, siginfo_t *, void *context) {
  Worker *worker = Worker::current();
  if (!worker || !worker->in_kernel() || !worker->expired() || worker->busy()) return;
  worker->abort_block(incident_of(Incident::Timeout, *worker, *static_cast<const ucontext_t *>(context)));
}

}  // namespace

bool noted_in_kernel(const char *call, const ucontext_t &machine) {
  Worker *worker = Worker::current();
  if (!worker || !worker->in_kernel()) return false;
  Incident i = incident_of(Incident::ForbiddenCall, *worker, machine);
  i.what = call;
  worker->record_forbidden_call(i);
  return true;
}

std::uint64_t unblocked_signals() {
  std::uint64_t ours = std::uint64_t{1} << (interrupt_signal() - 1);
  for (const int signal : handled) ours |= std::uint64_t{1} << (signal - 1);
  return ours;
}

void install_fault_handlers() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  struct sigaction now{};
  sigaction(SIGSEGV, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_fault) return;
  struct sigaction ours{};
  ours.sa_sigaction = on_fault;
  // Handlers exit by a jump, so they must not leave signals blocked.
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&ours.sa_mask);
  for (unsigned i = 0; i < std::size(handled); ++i) {
    struct sigaction before{};
    sigaction(handled[i], &ours, &before);
    if (before.sa_sigaction != on_fault) previous[i] = before;
  }
  ours.sa_sigaction = on_interrupt;
  ours.sa_flags |= SA_RESTART;
  sigaction(interrupt_signal(), &ours, nullptr);
}

void use_signal_stack() {
  constexpr std::size_t bytes = 64 * 1024;  // AVX-512 and AMX state needs several KiB
  struct Stack {
    std::unique_ptr<char[]> memory;
    ~Stack() {
      if (!memory) return;
      stack_t off{};
      off.ss_flags = SS_DISABLE;
      sigaltstack(&off, nullptr);
    }
  };
  static thread_local Stack stack;
  stack_t now{};
  sigaltstack(nullptr, &now);
  if (!(now.ss_flags & SS_DISABLE)) return;
  stack.memory = std::make_unique<char[]>(bytes);
  stack_t use{};
  use.ss_sp = stack.memory.get();
  use.ss_size = bytes;
  sigaltstack(&use, nullptr);
}

void interrupt(pthread_t thread) { pthread_kill(thread, interrupt_signal()); }

}  // namespace simt
