// What kernels must not do, by the C library's functions and by bare system calls; and kernels that do nothing wrong.
#include <hip/hip_runtime.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define GLOBAL extern "C" __global__ void

// ---- attempts; the folder to write to and the process to attack come from the environment, as constructors get no
// arguments. Each returns what the call returned.

static pid_t victim() { return atoi(getenv("ATTEMPT_VICTIM")); }
static const char *place() { return getenv("ATTEMPT_FILE"); }

static char *const no_words[] = {const_cast<char *>("true"), nullptr};

static long spawn() {
  pid_t child;
  return -posix_spawn(&child, "/bin/true", nullptr, nullptr, no_words, nullptr);
}

static long fork_with_signals_blocked() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  return fork();
}

static long steal() {
  char byte;
  iovec here{&byte, 1}, there{&byte, 1};
  return process_vm_readv(victim(), &here, 1, &there, 1, 0);
}

static long lift_limit() {
  const rlimit none{RLIM_INFINITY, RLIM_INFINITY};
  return setrlimit(RLIMIT_FSIZE, &none);
}

static long ignore_reports() { return signal(SIGSYS, SIG_IGN) == SIG_ERR ? -1 : 0; }

struct Attempt {
  const char *name;
  long (*make)();
};

static const Attempt attempts[] = {
    {"fork", [] { return long{fork()}; }},
    {"fork with signals blocked", fork_with_signals_blocked},
    {"vfork", [] { return syscall(SYS_vfork); }},
    {"system", [] { return long{system("true")}; }},
    {"popen", [] { return popen("true", "r") ? 0L : -1L; }},
    {"posix_spawn", spawn},
    {"execv", [] { return long{execv("/bin/true", no_words)}; }},
    {"open", [] { return long{open(place(), O_WRONLY)}; }},
    {"create", [] { return long{open(place(), O_RDONLY | O_CREAT, 0600)}; }},
    {"open, truncating", [] { return long{open(place(), O_TRUNC)}; }},
    {"unnamed file", [] { return long{open("/tmp", O_TMPFILE | O_RDWR, 0600)}; }},
    {"fopen", [] { return fopen(place(), "a") ? 0L : -1L; }},
    {"remove", [] { return long{remove(place())}; }},
    {"rename", [] { return long{rename(place(), "/tmp/elsewhere")}; }},
    {"mkdir", [] { return long{mkdir("/tmp/attempted", 0700)}; }},
    {"symlink", [] { return long{symlink("/", "/tmp/attempted")}; }},
    {"chmod", [] { return long{chmod(place(), 0777)}; }},
    {"truncate", [] { return long{truncate(place(), 0)}; }},
    {"socket", [] { return long{socket(AF_INET, SOCK_STREAM, 0)}; }},
    {"kill", [] { return long{kill(victim(), SIGKILL)}; }},
    {"kill the group", [] { return long{kill(0, SIGTERM)}; }},
    {"signal by fcntl", [] { return long{fcntl(0, F_SETOWN, victim())}; }},
    {"ptrace", [] { return ptrace(PTRACE_ATTACH, victim(), nullptr, nullptr); }},
    {"process_vm_readv", steal},
    {"setrlimit", lift_limit},
    {"setfsuid", [] { return long{setfsuid(0)}; }},
    {"leave the group", [] { return long{setsid()}; }},
    {"nice", [] { return long{setpriority(PRIO_PROCESS, static_cast<id_t>(victim()), 19)}; }},
    {"shmget", [] { return long{shmget(IPC_PRIVATE, 4096, 0600)}; }},
    {"ignore the reports", ignore_reports},
};

static long attempt(const char *name) {
  for (const Attempt &a : attempts)
    if (__builtin_strcmp(a.name, name) == 0) return a.make();
  return 1;
}

// Thread 3 of the second block makes the attempt.
GLOBAL attempts_in_kernel(int which, long *out) {
  if (blockIdx.x == 1 && threadIdx.x == 3) out[0] = attempts[which].make();
}

GLOBAL loops_after_attempt(int which) {
  attempts[which].make();
  for (volatile int i = 1; i;) {
  }
}

GLOBAL faults_after_attempt(int which) {
  attempts[which].make();
  *reinterpret_cast<volatile int *>(8) = 1;
}

#if defined(AT_LOAD)
namespace {
struct AtLoad {
  AtLoad() {
    if (const char *name = getenv("ATTEMPT")) attempt(name);
  }
} at_load;
}  // namespace
#endif

// ---- bare system calls

static long bare(long number, long a, long b, long c, long d, long e, long f) {
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

GLOBAL bare_call(long number, long a, long b, long c, long d, long *out) { out[0] = bare(number, a, b, c, d, 0, 0); }

GLOBAL call_of_32_bits(int number, long *out) {
  long result = number;
  asm volatile("int $0x80" : "+a"(result) : "b"(0l), "c"(0l), "d"(0l) : "memory");
  out[0] = result;
}

// ---- threads of the host that a kernel starts

static volatile int out_of_reach;

static void *call_later(void *) {
  usleep(50'000);
  socket(AF_UNIX, SOCK_STREAM, 0);
  return nullptr;
}

// The C library does this in every thread of the process, most of which run no kernel.
GLOBAL changes_user() { out_of_reach = setuid(0); }

GLOBAL starts_thread(int *out) {
  pthread_t thread;
  out[0] = pthread_create(&thread, nullptr, call_later, nullptr);
}

static void *count(void *to) {
  ++*static_cast<int *>(to);
  return nullptr;
}

GLOBAL joins_thread(int *out) {
  pthread_t thread;
  out[0] = 41;
  if (pthread_create(&thread, nullptr, count, out) == 0) pthread_join(thread, nullptr);
}

// ---- what is not forbidden, and mistakes of other kinds

GLOBAL doubles(const int *in, int *out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  __syncthreads();
  out[i] = 2 * in[i];
}

GLOBAL spins_and_doubles(const int *in, int *out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  for (volatile int k = 0; k < 20'000;) k = k + 1;
  out[i] = 2 * in[i];
}

GLOBAL spins_and_attempts(int *out) {
  for (volatile int k = 0; k < 20'000;) k = k + 1;
  if (threadIdx.x == 0) out[0] = socket(AF_UNIX, SOCK_STREAM, 0);
}

GLOBAL prints(int repeats) {
  for (int i = 0; i < repeats; ++i) printf("%1000d\n", i);
}

GLOBAL loops_for_ever() {
  for (volatile int i = 1; i;) {
  }
}

__device__ __attribute__((noinline)) int deep(volatile int *p, int n) {
  volatile int frame[64];
  frame[n % 64] = *p;
  return n ? deep(frame, n - 1) + frame[n % 64] : 0;
}

GLOBAL overflows_its_stack(int *out) { out[0] = deep(out, 1'000'000); }

GLOBAL writes_to_null() { *reinterpret_cast<volatile int *>(8) = 1; }

GLOBAL reads_file(int *out) {
  const int file = open("/proc/self/maps", O_RDONLY);
  char byte = 0;
  out[0] = file >= 0 && read(file, &byte, 1) == 1;
  close(file);
}

GLOBAL sleeps(long milliseconds, int *out) {
  for (long i = 0; i < milliseconds; ++i) usleep(1000);
  out[0] = 1;
}

GLOBAL reads_named_file(const int *path, int *out) {
  char name[4096] = {};
  for (int i = 0; path[i]; ++i) name[i] = static_cast<char>(path[i]);
  const int file = open(name, O_RDONLY);
  char byte = 0;
  out[0] = file < 0 ? -errno : static_cast<int>(read(file, &byte, 1));
  if (file >= 0) close(file);
}

GLOBAL signals_itself(int *out) {
  signal(SIGUSR1, [](int) {});
  out[0] = kill(getpid(), 0) == 0 && raise(SIGUSR1) == 0 && pthread_kill(pthread_self(), SIGUSR1) == 0;
}

GLOBAL takes_memory(long mebibytes, int *out) {
  char *memory = static_cast<char *>(malloc(static_cast<size_t>(mebibytes) << 20));
  asm volatile("" : "+r"(memory));  // compilers know that an unused malloc succeeds
  out[0] = memory != nullptr;
  free(memory);
}
