#include "names.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace capture {
namespace {

// `text` without the parameters that it ends with, and without what it returns, which templates' names begin with.
std::string without_types(std::string text) {
  int depth = 0;
  for (std::size_t at = text.size(); at-- > 0;) {
    depth += text[at] == ')' ? 1 : text[at] == '(' ? -1 : 0;
    if (text[at] == '(' && depth == 0) {
      text.resize(at);
      break;
    }
  }
  return text.starts_with("void ") ? text.substr(5) : text;  // a kernel returns nothing else
}

std::string without_spaces(const std::string &text) {
  std::string made;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != ' ')
      made += text[at];
    else if (!made.ends_with(','))
      made += "%20";
  }
  return made;
}

std::string demangled(const std::string &symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void *)> text(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                     std::free);
  return text && status == 0 ? without_spaces(without_types(text.get())) : symbol;
}

}  // namespace

const std::string &readable(const std::string &symbol) {
  if (!symbol.starts_with("_Z")) return symbol;
  static std::mutex mutex;
  static auto &known = *new std::unordered_map<std::string, std::string>;
  const std::lock_guard lock(mutex);
  const auto found = known.find(symbol);
  return found == known.end() ? known.emplace(symbol, demangled(symbol)).first->second : found->second;
}

}  // namespace capture
