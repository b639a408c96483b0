// Splitting preprocessed C++ into tokens, with the file and line that the line markers give.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hiprtc {

struct Token {
  std::string_view text;  // into the source: identifier, number, whole literal, or one punctuation character
  size_t begin = 0;       // offset of text in the source
  unsigned file = 0;      // index into Tokens::files
  unsigned line = 0;
  bool is_word = false;  // identifier or keyword

  size_t end() const { return begin + text.size(); }
};

struct Tokens {
  std::vector<Token> all;
  std::vector<std::string> files;
  std::vector<bool> system;  // of each file: a line marker calls it a system header
};

// `source` must outlive the result.
Tokens tokenize(std::string_view source);

}  // namespace hiprtc
