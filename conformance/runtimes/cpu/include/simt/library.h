// The few C library functions that device code may call, declared without the headers that bring thousands of lines.
#pragma once
#pragma GCC system_header

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

extern "C" {
int printf(const char *format, ...);
void *memcpy(void *__restrict to, const void *__restrict from, size_t bytes) noexcept(true);
void *memmove(void *to, const void *from, size_t bytes) noexcept(true);
void *memset(void *to, int byte, size_t bytes) noexcept(true);
__attribute__((noreturn)) void abort() noexcept(true);
}
