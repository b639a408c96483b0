#include "tokens.h"

#include <algorithm>
#include <cctype>

namespace hiprtc {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 128;
}

class Reader {
 public:
  explicit Reader(std::string_view source) : source_(source) {
    tokens_.files.emplace_back();
    tokens_.system.push_back(false);
  }

  Tokens read() {
    while (at_ < source_.size()) step();
    return std::move(tokens_);
  }

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }

  void step() {
    char c = peek();
    if (c == '\n') {
      ++line_;
      ++at_;
      line_start_ = true;
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      ++at_;
    } else if (c == '#' && line_start_) {
      directive();
    } else {
      line_start_ = false;
      if (is_letter(c))
        word();
      else if (is_digit(c) || (c == '.' && is_digit(peek(1))))
        number();
      else if (c == '"' || c == '\'')
        literal(at_);
      else
        push(at_, at_ + 1, false);
    }
  }

  // A line marker (# 12 "file" 1) sets the place of the next line; any other directive (#pragma) is passed over.
  void directive() {
    size_t end = std::min(source_.find('\n', at_), source_.size());
    std::string_view text = source_.substr(at_ + 1, end - at_ - 1);
    at_ = end;
    size_t digit = text.find_first_not_of(" \t");
    constexpr std::string_view keyword = "line ";
    if (digit != text.npos && text.substr(digit, keyword.size()) == keyword) digit += keyword.size();
    if (digit == text.npos || digit >= text.size() || !is_digit(text[digit])) return;
    unsigned line = 0;
    for (; digit < text.size() && is_digit(text[digit]); ++digit)
      line = line * 10 + static_cast<unsigned>(text[digit] - '0');
    line_ = line - 1;  // the newline that ends the marker adds one
    size_t open = text.find('"', digit);
    if (open == text.npos) return;
    std::string file;
    size_t i = open + 1;
    for (; i < text.size() && text[i] != '"'; ++i) {
      if (text[i] == '\\' && i + 1 < text.size()) ++i;
      file += text[i];
    }
    auto known = std::find(tokens_.files.begin(), tokens_.files.end(), file);
    file_ = static_cast<unsigned>(known - tokens_.files.begin());
    if (known == tokens_.files.end()) {
      tokens_.files.push_back(file);
      tokens_.system.push_back(false);
    }
    if (text.find(" 3", i) != text.npos) tokens_.system[file_] = true;
  }

  void word() {
    size_t begin = at_;
    while (is_letter(peek()) || is_digit(peek())) ++at_;
    std::string_view text = source_.substr(begin, at_ - begin);
    bool prefix = text == "R" || text == "L" || text == "u" || text == "U" || text == "u8" || text == "LR" ||
                  text == "uR" || text == "UR" || text == "u8R";
    if (prefix && peek() == '"' && text.back() == 'R')
      raw_string(begin);
    else if (prefix && (peek() == '"' || peek() == '\''))
      literal(begin);
    else
      push(begin, at_, true);
  }

  // Digits may be separated by single quotes, exponents signed.
  void number() {
    size_t begin = at_;
    while (is_letter(peek()) || is_digit(peek()) || peek() == '.' ||
           (peek() == '\'' && (is_letter(peek(1)) || is_digit(peek(1)))) ||
           ((peek() == '+' || peek() == '-') && at_ > begin &&
            std::string_view("eEpP").find(source_[at_ - 1]) != std::string_view::npos))
      ++at_;
    push(begin, at_, false);
  }

  void literal(size_t begin) {
    char quote = peek();
    ++at_;
    while (at_ < source_.size() && peek() != quote && peek() != '\n') at_ += peek() == '\\' ? 2 : 1;
    at_ = std::min(at_ + 1, source_.size());
    push(begin, at_, false);
  }

  void raw_string(size_t begin) {
    size_t open = std::min(source_.find('(', at_), source_.size());
    std::string closing = ")" + std::string(source_.substr(at_ + 1, open - at_ - 1)) + "\"";
    size_t end = source_.find(closing, open);
    at_ = end == source_.npos ? source_.size() : end + closing.size();
    push(begin, at_, false);
    line_ += static_cast<unsigned>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(begin),
                                              source_.begin() + static_cast<std::ptrdiff_t>(at_), '\n'));
  }

  void push(size_t begin, size_t end, bool is_word) {
    tokens_.all.push_back({source_.substr(begin, end - begin), begin, file_, line_, is_word});
    at_ = end;
  }

  std::string_view source_;
  Tokens tokens_;
  size_t at_ = 0;
  unsigned line_ = 1;
  unsigned file_ = 0;
  bool line_start_ = true;
};

}  // namespace

Tokens tokenize(std::string_view source) { return Reader(source).read(); }

}  // namespace hiprtc
