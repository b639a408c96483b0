#include "error.h"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <set>
#include <string>

namespace simt {
namespace {

struct Text {
  int code;
  const char *name;
  const char *text;
};

constexpr Text texts[] = {
    {Success, "hipSuccess", "no error"},
#define HIP_ERROR(name, number, text) {number, "hipError" #name, text},
#include "simt/errors.inc"
#undef HIP_ERROR
};

const Text &text_of(int code) {
  const auto *it = std::find_if(std::begin(texts), std::end(texts), [code](const Text &t) { return t.code == code; });
  return it == std::end(texts) ? *std::prev(std::end(texts)) : *it;
}

struct LastError {
  Error code = Success;         // what hipGetLastError returns next
  Error failed_with = Success;  // what `message` is about
  std::array<char, 2048> message{};
};

// Says `message` on standard error, each once: for programs that nobody asks for their errors (HIPCPU_SAY=1).
void say(const char *message) {
  static const char *const asked = std::getenv("HIPCPU_SAY");
  if (!asked || *asked != '1') return;
  static std::mutex mutex;
  static std::set<std::string> &said = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  if (said.insert(message).second) std::fprintf(stderr, "candle-parity: %s\n", message);
}

// Reached through a pointer: static thread-local storage is scarce (glibc keeps about 1.6 KiB for libraries
// loaded later), and no destructor may run at thread exit while Python still asks for the text.
LastError &thread_last_error() {
  static thread_local LastError *error = nullptr;
  if (!error) error = new LastError;
  return *error;
}

}  // namespace

Error fail(Error code, const char *format, ...) {
  std::va_list args;
  va_start(args, format);
  LastError &last = thread_last_error();
  std::vsnprintf(last.message.data(), last.message.size(), format, args);
  va_end(args);
  last.code = last.failed_with = code;
  if (code != NotReady) say(last.message.data());
  return code;
}

std::string pointer_text(const void *pointer) {
  constexpr std::uintptr_t page = 4096;
  const auto number = reinterpret_cast<std::uintptr_t>(pointer);
  if (number >= page) return "a pointer";
  char text[16];
  std::snprintf(text, sizeof text, "%#lx", static_cast<unsigned long>(number));
  return text;
}

Error last_error() { return thread_last_error().code; }

Error clear_last_error() {
  LastError &last = thread_last_error();
  const Error code = last.code;
  last.code = Success;
  return code;
}

const char *last_message() { return thread_last_error().message.data(); }

const char *error_name(int code) { return text_of(code).name; }

const char *error_string(int code) {
  LastError &last = thread_last_error();
  return code != Success && code == last.failed_with ? last.message.data() : text_of(code).text;
}

}  // namespace simt
