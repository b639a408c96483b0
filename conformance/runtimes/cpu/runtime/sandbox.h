// Sandboxing this process, which runs untrusted kernels: seccomp, Landlock, no capabilities, resource limits.
//
// The filter is an allow list: a system call that is not in sandbox_calls.inc fails with ENOSYS, as on an older system,
// so calls that future versions of Linux add are denied too. Calls that would leave the process (new processes, writing
// to the file system, sockets, signals to others, other processes' memory, limits, identity, namespaces, ...) are
// forbidden: they fail with EPERM and are reported (SIGSYS, faults.cpp). clone3 and openat2 keep their flags in memory
// where no filter can see them: they get ENOSYS, and the C library uses clone and openat.
//
// Landlock keeps the files of one folder from being read. It can allow only, and a folder with all that is in it. So
// the folders next to each part of that folder's path are allowed as they are now: a file that comes to lie next to one
// of its parts later cannot be read either. Names of files can be listed everywhere.
//
// Landlock is a second layer for files and TCP, and the only one for reading other processes' memory: /proc/PID/mem is
// opened for reading, as any file may be.
//
// Denied calls stay denied whatever a kernel does to this process. Only the report can be lost: a kernel that blocks
// SIGSYS by a forged rt_sigreturn is killed by the signal, and one may overwrite this library's memory.
// rt_sigprocmask goes through the handler, which keeps the handled signals unblocked: posix_spawn() and, in some C
// libraries, fork() block all signals around clone.
//
// Not bounded: the number of threads made by clone itself (those of pthread_create are, by the memory of their stacks;
// RLIMIT_NPROC does not hold for root), and the bytes of all memory files together (those of each are). Instead, the
// process makes itself the first choice of the system's out-of-memory killer.
#pragma once

#include <cstddef>
#include <string>

#include "error.h"

namespace simt {

struct Limits {
  std::size_t memory = 0;      // bytes of private writable memory (RLIMIT_DATA); 0: no limit
  std::size_t file_bytes = 0;  // bytes of a file that is written, memory files included (RLIMIT_FSIZE); 0: no limit
  std::string unread;          // a folder of which no file is read from now on, where there is Landlock; "" for none
};

// Confines every thread of the process permanently and sets `guards` to the mechanisms in effect, "seccomp and
// Landlock 7". A second call changes nothing. NotSupported where it fails: the process may then be partly confined.
Error confine(const Limits &limits, std::string &guards);

// Whether `confine` has succeeded.
bool is_confined();

// The name of a forbidden system call in reports: "socket()". Async-signal-safe.
const char *forbidden_call_name(unsigned architecture, int number);

// Installs the filter on all threads; returns 0, or an errno. -1: a thread has a filter of its own.
int install_filter();

}  // namespace simt
