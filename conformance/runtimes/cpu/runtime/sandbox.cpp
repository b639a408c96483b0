#include "sandbox.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <mutex>
#include <string>
#include <vector>

#include "api.h"
#include "descriptor.h"
#include "hipcpu.h"
#include "sandbox_handler.h"

namespace simt {
namespace {

// ---- Landlock, as in linux/landlock.h of a recent system

constexpr long landlock_create_ruleset = 444, landlock_add_rule = 445, landlock_restrict_self = 446;
constexpr unsigned landlock_version = 1, landlock_errata = 2;
constexpr unsigned signals_between_threads_work = 1 << 1;  // erratum 2, fixed

struct LandlockRules {
  std::uint64_t files, tcp, scopes;
};

// The accesses that each version of Landlock added; all are denied everywhere.
struct LandlockVersion {
  int version;
  LandlockRules denied;
  std::size_t bytes;  // of LandlockRules
};
constexpr LandlockVersion landlock_versions[] = {
    {1, {0x1ff3, 0, 0}, 8},    // executing, writing, removing, making; not READ_FILE and READ_DIR
    {2, {1 << 13, 0, 0}, 8},   // moving and linking between folders
    {3, {1 << 14, 0, 0}, 8},   // truncating
    {4, {0, 3, 0}, 16},        // binding and connecting
    {5, {1 << 15, 0, 0}, 16},  // ioctl of devices
    {6, {0, 0, 1}, 24},        // abstract sockets of others
};
constexpr std::uint64_t scope_signals = 2;
constexpr std::uint64_t reading_files = 1 << 2;

struct __attribute__((packed)) LandlockBeneath {
  std::uint64_t allowed;
  std::int32_t folder;
};

int landlock_abi() {
  return static_cast<int>(std::max(0L, syscall(landlock_create_ruleset, nullptr, 0, landlock_version)));
}

// Have `ruleset` allow reading `path` and what lies below it; what cannot be opened cannot be read anyway.
void allow_reading(int ruleset, const std::string &path) {
  const FileDescriptor opened(open(path.c_str(), O_PATH | O_CLOEXEC | O_NOFOLLOW));
  const LandlockBeneath rule{reading_files, opened.get()};
  if (opened.get() >= 0) syscall(landlock_add_rule, ruleset, 1, &rule, 0);
}

// Have `ruleset` allow reading every file but those in the folder `unread`, an absolute path without links.
bool allow_reading_but(int ruleset, const std::string &unread) {
  for (std::size_t at = 0; at < unread.size();) {
    const std::size_t end = std::min(unread.find('/', at + 1), unread.size());
    const std::string folder = unread.substr(0, at + 1), next = unread.substr(at + 1, end - at - 1);
    DIR *listed = opendir(folder.c_str());
    if (!listed) return false;
    while (const dirent *entry = readdir(listed)) {
      const std::string name = entry->d_name;
      if (name != "." && name != ".." && name != next) allow_reading(ruleset, folder + name);
    }
    closedir(listed);
    at = end;
  }
  return true;
}

// A ruleset that denies everything it handles but reading files outside of the folder `unread`, where one is named.
FileDescriptor landlock_ruleset(int abi, const std::string &unread) {
  LandlockRules rules{};
  std::size_t bytes = 0;
  for (const LandlockVersion &v : landlock_versions) {
    if (v.version > abi) break;
    rules.files |= v.denied.files;
    rules.tcp |= v.denied.tcp;
    rules.scopes |= v.denied.scopes;
    bytes = v.bytes;
  }
  // Each thread gets a domain of its own; before the fix one could not interrupt another.
  const long errata = abi >= 6 ? syscall(landlock_create_ruleset, nullptr, 0, landlock_errata) : 0;
  if (errata > 0 && (errata & signals_between_threads_work)) rules.scopes |= scope_signals;
  char *const resolved = unread.empty() ? nullptr : realpath(unread.c_str(), nullptr);
  const std::string folder = resolved ? resolved : "";
  std::free(resolved);
  if (folder.size() > 1) rules.files |= reading_files;
  FileDescriptor ruleset(bytes ? static_cast<int>(syscall(landlock_create_ruleset, &rules, bytes, 0)) : -1);
  // A folder above that cannot be listed: reading is not restricted, but everything else is.
  if (ruleset.get() >= 0 && folder.size() > 1 && !allow_reading_but(ruleset.get(), folder))
    return landlock_ruleset(abi, "");
  return ruleset;
}

// ---- per-thread settings: each thread makes its own, the others in a signal handler

constexpr unsigned max_threads = 1024;

struct PerThread {
  int ruleset = -1;
  std::atomic<bool> closed{false};  // a thread that is late does nothing
  std::atomic<unsigned> count{0}, without_landlock{0}, with_capabilities{0};
  std::atomic<pid_t> reached[max_threads]{};
} per_thread;

pid_t this_thread() { return static_cast<pid_t>(syscall(SYS_gettid)); }

void confine_thread() {
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (per_thread.ruleset >= 0 && syscall(landlock_restrict_self, per_thread.ruleset, 0) != 0)
    ++per_thread.without_landlock;
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3]{};
  if (syscall(SYS_capset, &header, none) != 0) ++per_thread.with_capabilities;
  const unsigned slot = per_thread.count++;
  if (slot < max_threads) per_thread.reached[slot] = this_thread();
}

void on_confine(int, siginfo_t *, void *context) {
  const int saved = errno;
  if (!per_thread.closed) confine_thread();
  sigdelset(&static_cast<ucontext_t *>(context)->uc_sigmask, SIGSYS);  // must not be blocked from now on
  errno = saved;
}

int confine_signal() { return SIGRTMIN + 10; }

bool reached(pid_t thread) {
  auto *const end = std::end(per_thread.reached);
  return std::find(std::begin(per_thread.reached), end, thread) != end;
}

bool send(pid_t thread, int signal) { return syscall(SYS_tgkill, getpid(), thread, signal) == 0; }

// Threads of this process that are not confined yet; false when they cannot be listed.
bool unconfined_threads(std::vector<pid_t> &threads) {
  DIR *folder = opendir("/proc/self/task");
  if (!folder) return false;
  threads.clear();
  while (const dirent *entry = readdir(folder)) {
    const pid_t thread = static_cast<pid_t>(std::atoi(entry->d_name));
    if (thread > 0 && !reached(thread)) threads.push_back(thread);
  }
  closedir(folder);
  return true;
}

// The number of threads that do not take the signal, or -1 when the threads cannot be listed.
int confine_threads() {
  constexpr timespec poll_interval{0, 50'000};
  constexpr int max_polls = 20'000;  // a second
  struct sigaction ours{}, before{};
  ours.sa_sigaction = on_confine;
  ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigaction(confine_signal(), &ours, &before);
  confine_thread();
  const auto finished = [](pid_t thread) { return reached(thread) || !send(thread, 0); };
  std::vector<pid_t> threads;
  bool listed;
  long missed = 0;
  // Repeated, since unconfined threads may have started more.
  while ((listed = unconfined_threads(threads)) && !threads.empty() && !missed) {
    for (const pid_t thread : threads) send(thread, confine_signal());
    for (int i = 0; i < max_polls && !std::all_of(threads.begin(), threads.end(), finished); ++i)
      nanosleep(&poll_interval, nullptr);
    missed = std::count_if(threads.begin(), threads.end(), [&](pid_t thread) { return !finished(thread); });
  }
  per_thread.closed = true;
  if (!missed) sigaction(confine_signal(), &before, nullptr);
  return listed ? static_cast<int>(missed) : -1;
}

// ---- limits

void lower(decltype(RLIMIT_DATA) resource, rlim_t most) {
  rlimit now{};
  getrlimit(resource, &now);
  now.rlim_max = std::min(now.rlim_max, most);
  now.rlim_cur = std::min(now.rlim_cur, now.rlim_max);
  setrlimit(resource, &now);
}

void set_limits(const Limits &limits) {
  if (limits.memory) lower(RLIMIT_DATA, limits.memory);
  if (limits.file_bytes) {
    lower(RLIMIT_FSIZE, limits.file_bytes);
    signal(SIGXFSZ, SIG_IGN);  // a write beyond it fails instead of killing the process
  }
  lower(RLIMIT_CORE, 0);
  const FileDescriptor score(open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  static constexpr char killed_first[] = "1000";
  if (score.get() >= 0 && write(score.get(), killed_first, sizeof killed_first - 1) < 0) return;  // best effort
}

bool has_seccomp() {
  const std::uint32_t action = SECCOMP_RET_TRAP;
  return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

std::atomic<bool> confined_now{false};

std::string describe_guards(int abi) {
  std::string text = abi ? "seccomp and Landlock " + std::to_string(abi) : "seccomp, without Landlock";
  const unsigned without = per_thread.without_landlock;
  if (abi && without) text += " (Landlock not in " + std::to_string(without) + " of the threads)";
  if (per_thread.with_capabilities) text += ", capabilities kept";
  return text;
}

}  // namespace

bool is_confined() { return confined_now; }

Error confine(const Limits &limits, std::string &guards) {
  static std::mutex mutex;
  static std::string active_guards;
  const std::lock_guard lock(mutex);
  if (active_guards.empty()) {
    if (!has_seccomp()) return fail(NotSupported, "no sandbox: the kernel has no seccomp filters");
    install_fault_handlers();
    install_sandbox_handler();
    set_limits(limits);
    const int abi = landlock_abi();
    const FileDescriptor ruleset = landlock_ruleset(abi, limits.unread);
    per_thread.ruleset = ruleset.get();
    const int missed = confine_threads();
    if (missed < 0) return fail(NotSupported, "no sandbox: /proc/self/task cannot be read, is /proc mounted?");
    if (missed)
      return fail(NotSupported, "no sandbox: %d of the process's threads block signals, and cannot be confined",
                  missed);
    if (const int error = install_filter())
      return fail(NotSupported, "no sandbox: the seccomp filter was refused: %s",
                  error > 0 ? std::strerror(error) : "a thread has a filter of its own");
    active_guards = describe_guards(ruleset.get() >= 0 ? abi : 0);
    confined_now = true;
  }
  guards = active_guards;
  return Success;
}

}  // namespace simt

SIMT_API const char *hipcpuConfine(unsigned long memory, unsigned long file_bytes, const char *unread) {
  static thread_local std::string *guards = new std::string;
  return simt::confine({memory, file_bytes, unread ? unread : ""}, *guards) == simt::Success ? guards->c_str()
                                                                                             : nullptr;
}
