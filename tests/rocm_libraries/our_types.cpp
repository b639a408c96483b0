// The cpu runtime's 16- and 8-bit types, as a HIP source gets them, without the runtime.
#include <hip/hip_bf16.h>
#include <hip/hip_bfloat16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_fp8.h>
#define HAS_FLOAT8 1

extern "C" {
static simt_context block;
__thread simt_context *simt_self = &block;
void simt_barrier(const char *, int) {}
unsigned long simt_wave(int, unsigned long, unsigned long value, int, const char *, int) { return value; }
void simt_trap(const char *, const char *, int) { __builtin_trap(); }
void simt_print(const char *, unsigned long) {}
void simt_next(void) {}
void simt_out_of_bounds(const simt_bounds_check *, unsigned long) { __builtin_trap(); }
}
