// libamdhip64.so over an interpreter of AMD machine code: what it exports in addition to the HIP API. C, so that ctypes
// can call it.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

// Sets an option; returns 0, or 1 (hipErrorInvalidValue) with a message. Those of the cpu runtime (hipcpu.h), and
//   target      gfx942, ...     the device that is interpreted
//   perturb     0 to 2^32 - 1   seed by which approximate instructions deviate within their documented error; 0: none
//   unwritten   none, registers, lds, scratch    what starts with the bytes that it has in the other order: what then
//                                                changes depends on it, though nothing has written it
int hipisaSetOption(const char *key, const char *value);

// Message of the last HIP call on this thread that failed. Never null.
const char *hipisaLastMessage(void);

// Instructions that waves have executed since the start of the process.
unsigned long hipisaExecuted(void);

// Pairs of instructions with too few wait states between them, in all code loaded since the start of the process.
unsigned long hipisaHazards(void);

#ifdef __cplusplus
}
#endif
