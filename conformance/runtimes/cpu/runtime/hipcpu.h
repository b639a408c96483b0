// libamdhip64.so for the host: what it exports in addition to the HIP API. C, so that ctypes can call it.
//
// The library is a HIP runtime with one device whose kernels are host functions. Load it with RTLD_GLOBAL before
// anything else loads libamdhip64.so. Every launch is complete when the call returns, and its error is that call's
// result.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

// Sets an option; returns 0, or 1 (hipErrorInvalidValue) with a message for an unknown key or a bad value. Each option
// is also read once from the environment: HIPCPU_WAVE, HIPCPU_ORDER, and so on.
//   wave        32 | 64                              lanes of a wave (default 32)
//   order       forward | reverse | shuffle:SEED     order of blocks, threads and lanes (default forward); with +shared
//                                                    behind it shared memory begins with other bytes than in that
//                                                    order, with +exact fast functions (__expf) are the exact ones
//   threads     1 to 24                              OS threads that run blocks (default: the cores, at most 16)
//   timeout_ms  0 to 3600000, 0 for none             longest launch (default 5000)
//   poison      0 | 1                                fill new device memory, and shared memory by order (default 1)
//   guard       0 | 1                                end allocations at a guard page, with canaries (default 1)
//   print_bytes 0 to 1073741824                      what kernels may print since this option was set (default 1048576)
int hipcpuSetOption(const char *key, const char *value);

// The value of an option as text, or null for an unknown key. Valid until the thread's next call.
const char *hipcpuGetOption(const char *key);

// Every option as JSON; `from` is default, environment or caller, `weakens` is true where a check is off for it. Valid
// until the thread's next call.
//   {"guard": {"value": "0", "from": "environment", "weakens": true}, ...}
const char *hipcpuOptions(void);

// Message of the last HIP call on this thread that failed: kernel, block, thread, cause. Never null.
const char *hipcpuLastMessage(void);

// 0 where the last launch was in reverse order, and no thread waited for another, used shared memory or an atomic
// operation, or read what it stored to afterwards: what any order of threads may change, forward and reverse show.
int hipcpuOrderMatters(void);

// What kernels of HIP's dialect accessed since the last call that was not aligned as its type asks for: "reads 16 bytes
// at an address that is no multiple of 16", of several the largest; null where nothing was. Valid until the next call.
const char *hipcpuMisaligned(void);

// Launches `function` (hipFunction_t) with `shape`, which is grid, block and shared memory, and waits for it: `count`
// buffers are copied from `host` to `device` before, and to `after` bytes behind `host` afterwards. Returns the first
// error; *done says what was done before it: 0 nothing, 1 the copies, 2 the launch, 3 the wait.
int hipcpuLaunchOnce(void *function, const unsigned *shape, void **params, unsigned count, void *const *device,
                     char *const *host, const unsigned long *bytes, unsigned long after, unsigned *done);

// An allocation of `bytes` of address space, for hipFree, of which only `count` pieces can be accessed, with the rest
// of their pages: each an offset and a size, ascending, from the first byte of the allocation to its last. They are
// zeros.
int hipcpuReserve(void **p, unsigned long bytes, const unsigned long *pieces, unsigned count);

// 0 where `bytes` from `pointer` lie in one live allocation. Else the error of a HIP call whose `role` argument does
// not, such as hipErrorInvalidValue, with the message of it: for libraries whose functions access memory as kernels do.
int hipcpuCheckRange(const char *call, const char *role, const void *pointer, unsigned long bytes);

// The kernels of a loaded module (hipModule_t) as JSON, valid while it is loaded; null for an unknown module:
//   [{"name": "k", "file": "k.hip", "line": 3, "params": [{"type": "float const*", "size": 8, "align": 8}]}]
const char *hipcpuModuleKernels(void *module);

// Modules loaded since the start of the process, and how many of them were copies of a module loaded at that time.
void hipcpuModuleLoads(unsigned long *total, unsigned long *duplicates);

// ---- launchers: host functions of a module, which launch its kernels

// The address of the exported function `name` of a loaded module (hipModule_t); null where it has none.
void *hipcpuModuleSymbol(void *module, const char *name);

// From now on work is expected on `stream` (a hipStream_t), until hipcpuEndCall. That tells of the first kernel that
// faulted, with its result in *fault; else, with 0 there, of the first free of what is not allocated, or of work on
// another stream that does not wait for `stream`, or the other way round; null where none of it happened. The text is
// valid until the next hipcpuBeginCall.
void hipcpuBeginCall(void *stream);

// Until hipcpuEndCall a launcher's own code cannot access the device memory that its arguments point to (null for those
// that are none), nor what it allocates; an access is told on standard error and ends the process with SIGSEGV.
void hipcpuKeepFromHost(void *const *pointers, unsigned count);
const char *hipcpuEndCall(int *fault);

// What is allocated or created and not yet freed or destroyed, as six values: allocations of the device and their
// bytes, of the host and their bytes, streams, events.
void hipcpuLive(unsigned long *values);

// For modules only (simt/host.h): launches a kernel of the module whose table is `rows`, which need not hold `row`.
struct simt_kernel;
struct simt_index;
int hipcpuLaunch(const struct simt_kernel *rows, const struct simt_kernel *row, struct simt_index grid,
                 struct simt_index block, unsigned long shared, void *stream, void **arguments);
int hipcpuSetKernelAttribute(const void *kernel, int attribute, int value);

// Sandboxes this process permanently, before it loads an untrusted module: no new process, no write to the file
// system, no socket, no signal to other processes, no capabilities, and hard limits (see sandbox.h): `memory` bytes of
// private writable memory and `file_bytes` bytes per written file, 0 for no limit. With Landlock
// no file in the folder `unread` is read either (null: none). Returns the mechanisms in effect
// ("seccomp and Landlock 7"), or null where there are none; hipcpuLastMessage() then says why.
//
// A forbidden call in a kernel ends its launch with hipErrorLaunchFailure. Other code of a module, such as
// static constructors, is named on stderr and exits the process with HIPCPU_FORBIDDEN_EXIT.
const char *hipcpuConfine(unsigned long memory, unsigned long file_bytes, const char *unread);
#define HIPCPU_FORBIDDEN_EXIT 159  // 128 + SIGSYS

#ifdef __cplusplus
}
#endif
