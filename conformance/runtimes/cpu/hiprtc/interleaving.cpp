#include "interleaving.h"

#include <set>
#include <string_view>
#include <vector>

#include "literal.h"

namespace hiprtc {
namespace {

using Lines = std::vector<std::string_view>;

constexpr std::string_view hook = "simt_before_store()";

Lines lines_of(std::string_view text) {
  Lines lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end == text.npos ? end : end - at));
    at = end == text.npos ? text.size() : end + 1;
  }
  return lines;
}

// "load" or "store" where `line` is that instruction and a plain one, "alloca", "getelementptr", or nothing.
std::string_view operation_of(std::string_view line) {
  std::string_view rest = line.substr(0, 2) == "  " ? line.substr(2) : std::string_view();
  if (starts_with(rest, "%")) {
    const size_t equals = rest.find(" = ");
    rest = equals == rest.npos ? std::string_view() : rest.substr(equals + 3);
  }
  const std::string_view name = rest.substr(0, rest.find(' '));
  if (name != "load" && name != "store" && name != "alloca" && name != "getelementptr") return {};
  const std::string_view after = rest.substr(name.size());
  return starts_with(after, " atomic") || starts_with(after, " volatile") ? std::string_view() : name;
}

// The register or global variable that holds the address of a load or store, or from which getelementptr computes one;
// empty for an expression.
std::string_view address_in(std::string_view line) {
  constexpr std::string_view before = ", ptr ";
  const size_t at = line.rfind(before);
  if (at == line.npos) return {};
  const std::string_view rest = line.substr(at + before.size());
  const std::string_view name = rest.substr(0, rest.find(','));
  return starts_with(name, "%") || starts_with(name, "@") ? name : std::string_view();
}

// What lines [first, last), a function, read and do not own: no other thread reads this one's local variables.
std::set<std::string_view> addresses_read(const Lines &lines, size_t first, size_t last) {
  std::set<std::string_view> read, own;
  for (size_t i = first; i < last; ++i) {
    const std::string_view operation = operation_of(lines[i]), address = address_in(lines[i]);
    if (operation == "load" && own.count(address) == 0) read.insert(address);
    if (operation == "alloca" || (operation == "getelementptr" && own.count(address) != 0))
      own.insert(lines[i].substr(2, lines[i].find(" = ") - 2));
  }
  read.erase(std::string_view());
  return read;
}

}  // namespace

std::string interleave_stores(const std::string &text) {
  const Lines lines = lines_of(text);
  std::string result;
  result.reserve(text.size() + text.size() / 16);
  std::set<std::string_view> read;
  bool any = false;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (starts_with(lines[i], "define ")) {
      size_t end = i;
      while (end < lines.size() && lines[end] != "}") ++end;
      read = addresses_read(lines, i, end);
    }
    if (operation_of(lines[i]) == "store" && read.count(address_in(lines[i])) != 0) {
      (result += "  call void @") += hook;
      result += '\n';
      any = true;
    }
    (result += lines[i]) += '\n';
  }
  if (any) ((result += "declare void @") += hook) += '\n';
  return result;
}

}  // namespace hiprtc
