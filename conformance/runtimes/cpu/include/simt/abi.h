// The ABI between a kernel module compiled for the host and the cpu runtime (libamdhip64.so).
//
// A module is an ELF shared object that exports
//   simt_abi_version   the SIMT_ABI_VERSION it was compiled with
//   simt_kernels       its kernels, simt_kernel_count rows (entry.h: SIMT_MODULE defines all four)
//   simt_shared_variables, simt_shared_uses, and simt_shared_variable_count, simt_shared_use_count rows of them
//                      its __shared__ variables, and which kernel uses which; only where clang compiled it
//   simt_launched      the kernels that a program's host code launches, simt_launched_count rows; only of programs
//   simt_touch         a function that touches the module's thread-local data once per OS thread
// followed in its file by a seal (seal.h), so that a truncated module is detected.
//
// Memory spaces:
//   static __shared__   thread_local __attribute__((used)): one OS thread runs one block at a time, so thread-local
//                       is block-local. With clang the compiler driver makes each a row of simt_shared_variables, at
//                       simt_self->shared[row], where it ends at a guard page (to its alignment); with g++ it stays
//                       thread-local. The runtime fills it with one byte before every block, another in
//                       each thread order.
//   extern __shared__   simt_self->dynamic_shared: it ends at a guard page (to 16 bytes), so overruns are caught.
//                       The compiler driver rewrites the declaration; entry.h has simt::dynamic_shared<T>().
//
// This header includes nothing, since it is part of every kernel's translation unit.
#pragma once

#if !defined(__x86_64__)
#error "the cpu runtime's fiber switch is written for x86-64 only; use a ROCm device on this machine"
#endif

#define SIMT_ABI_VERSION 4

enum { SIMT_MAX_THREADS = 1024 };              // threads of one block
enum { SIMT_MAX_WAVE = 64 };                   // lanes of a wave
enum { SIMT_MAX_DYNAMIC_SHARED = 64 * 1024 };  // bytes of dynamic shared memory of one block

struct simt_index {
  unsigned x, y, z;
};

// State of the block that an OS thread is running. The first four rows and dynamic_* are for kernels, the rest is
// bookkeeping between simt::entry and the scheduler.
struct simt_context {
  simt_index threadIdx;
  simt_index blockIdx;
  simt_index blockDim;
  simt_index gridDim;
  unsigned wave_size;  // 32 or 64
  unsigned dynamic_bytes;
  void *dynamic_shared;
  void *const *shared;  // addresses of the module's __shared__ variables; null for those that the kernel does not use

  unsigned threads;              // in this block
  volatile unsigned fiber_mode;  // nonzero: the scheduler chooses the next thread; 0, loop mode: see simt::entry
  unsigned switch_at_atomics;    // nonzero: SIMT_SWITCH before an atomic operation, and between a read and its store
  unsigned exact_functions;      // nonzero: approximate instructions and fast functions give the exact result
};

// What simt_wave does with the lanes named in its mask.
enum simt_wave_op {
  SIMT_SHUFFLE = 0,  // every lane gets the 64-bit value of lane src_lane (its own if that lane does not participate)
  SIMT_BALLOT = 1,   // every lane gets the mask of lanes with value != 0
  SIMT_SYNC = 2,     // synchronisation only
  SIMT_MATCH = 3,    // every lane gets the mask of lanes with the same value
  SIMT_ACTIVE = 4,   // every lane gets the mask of the active lanes (__activemask)
  SIMT_SWITCH = 5,   // not a collective: the thread goes on after the others have had their turn
  SIMT_PERMUTE = 6,  // as SIMT_SHUFFLE, but 0 of a lane that does not participate, as from AMD's ds_bpermute
  SIMT_NAMED = 64,   // a flag: it is a fault where the mask names lanes of the wave that are not there
};

// A __shared__ variable of a module, and the variables that a kernel uses (their rows), by its `run`.
struct simt_shared_variable {
  const char *name;  // mangled
  unsigned long bytes;
  unsigned long align;
};
struct simt_shared_use {
  void (*run)(void *const *args);
  const unsigned *variables;
  unsigned long count;
};

// The arguments of the compilers' -fsanitize=bounds handler, in the layout of their runtime library.
struct simt_type {
  unsigned short kind;  // 0: integer
  unsigned short info;  // bit 0: signed, the others: log2 of the bits
  char name[1];         // with quotes: 'int [8]'
};
struct simt_bounds_check {
  const char *file;
  unsigned line, column;
  const simt_type *array, *index;
};

// One kernel of a module. types[i] is the canonical spelling of parameter i, const on the right: "float const*",
// "unsigned long". A block has at most `most_threads` threads; 0 where the source does not limit them.
struct simt_kernel {
  const char *name;
  const char *file;  // source file and line of the definition, "" and 0 where not known
  unsigned line;
  unsigned nargs;
  void (*run)(void *const *args);  // args[i] points to parameter i; null: no kernel, but a variable that is named
  const unsigned *sizes;
  const unsigned *aligns;
  const char *const *types;
  unsigned long most_threads;
};

// A kernel that host code launches, by its symbol: instances of templates are in no other table.
struct simt_launched_kernel {
  const char *symbol;
  const simt_kernel *row;
};

#if defined(__clang__)
#define SIMT_COLLECTIVE __attribute__((convergent, noduplicate, noinline))
#else
#define SIMT_COLLECTIVE __attribute__((noinline, noclone))
#endif

#define SIMT_EXPORT __attribute__((visibility("default")))

// A source location as one number, ordered as the source. Columns distinguish calls on one line; they refer to the
// preprocessed text, so that calls in one macro differ, and are not for messages. Line 0 is unknown.
enum { SIMT_COLUMN_BITS = 11, SIMT_MAX_LINE = (1 << 20) - 1, SIMT_MAX_COLUMN = (1 << SIMT_COLUMN_BITS) - 1 };
#define SIMT_LOCATION(line, column)                                                        \
  (((line) < SIMT_MAX_LINE ? static_cast<int>(line) : SIMT_MAX_LINE) << SIMT_COLUMN_BITS | \
   ((column) < SIMT_MAX_COLUMN ? static_cast<int>(column) : SIMT_MAX_COLUMN))

extern "C" {
// Set by the runtime before it enters a kernel. Initial-exec: one load, no call, from kernels and signal handlers.
extern __thread simt_context *simt_self __attribute__((tls_model("initial-exec")));

// __syncthreads. `file` and `location` are of the call in the kernel: barriers at different locations do not match.
SIMT_COLLECTIVE void simt_barrier(const char *file, int location);

// A collective of the lanes of the wave that `mask` names. A mask of all 64 bits means the active lanes: where lanes
// have diverged, those at the same location. Lanes that have returned are left out. Bits above the wave size are
// ignored.
SIMT_COLLECTIVE unsigned long simt_wave(int op, unsigned long mask, unsigned long value, int src_lane, const char *file,
                                        int location);

// Ends the launch with hipErrorLaunchFailure and a message with `what` and the location.
void simt_trap(const char *what, const char *file, int location) __attribute__((noreturn));

// Likewise for an index outside an array.
void simt_out_of_bounds(const simt_bounds_check *check, unsigned long index) __attribute__((noreturn));

// A kernel accesses `bytes` at an address that is no multiple of `align`; libhiprtc puts the calls there. The first is
// for CUDA's sources and ends the launch with hipErrorLaunchFailure, the second, for HIP's, notes it for
// hipcpuMisaligned.
void simt_misaligned(unsigned long address, unsigned long align, unsigned long bytes, bool store);
void simt_note_misaligned(unsigned long address, unsigned long align, unsigned long bytes, bool store);

// Writes text of a kernel's printf to stdout, up to the option print_bytes. Kernels must not call stdio: a timeout may
// abort them while it holds its locks.
void simt_print(const char *text, unsigned long bytes);

// For simt::entry only: the current thread has returned; makes the next thread current, or does not return if there is
// none.
void simt_next(void);

// Defined by the module.
extern const unsigned simt_abi_version SIMT_EXPORT;
extern const simt_kernel simt_kernels[] SIMT_EXPORT;
extern const unsigned simt_kernel_count SIMT_EXPORT;
SIMT_EXPORT void simt_touch(void);
}

// Linear number of the current thread in its block, x fastest.
static inline __attribute__((always_inline)) unsigned simt_thread(void) {
  const simt_context *c = simt_self;
  return c->threadIdx.x + c->blockDim.x * (c->threadIdx.y + c->blockDim.y * c->threadIdx.z);
}

// Lane of the current thread in its wave.
static inline __attribute__((always_inline)) unsigned simt_lane(void) {
  return simt_thread() & (simt_self->wave_size - 1);
}
