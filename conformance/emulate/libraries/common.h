// What the emulated libraries have in common: how they say what is wrong, and what memory they may access.
#pragma once

#include <cstddef>
#include <cstdint>

#define LIBRARY_API extern "C" __attribute__((visibility("default")))

namespace emulated {

// One line on standard error, each once; HIPCPU_SAY=0 keeps it back, and so does its absence.
[[gnu::format(printf, 1, 2)]] void say(const char *format, ...);

// Says that `function` is not emulated, and returns `status`.
int refuse(const char *function, int status);

// Whether a GPU can access `bytes` bytes from `pointer`, which `role` names in the message where it cannot. Memory is
// known only where a libamdhip64 of candle-parity is loaded; without one everything passes.
bool accessible(const char *function, const char *role, const void *pointer, std::size_t bytes);

// The same of `batches` pieces of `bytes` bytes, `stride` bytes apart, either way; all lie in one allocation.
bool all_accessible(const char *function, const char *role, const void *pointer, std::size_t bytes,
                    std::int64_t batches, std::int64_t stride);

// Says of a call on a captured stream that it is done at once: the graph will not have it.
void tell_of_capture(const char *function, void *stream);

}  // namespace emulated
