// Error codes and the calling thread's last error.
#pragma once

#include <string>

namespace simt {

enum Error : int {
  Success = 0,
#define HIP_ERROR(name, number, text) name = number,
#include "simt/errors.inc"
#undef HIP_ERROR
};

// Sets the calling thread's last error, code and text together, so that the text always belongs to the code. Returns
// `code`.
[[gnu::format(printf, 2, 3)]] Error fail(Error code, const char *format, ...);

// A pointer in a message: small values as a number; others differ from run to run and are printed as "a pointer".
std::string pointer_text(const void *pointer);

Error last_error();                  // of the calling thread, Success if none since the last clear
Error clear_last_error();            // returns the code and clears it; the text stays
const char *last_message();          // text of the last failure, "" if there was none
const char *error_name(int code);    // "hipErrorIllegalAddress"
const char *error_string(int code);  // the general text; for the thread's last failure, its message

}  // namespace simt
