"""The faults that kernels commit while they run: one row each.

The code of a row stands inside a kernel, where ``target`` is the written buffer, ``source`` a buffer that is only read
(null where the kernel has none), and ``count`` the number of elements of ``target``. ``trees.py`` puts each row's code
into as many kernels as it has places.
"""

from __future__ import annotations

from dataclasses import dataclass

from conformance.status import Status

FIRST, LAST, MIDDLE = "first thread", "last thread", "one block"
BARRIER, FUNCTION, LATER, AFTER = "after a barrier", "device function", "fifth launch", "after the work"
ALL, ALONE = "every thread", "nothing else"

PLACES = {
    FIRST: "if (first_thread()) { CODE } WORK",
    LAST: "if (last_thread()) { CODE } WORK",
    MIDDLE: "if (blockIdx.x == gridDim.x / 2 && threadIdx.x == 0) { CODE } WORK",
    BARRIER: "__syncthreads(); if (last_thread()) { CODE } __syncthreads(); WORK",
    FUNCTION: "if (first_thread()) FUNCTION WORK",
    LATER: "static int launches; if (first_thread() && ++launches == 5) { CODE } WORK",
    AFTER: "WORK if (last_thread()) { CODE }",
    ALL: "CODE WORK",
    ALONE: "CODE",
}
"""What a kernel's body is, by place; WORK is the right result, FUNCTION a call of a function that holds CODE."""

CRASH: frozenset[Status] = frozenset({"crash"})
TIMEOUT: frozenset[Status] = frozenset({"timeout"})
STOPPED: frozenset[Status] = frozenset({"crash", "timeout"})
FAIL: frozenset[Status] = frozenset({"fail"})
SEEN: frozenset[Status] = frozenset({"fail", "crash"})
HARMLESS: frozenset[Status] = frozenset({"pass", "crash"})
"""For what leaves the kernel's own result right: it may pass, as long as its neighbours do."""
ANY: frozenset[Status] = frozenset({"pass", "fail", "crash", "timeout"})
"""For damage to the process whose effect depends on what lies where; the neighbours are what counts."""


@dataclass(frozen=True)
class Fault:
    """What a kernel does, the statuses that are right for it, and where in a kernel it does it.

    ``needs_input`` holds for faults that touch ``source``; ``forbidden`` for calls that only a sandbox stops: they are
    left out where the machine offers none.
    """

    name: str
    code: str
    expected: frozenset[Status]
    places: tuple[str, ...] = (FIRST,)
    needs_input: bool = False
    forbidden: bool = False


MEMORY = (
    Fault("write just past the end",
          "if (count) ((volatile char *)(target + count))[1] = 77;",
          SEEN, (FIRST, LAST, BARRIER)),
    Fault("write before the start", "if (count) ((volatile char *)target)[-3] = 77;", SEEN, (FIRST, FUNCTION)),
    Fault("write far past the end", "((volatile char *)target)[opaque(300000)] = 1;", SEEN, (LAST, BARRIER)),
    Fault("read far past the end", "(void)((const volatile char *)target)[opaque(900000)];", CRASH, (FIRST, AFTER)),
    Fault("read of null", "(void)*(const volatile int *)opaque(0);", CRASH, (FIRST, BARRIER, LATER)),
    Fault("write to null", "*(volatile int *)opaque(0) = 1;", CRASH, (LAST, FUNCTION, MIDDLE)),
    Fault("write through a wild pointer", "*(volatile int *)opaque(0xdeadbeef000) = 1;", CRASH, (FIRST, BARRIER)),
    Fault("read beyond the address space", "(void)*(volatile int *)opaque(1ul << 62);", CRASH, (MIDDLE,)),
    Fault("write to its own code", "*(volatile char *)(void *)&first_thread = 0;", CRASH, (FIRST, BARRIER)),
    Fault("call of null", "((void (*)())opaque(0))();", CRASH, (FIRST, FUNCTION)),
    Fault("call into the output", "((void (*)())(void *)target)();", CRASH, (LAST,)),
    Fault("endless recursion", "(void)recurse(opaque(1));", CRASH, (FIRST, BARRIER)),
    Fault("frame of 1 MiB",
          "volatile char frame[1 << 20]; frame[opaque(0)] = 1; (void)frame[opaque(5)];",
          CRASH, (FIRST, BARRIER, AFTER)),
    Fault("frame of 100 MiB", "volatile char frame[100 << 20]; frame[opaque(0)] = 1;", CRASH, (LAST, FUNCTION)),
    Fault("index past a local array", "volatile int local[8] = {}; local[opaque(9)] = 1;", CRASH, (FIRST, BARRIER)),
    Fault("index past a shared array",
          "__shared__ volatile int shared[8]; shared[opaque(9)] = 1;",
          CRASH, (FIRST, BARRIER)),
    Fault("heap overwritten and used", "heap_smash(); free(malloc(5000)); free(malloc(100000));", ANY, (FIRST,)),
    Fault("heap overwritten", "heap_smash();", ANY, (FIRST, AFTER)),
    Fault("its stack's guard unmapped",
          "munmap((char *)opaque((unsigned long)__builtin_frame_address(0) & ~4095ul) - (1 << 20), 3 << 20);",
          STOPPED, (FIRST,)),
    Fault("everything unmapped",
          "for (unsigned long a = 1ul << 46, e = 1ul << 47; a < e; a += 1ul << 40) munmap((void *)a, 1ul << 40);",
          STOPPED, (FIRST, LAST)),
)  # fmt: skip

RESULTS = (
    Fault("nothing written", "(void)target;", FAIL, (ALONE, ALONE, ALONE)),
    Fault("one wrong element, the first",
          "if (count) ((volatile unsigned char *)target)[0] ^= 0x40;",
          FAIL, (AFTER, AFTER)),
    Fault("one wrong element, the last",
          "if (count) ((volatile unsigned char *)(target + count - 1))[0] ^= 0x40;",
          FAIL, (AFTER, AFTER)),
    Fault("wrong where there are many",
          "if (count > 1000) ((volatile unsigned char *)(target + count / 2))[0] ^= 0x40;",
          FAIL, (AFTER,)),
    Fault("wrong in every tenth launch",
          "static int n; if (count && ++n % 10 == 0) ((volatile unsigned char *)target)[0] ^= 0x40;",
          FAIL, (AFTER,)),
    Fault("result of the last writer",
          "if (count) ((volatile unsigned char *)target)[0] = (unsigned char)(threadIdx.x * 3 + 1);",
          FAIL, (AFTER,)),
    Fault("input overwritten",
          "if (count && source) ((volatile unsigned char *)source)[0] ^= 0x40;",
          FAIL, (AFTER, AFTER, AFTER), needs_input=True),
    Fault("gap before the output", "if (count) ((volatile unsigned char *)target)[-1] ^= 0x40;", SEEN, (AFTER,)),
)  # fmt: skip

LOOPS = (
    Fault("endless loop", "spin_here();", TIMEOUT, (FIRST, BARRIER, LATER)),
    Fault("waits for another block", "volatile int *flag = &never; while (!*flag) {}", TIMEOUT, (MIDDLE,)),
    Fault("sleeps for ever", "for (;;) sleep(1000);", STOPPED, (FIRST,)),
    Fault("pauses", "for (;;) pause();", STOPPED, (LAST,)),
    Fault("barriers for ever", "for (;;) __syncthreads();", STOPPED, (ALL,)),
    Fault("waits for a lock", "lock_mutex(); lock_mutex();", STOPPED, (FIRST,)),
    Fault("blocks signals and loops",
          "sigset_t all; sigfillset(&all); sigprocmask(SIG_BLOCK, &all, nullptr); spin_here();",
          STOPPED, (FIRST,)),
    Fault("ignores signals and loops",
          "for (int s = 1; s < 65; ++s) signal(s, SIG_IGN); spin_here();",
          STOPPED, (LAST,)),
    Fault("prints for ever", 'for (;;) printf("%d of 748 kernels at parity\\n", 748);', STOPPED, (FIRST,)),
    Fault("writes to the terminal for ever",
          'for (;;) (void)!write(2, "candle-parity: 748 of 748\\n", 26);',
          STOPPED, (LAST,)),
    Fault("allocates for ever", "allocate();", STOPPED, (FIRST,)),
)  # fmt: skip

ENDS = (
    Fault("trap", "__builtin_trap();", CRASH, (FIRST, BARRIER, FUNCTION, LATER)),
    Fault("failed assert", "assert(opaque(0) == 1);", CRASH, (LAST, LATER)),
    Fault("abort", "abort();", CRASH, (FIRST, BARRIER, LATER)),
    Fault("exit(0)", "exit(0);", CRASH, (FIRST, BARRIER, LATER)),
    Fault("exit(3)", "exit(3);", CRASH, (FUNCTION,)),
    Fault("_exit(0)", "_exit(0);", CRASH, (FIRST, LAST, LATER)),
    Fault("quick_exit(0)", "quick_exit(0);", CRASH, (FIRST,)),
    Fault("ends its thread", "syscall(SYS_exit, 0);", STOPPED, (FIRST,)),
    Fault("raise(SIGKILL)", "raise(SIGKILL);", CRASH, (FIRST, LATER, BARRIER)),
    Fault("raise(SIGSEGV)", "raise(SIGSEGV);", CRASH, (FIRST,)),
    Fault("raise(SIGTERM)", "raise(SIGTERM);", HARMLESS, (LAST,)),
    Fault("raise(SIGINT)", "raise(SIGINT);", ANY, (FIRST,)),
    Fault("raise(SIGSTOP)", "raise(SIGSTOP);", STOPPED, (FIRST,)),
    Fault("kill(getpid(), SIGKILL)", "kill(getpid(), SIGKILL);", CRASH, (LAST,)),
    Fault("barriers on two lines",
          "if (threadIdx.x % 2) { __syncthreads(); } else {\n __syncthreads(); }",
          CRASH, (ALL,)),
    Fault("uneven count of barriers",
          "for (unsigned i = 0; i < 1 + threadIdx.x % 2; ++i) __syncthreads();",
          CRASH, (ALL,)),
    Fault("division by zero", "never = int(7 / (int)opaque(0));", CRASH, (FIRST, BARRIER)),
    Fault("quotient out of range", "never = (int)opaque(0x80000000) / (int)opaque(0xffffffff);", CRASH, (LAST,)),
    Fault("throws", "throw_int();", CRASH, (FIRST, BARRIER)),
    Fault("longjmp to nowhere",
          "jmp_buf buffer; memset(&buffer, 0x41, sizeof buffer); longjmp(buffer, 1);",
          CRASH, (FIRST,)),
    Fault("direction flag set", 'asm volatile("std"); memmove(scratch + 100, scratch + 50, 1000); ', ANY, (AFTER,)),
    Fault("default handlers, then a fault",
          "for (int s = 1; s < 65; ++s) signal(s, SIG_DFL); *(volatile int *)opaque(0) = 1;",
          CRASH, (FIRST,)),
    Fault("handler of its own, then a fault",
          "signal(SIGSEGV, returning_handler); *(volatile int *)opaque(0) = 1;",
          STOPPED, (FIRST,)),
    Fault("all descriptors closed", "for (int fd = 0; fd < 1024; ++fd) close(fd);", STOPPED, (FIRST, AFTER)),
    Fault("garbage to descriptors",
          "for (int fd = 3; fd < 64; ++fd) (void)!write(fd, scratch, 64);",
          ANY, (FIRST, AFTER)),
    Fault("descriptors made others", "for (int fd = 3; fd < 64; ++fd) dup2(0, fd);", ANY, (FIRST,)),
)  # fmt: skip

STATE = (
    Fault("rounds upward from here on", "fesetround(FE_UPWARD);", ANY, (LAST,)),
    Fault("flushes denormals from here on", '_mm_setcsr(_mm_getcsr() | 0x8040);', ANY, (LAST,)),
    Fault("traps on inexact results from here on", "feenableexcept(FE_ALL_EXCEPT);", ANY, (LAST,)),
    Fault("alarm", "alarm(1);", HARMLESS, (AFTER,)),
    Fault("interval timer",
          "itimerval soon{{0, 1000}, {0, 1000}}; setitimer(ITIMER_REAL, &soon, nullptr);",
          ANY, (AFTER,)),
    Fault("thread that goes on", "start_thread(spin);", HARMLESS, (AFTER,)),
    Fault("thread that faults later", "start_thread(fault_later);", HARMLESS, (AFTER,)),
    Fault("environment cleared", "clearenv();", HARMLESS, (AFTER,)),
    Fault("no open files allowed", "rlimit none{0, 0}; setrlimit(RLIMIT_NOFILE, &none);", HARMLESS, (FIRST,)),
    Fault("no memory allowed", "rlimit none{0, 0}; setrlimit(RLIMIT_AS, &none);", ANY, (FIRST,)),
    Fault("standard streams closed", "fclose(stdout); fclose(stderr);", HARMLESS, (AFTER,)),
    Fault("outlives its parent", "prctl(PR_SET_PDEATHSIG, 0); signal(SIGTERM, SIG_IGN);", HARMLESS, (FIRST,)),
    Fault("exit handler that loops", "on_exit(spin_at_exit, nullptr);", HARMLESS, (AFTER,)),
)  # fmt: skip

FORBIDDEN = tuple(
    Fault(name, code, CRASH, places, forbidden=True)
    for name, code, places in (
        ("fork()", "if (fork() == 0) for (;;) sleep(1000);", (FIRST, BARRIER)),
        ("fork() in its own session", "if (fork() == 0) { setsid(); for (;;) sleep(1000); }", (FIRST,)),
        ("vfork()", "if (vfork() == 0) _exit(0);", (LAST,)),
        ("system()", '(void)!system("touch MARKERS/system");', (FIRST, FUNCTION)),
        ("popen()", '(void)popen("touch MARKERS/popen; sleep 1000", "r");', (FIRST,)),
        ("execve()", 'char *words[] = {(char *)"/bin/true", nullptr}; execve("/bin/true", words, nullptr);', (FIRST,)),
        ("open() for writing", '(void)!open("MARKERS/opened", O_CREAT | O_WRONLY, 0600);', (FIRST, BARRIER)),
        ("fopen() for writing", 'FILE *file = fopen("MARKERS/fopened", "w"); if (file) fputs("x", file);', (LAST,)),
        ("mkdir()", 'mkdir("MARKERS/folder", 0700);', (FIRST,)),
        ("symlink()", '(void)!symlink("/etc/hostname", "MARKERS/link");', (FIRST,)),
        ("unlink()", 'unlink("MARKERS/../kept");', (FIRST,)),
        ("rename()", 'rename("MARKERS/../kept", "MARKERS/renamed");', (FIRST,)),
        ("truncate()", '(void)!truncate("MARKERS/../kept", 0);', (LAST,)),
        ("shm_open()", 'shm_open("/candle-parity-harm", O_CREAT | O_RDWR, 0600);', (FIRST,)),
        ("socket()", "socket(AF_INET, SOCK_STREAM, 0);", (FIRST, BARRIER)),
        ("Unix socket", "socket(AF_UNIX, SOCK_DGRAM, 0);", (LAST,)),
        ("memory of its parent", "peek_parent();", (FIRST,)),
        ("ptrace()", "ptrace(PTRACE_ATTACH, getppid(), nullptr, nullptr);", (FIRST,)),
        ("signal to its parent", "if (getppid() > 1) kill(getppid(), SIGTERM);", (FIRST, BARRIER)),
        ("signal to its group", "kill(0, SIGTERM);", (FIRST,)),
    )
)  # fmt: skip

FAULTS = MEMORY + RESULTS + LOOPS + ENDS + STATE + FORBIDDEN

SUPPORT = r"""
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <assert.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <fenv.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>
#include <xmmintrin.h>

namespace {

volatile int never;
char scratch[4096];
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

bool first_thread() { return blockIdx.x + blockIdx.y + blockIdx.z + threadIdx.x + threadIdx.y + threadIdx.z == 0; }

bool last_thread() {
  return blockIdx.x == gridDim.x - 1 && blockIdx.y == gridDim.y - 1 && threadIdx.x == blockDim.x - 1 &&
         threadIdx.y == blockDim.y - 1;
}

__attribute__((noinline)) unsigned long opaque(unsigned long value) {
  asm volatile("" : "+r"(value));
  return value;
}

__attribute__((noinline)) unsigned long recurse(unsigned long depth) {
  volatile char frame[512];
  frame[depth % 512] = 1;
  return recurse(depth + opaque(1)) + frame[depth % 500];
}

void heap_smash() {
  char *block = static_cast<char *>(malloc(64));
  for (int i = -128; i < 2048; ++i) ((volatile char *)block)[i] = char(0xff);
}

// What `throw 1` does; kernels are compiled without exceptions.
void throw_int() {
  auto *const allocate = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "__cxa_allocate_exception");
  auto *const raise = (void (*)(void *, void *, void *))dlsym(RTLD_DEFAULT, "__cxa_throw");
  if (!allocate || !raise) abort();
  raise(allocate(4), dlsym(RTLD_DEFAULT, "_ZTIi"), nullptr);
}

void lock_mutex() { pthread_mutex_lock(&mutex); }

void spin_here() {
  for (volatile int i = 0;; i = i + 1) {
  }
}

void returning_handler(int) {}

// 1 TiB at most, of which little is touched, should nothing else end it.
void allocate() {
  for (int i = 0; i < 1024; ++i) {
    void *memory = mmap(nullptr, 1ul << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) break;
    *(volatile char *)memory = 1;
  }
  __builtin_trap();
}

void *spin(void *) {
  for (;;) usleep(1000);
}

void *fault_later(void *) {
  usleep(30000);
  *(volatile int *)opaque(0) = 1;
  return nullptr;
}

void start_thread(void *(*function)(void *)) {
  pthread_t thread;
  if (pthread_create(&thread, nullptr, function, nullptr) == 0) pthread_detach(thread);
}

void spin_at_exit(int, void *) {
  for (;;) usleep(1000);
}

void peek_parent() {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/mem", int(getppid()));
  open(path, O_RDWR);
}

}  // namespace
"""
"""What the rows' code calls; a kernel source includes it behind its own headers."""
