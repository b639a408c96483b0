// Writing text for a compiler.
#pragma once

#include <string>
#include <string_view>

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

inline bool starts_with(std::string_view text, std::string_view with) { return text.substr(0, with.size()) == with; }

inline bool ends_with(std::string_view text, std::string_view with) {
  return text.size() >= with.size() && text.substr(text.size() - with.size()) == with;
}

inline void replace_all(std::string &text, const std::string &from, const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

}  // namespace hiprtc
