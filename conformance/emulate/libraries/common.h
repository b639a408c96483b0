// What the emulated libraries have in common: how they say what is wrong, and what memory they may access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

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

bool is_captured(void *stream);

// Where `stream` is captured into a graph, `work` is kept as a node of it, which every launch of the graph does: true.
// `work` says whether it succeeded. It is copied, and must hold nothing of the caller's that may be gone by then.
bool kept_for_graph(const char *function, void *stream, const std::function<bool()> &work);

}  // namespace emulated
