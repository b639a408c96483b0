// Library functions that a module defines for itself, hidden, so that neither the C library's versions, which would
// end the process, nor a compiler's support library are needed.
#pragma once
#pragma GCC system_header

#include "abi.h"
#include "library.h"

#define SIMT_HIDDEN __attribute__((weak, visibility("hidden")))

extern "C" {
SIMT_HIDDEN __attribute__((noreturn)) void abort() noexcept(true) { simt_trap("abort()", "", 0); }

SIMT_HIDDEN __attribute__((noreturn)) void __assert_fail(const char *condition, const char *file, unsigned line,
                                                         const char *function) noexcept(true) {
  static thread_local char message[512];
  __builtin_snprintf(message, sizeof message, "assertion failed: %s, in %s", condition, function);
  simt_trap(message, file, static_cast<int>(line));
}

// One call is one write; text beyond the buffer is cut.
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
}
