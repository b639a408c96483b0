// Writing C string literals.
#pragma once

#include <string>

namespace hiprtc {

// The text between double quotes, with quotes and backslashes escaped; for file names and symbols, so no line breaks.
inline std::string literal(const std::string &text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

}  // namespace hiprtc
