// The system calls of x86-64 as the sandbox sees them. Numbers, not SYS_ names: headers of older systems lack the
// newer ones.
#pragma once

namespace simt {

// What the runtime, Python, and the C and C++ libraries use: without effect outside this process.
inline constexpr int allowed_calls[] = {
    202,  // futex
    0,    // read
    1,    // write
    9,    // mmap
    11,   // munmap
    10,   // mprotect
    28,   // madvise
    25,   // mremap
    12,   // brk
    45,   // recvfrom
    44,   // sendto
    47,   // recvmsg
    46,   // sendmsg
    3,    // close
    5,    // fstat
    262,  // newfstatat
    8,    // lseek
    17,   // pread64
    228,  // clock_gettime
    230,  // clock_nanosleep
    24,   // sched_yield
    15,   // rt_sigreturn
    60,   // exit
    231,  // exit_group
    // files and descriptors
    4,    // stat
    6,    // lstat
    7,    // poll
    18,   // pwrite64
    19,   // readv
    20,   // writev
    21,   // access
    22,   // pipe
    23,   // select
    32,   // dup
    33,   // dup2
    48,   // shutdown
    51,   // getsockname
    52,   // getpeername
    55,   // getsockopt
    74,   // fsync
    75,   // fdatasync
    78,   // getdents
    79,   // getcwd
    89,   // readlink
    137,  // statfs
    138,  // fstatfs
    213,  // epoll_create
    217,  // getdents64
    221,  // fadvise64
    232,  // epoll_wait
    233,  // epoll_ctl
    267,  // readlinkat
    269,  // faccessat
    270,  // pselect6
    271,  // ppoll
    281,  // epoll_pwait
    284,  // eventfd
    290,  // eventfd2
    291,  // epoll_create1
    292,  // dup3
    293,  // pipe2
    295,  // preadv
    296,  // pwritev
    319,  // memfd_create
    327,  // preadv2
    328,  // pwritev2
    332,  // statx
    436,  // close_range
    439,  // faccessat2
    441,  // epoll_pwait2
    // memory
    26,   // msync
    27,   // mincore
    324,  // membarrier
    453,  // map_shadow_stack
    // threads, signals to oneself, time
    34,   // pause
    35,   // nanosleep
    36,   // getitimer
    37,   // alarm
    38,   // setitimer
    61,   // wait4
    96,   // gettimeofday
    127,  // rt_sigpending
    128,  // rt_sigtimedwait
    130,  // rt_sigsuspend
    131,  // sigaltstack
    158,  // arch_prctl
    201,  // time
    218,  // set_tid_address
    219,  // restart_syscall
    229,  // clock_getres
    247,  // waitid
    273,  // set_robust_list
    274,  // get_robust_list
    334,  // rseq
    449,  // futex_waitv
    454,  // futex_wake
    455,  // futex_wait
    456,  // futex_requeue
    // queries
    39,   // getpid
    63,   // uname
    97,   // getrlimit
    98,   // getrusage
    99,   // sysinfo
    100,  // times
    102,  // getuid
    104,  // getgid
    107,  // geteuid
    108,  // getegid
    110,  // getppid
    111,  // getpgrp
    115,  // getgroups
    118,  // getresuid
    120,  // getresgid
    121,  // getpgid
    124,  // getsid
    125,  // capget
    140,  // getpriority
    143,  // sched_getparam
    145,  // sched_getscheduler
    146,  // sched_get_priority_max
    147,  // sched_get_priority_min
    148,  // sched_rr_get_interval
    186,  // gettid
    204,  // sched_getaffinity
    309,  // getcpu
    315,  // sched_getattr
    318,  // getrandom
};

struct ForbiddenCall {
  int number;
  const char *name;  // as reports have it: "called NAME, which is forbidden in kernels"
  bool by_argument;  // forbidden for some arguments only: the filter has its own rule
};

inline constexpr ForbiddenCall forbidden_calls[] = {
    // new processes
    {56, "clone() of a new process", true},
    {57, "fork()", false},
    {58, "vfork()", false},
    {59, "execve()", false},
    {322, "execveat()", false},
    {272, "unshare()", false},
    {308, "setns()", false},
    {109, "setpgid()", false},
    {112, "setsid()", false},
    // writing to the file system
    {2, "open() for writing", true},
    {257, "openat() for writing", true},
    {85, "creat()", false},
    {304, "open_by_handle_at()", false},
    {76, "truncate()", false},
    {77, "ftruncate()", false},
    {285, "fallocate()", false},
    {82, "rename()", false},
    {264, "renameat()", false},
    {316, "renameat2()", false},
    {83, "mkdir()", false},
    {258, "mkdirat()", false},
    {84, "rmdir()", false},
    {86, "link()", false},
    {265, "linkat()", false},
    {87, "unlink()", false},
    {263, "unlinkat()", false},
    {88, "symlink()", false},
    {266, "symlinkat()", false},
    {133, "mknod()", false},
    {259, "mknodat()", false},
    {90, "chmod()", false},
    {91, "fchmod()", false},
    {268, "fchmodat()", false},
    {452, "fchmodat2()", false},
    {92, "chown()", false},
    {93, "fchown()", false},
    {94, "lchown()", false},
    {260, "fchownat()", false},
    {132, "utime()", false},
    {235, "utimes()", false},
    {261, "futimesat()", false},
    {280, "utimensat()", false},
    {188, "setxattr()", false},
    {189, "lsetxattr()", false},
    {190, "fsetxattr()", false},
    {463, "setxattrat()", false},
    {197, "removexattr()", false},
    {198, "lremovexattr()", false},
    {199, "fremovexattr()", false},
    {466, "removexattrat()", false},
    {469, "file_setattr()", false},
    {161, "chroot()", false},
    {155, "pivot_root()", false},
    {165, "mount()", false},
    {166, "umount2()", false},
    {428, "open_tree()", false},
    {467, "open_tree_attr()", false},
    {429, "move_mount()", false},
    {430, "fsopen()", false},
    {431, "fsconfig()", false},
    {432, "fsmount()", false},
    {433, "fspick()", false},
    {442, "mount_setattr()", false},
    {167, "swapon()", false},
    {168, "swapoff()", false},
    {179, "quotactl()", false},
    {443, "quotactl_fd()", false},
    {163, "acct()", false},
    {300, "fanotify_init()", false},
    // sockets
    {41, "socket()", false},
    {53, "socketpair()", false},
    {42, "connect()", false},
    {49, "bind()", false},
    {50, "listen()", false},
    {43, "accept()", false},
    {288, "accept4()", false},
    // signals and memory of other processes
    {62, "kill() of another process", true},
    {200, "tkill()", false},
    {234, "tgkill() of another process", true},
    {129, "rt_sigqueueinfo()", false},
    {297, "rt_tgsigqueueinfo()", false},
    {72, "fcntl() for signals", true},
    {16, "ioctl() for signals or terminal input", true},
    {13, "sigaction() of SIGSYS", true},
    {424, "pidfd_send_signal()", false},
    {434, "pidfd_open()", false},
    {438, "pidfd_getfd()", false},
    {101, "ptrace()", false},
    {310, "process_vm_readv()", false},
    {311, "process_vm_writev()", false},
    {312, "kcmp()", false},
    {440, "process_madvise()", false},
    {448, "process_mrelease()", false},
    {256, "migrate_pages()", false},
    {279, "move_pages()", false},
    // limits and scheduling
    {302, "prlimit()", true},
    {160, "setrlimit()", false},
    {141, "setpriority()", false},
    {251, "ioprio_set()", false},
    {203, "sched_setaffinity() of another thread", true},
    {142, "sched_setparam()", false},
    {144, "sched_setscheduler()", false},
    {314, "sched_setattr()", false},
    // memory and messages of System V and POSIX
    {29, "shmget()", false},
    {30, "shmat()", false},
    {31, "shmctl()", false},
    {64, "semget()", false},
    {65, "semop()", false},
    {66, "semctl()", false},
    {220, "semtimedop()", false},
    {68, "msgget()", false},
    {69, "msgsnd()", false},
    {70, "msgrcv()", false},
    {71, "msgctl()", false},
    {240, "mq_open()", false},
    {241, "mq_unlink()", false},
    // identity
    {105, "setuid()", false},
    {106, "setgid()", false},
    {113, "setreuid()", false},
    {114, "setregid()", false},
    {116, "setgroups()", false},
    {117, "setresuid()", false},
    {119, "setresgid()", false},
    {122, "setfsuid()", false},
    {123, "setfsgid()", false},
    {126, "capset()", false},
    {248, "add_key()", false},
    {249, "request_key()", false},
    {250, "keyctl()", false},
    // the system
    {321, "bpf()", false},
    {298, "perf_event_open()", false},
    {425, "io_uring_setup()", false},
    {426, "io_uring_enter()", false},
    {427, "io_uring_register()", false},
    {323, "userfaultfd()", false},
    {175, "init_module()", false},
    {313, "finit_module()", false},
    {176, "delete_module()", false},
    {246, "kexec_load()", false},
    {320, "kexec_file_load()", false},
    {169, "reboot()", false},
    {170, "sethostname()", false},
    {171, "setdomainname()", false},
    {164, "settimeofday()", false},
    {227, "clock_settime()", false},
    {159, "adjtimex()", false},
    {305, "clock_adjtime()", false},
    {103, "syslog()", false},
    {153, "vhangup()", false},
    {172, "iopl()", false},
    {173, "ioperm()", false},
    {154, "modify_ldt()", false},
};

}  // namespace simt
