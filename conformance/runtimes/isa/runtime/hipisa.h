// libamdhip64.so over an interpreter of AMD machine code: what it exports in addition to the HIP API. C, so that ctypes
// can call it.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

// Sets an option; returns 0, or 1 (hipErrorInvalidValue) with a message. Those of the cpu runtime (hipcpu.h), and
//   target      gfx942, ...     the device that is interpreted
//   perturb     0 to 2^32 - 1   seed by which approximate instructions deviate within their documented error; 0: they
//                               do in every order but forward
//   counts      0 or 1          count what launches do, from zero on, for hipisaCounts, which slows them
//   sites       a folder        write the instructions that launches reach into KERNEL.sites (sites.h); empty: none
//   otherwise   none, or what differs from the order, of which what then changes depends:
//               registers, lds, scratch   start with the bytes that they have in the other order
//               exact                     approximate instructions do not deviate
//               arrived                   stores arrive at once, and waves run as long as in the order forward
int hipisaSetOption(const char *key, const char *value);

// Message of the last HIP call on this thread that failed. Never null.
const char *hipisaLastMessage(void);

// What `bytes` of code for `target` decode to: a line for each instruction with its offset, length in words, encoding,
// mnemonic, and the fields of `Inst` (machine.h). Valid until the next call on this thread; null with a message.
const char *hipisaDecode(const char *target, const void *code, unsigned long bytes);

// The opcodes of `target` that the interpreter gives a meaning: a line for each with its encoding, number and mnemonic.
// Valid until the next call on this thread; null with a message.
const char *hipisaMeanings(const char *target);

// Instructions that waves have executed since the start of the process.
unsigned long hipisaExecuted(void);

// What the launches since option `counts` was set came to, as up to `count` of: launches, waves; instructions that
// waves executed of each class (scalar, vector, matrix, scalar memory, vector memory, LDS, control); lanes active and
// lanes there in vector and matrix instructions; instructions that access global memory, the bytes that their lanes ask
// for and those of the cache lines that these lie in; accesses to LDS, and bank conflicts. Returns how many there are.
unsigned hipisaCounts(unsigned long *values, unsigned count);

// Bytes of the cache lines that are counted for the device.
unsigned hipisaLineBytes(void);
// Pairs of instructions with too few wait states between them, in all code loaded since the start of the process.
unsigned long hipisaHazards(void);

#ifdef __cplusplus
}
#endif
