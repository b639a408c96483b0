// Library functions that a module defines for itself, hidden, so that neither the C library's versions, which would
// end the process, nor a compiler's support library are needed.
#pragma once
#pragma GCC system_header

#include "abi.h"
#include "library.h"
#include "small_float.h"

#define SIMT_HIDDEN __attribute__((weak, visibility("hidden")))

extern "C" {
SIMT_HIDDEN __attribute__((noreturn)) void abort() noexcept(true) { simt_trap("abort()", "", 0); }

SIMT_HIDDEN __attribute__((noreturn)) void __assert_fail(const char *condition, const char *file, unsigned line,
                                                         const char *function) noexcept(true) {
  static thread_local char message[512];
  __builtin_snprintf(message, sizeof message, "assertion failed: %s, in %s", condition, function);
  simt_trap(message, file, SIMT_LOCATION(line, 0));
}

// What -fsanitize=bounds calls; g++ has a builtin of this name.
void simt_bounds_handler(simt_bounds_check *check, unsigned long index) __asm__("__ubsan_handle_out_of_bounds_abort");
SIMT_HIDDEN __attribute__((noreturn, cold)) void simt_bounds_handler(simt_bounds_check *check, unsigned long index) {
  simt_out_of_bounds(check, index);
}

// What -fstack-protector calls. The kernel is usually inlined into the loop over the block's threads, hence "or one
// before it".
SIMT_HIDDEN __attribute__((noreturn, cold)) void __stack_chk_fail() {
  simt_trap("this thread or one before it wrote past the end of a local array", "", 0);
}

// One call is one write; text beyond the buffer is truncated.
SIMT_HIDDEN int printf(const char *format, ...) {
  char text[1024];
  __builtin_va_list arguments;
  __builtin_va_start(arguments, format);
  int length = __builtin_vsnprintf(text, sizeof text, format, arguments);
  __builtin_va_end(arguments);
  if (length < 0) return length;
  unsigned long bytes = static_cast<unsigned long>(length);
  simt_print(text, bytes < sizeof text ? bytes : sizeof text - 1);
  return length;
}

// Conversions that the compiler calls for _Float16 and __bf16 where the processor has no instruction.
SIMT_HIDDEN _Float16 __truncdfhf2(double value) { return simt::bit_cast<_Float16>(simt::half_bits(value)); }
#if !defined(__F16C__)
SIMT_HIDDEN _Float16 __truncsfhf2(float value) { return simt::bit_cast<_Float16>(simt::half_bits(value)); }
SIMT_HIDDEN float __extendhfsf2(_Float16 value) { return simt::half_value(simt::bit_cast<uint16_t>(value)); }
#endif
#if defined(__clang__)
SIMT_HIDDEN __bf16 __truncsfbf2(float value) { return simt::bit_cast<__bf16>(simt::bfloat16_bits(value)); }
SIMT_HIDDEN __bf16 __truncdfbf2(double value) { return simt::bit_cast<__bf16>(simt::bfloat16_bits(value)); }
#endif
}
