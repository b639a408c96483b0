#include "host_code.h"

#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "literal.h"

namespace hiprtc {
namespace {

constexpr std::string_view static_variable = " = internal global ";

// The name of the first symbol in `line` at or behind `from`, without quotes; empty where there is none.
std::string_view symbol_in(std::string_view line, size_t from = 0) {
  const size_t at = line.find('@', from);
  if (at == line.npos) return {};
  const bool quoted = line.substr(at + 1, 1) == "\"";
  const size_t begin = at + 1 + quoted;
  const size_t end = quoted ? line.find('"', begin) : line.find_first_of(" ,()[]{}\n", begin);
  return line.substr(begin, end == line.npos ? end : end - begin);
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end == text.npos ? end : end - at));
    if (end == text.npos) break;
    at = end + 1;
  }
  return lines;
}

// Of simt::entry<KERNEL>::loop, what is in front of "loop": the same as in front of "run".
std::string_view entry_of(std::string_view symbol) {
  const size_t loop = symbol.find("E4loopE");
  return starts_with(symbol, "_ZN4simt5entryI") && loop != symbol.npos ? symbol.substr(0, loop) : std::string_view{};
}

bool is_strong(std::string_view definition) {
  for (const char *weaker : {"internal ", "private ", "linkonce", "weak", "available_externally "})
    if (definition.find(weaker) < definition.find('@')) return false;
  return true;
}

// Whether `line` is a variable of its source alone, which its host code may name for the runtime to find.
bool is_static_variable(std::string_view line) {
  const std::string_view symbol = symbol_in(line);
  return starts_with(line, "@_Z") && (starts_with(symbol, "_ZL") || starts_with(symbol, "_ZN12_GLOBAL__N_1")) &&
         line.find(static_variable) != line.npos;
}

struct Module {
  std::set<std::string_view> kernels;                     // of its own table
  std::map<std::string_view, std::string_view> by_entry;  // the symbols of kernels
  std::vector<std::string_view> rows;                     // symbols of simt::launched<KERNEL>::row
  std::map<std::string_view, std::string_view> entry_of_row;
};

Module read(const std::vector<std::string_view> &lines, const std::string &addresses) {
  Module found;
  std::string_view entry;  // whose loop the lines are in
  for (const std::string_view line : lines) {
    if (starts_with(line, "define ")) {
      entry = entry_of(symbol_in(line));
    } else if (starts_with(line, "}")) {
      entry = {};
    } else if (!entry.empty() && line.find("call ") != line.npos) {
      const std::string_view called = symbol_in(line);
      if (!called.empty() && called != "simt_next" && !starts_with(called, "llvm."))
        found.by_entry.emplace(entry, called);
    } else if (starts_with(line, "@")) {
      if (line.find("section \"" + addresses + "\"") != line.npos)
        for (size_t at = line.find('@', 1); at != line.npos; at = line.find('@', at + 1))
          found.kernels.insert(symbol_in(line, at));
      const std::string_view symbol = symbol_in(line);
      if (!starts_with(symbol, "_ZN4simt8launchedI") || !ends_with(symbol, "E3rowE")) continue;
      for (size_t at = line.find('@', 1); at != line.npos; at = line.find('@', at + 1)) {
        const std::string_view other = symbol_in(line, at);
        const size_t run = other.rfind("E3runE");
        if (!starts_with(other, "_ZN4simt5entryI") || run == other.npos) continue;
        found.rows.push_back(symbol);
        found.entry_of_row[symbol] = other.substr(0, run);
        break;
      }
    }
  }
  return found;
}

std::string quoted(std::string_view symbol) { return "@\"" + std::string(symbol) + "\""; }

// simt_launched and how many rows it has: the symbol of each kernel, and its row.
std::string table_of(const Module &module) {
  std::string names, rows;
  size_t count = 0;
  for (const std::string_view row : module.rows) {
    const auto kernel = module.by_entry.find(module.entry_of_row.at(row));
    if (kernel == module.by_entry.end()) continue;
    const std::string name = "@simt_launched_name_" + std::to_string(count++);
    names += name + " = private constant [" + std::to_string(kernel->second.size() + 1) + " x i8] c\"" +
             std::string(kernel->second) + "\\00\"\n";
    rows += (rows.empty() ? "" : ", ") + std::string("{ ptr, ptr } { ptr ") + name + ", ptr " + quoted(row) + " }";
  }
  const std::string number = std::to_string(count);
  return "\n" + names + "@simt_launched = constant [" + number + " x { ptr, ptr }] [" + rows +
         "]\n@simt_launched_count = constant i64 " + number + "\n";
}

}  // namespace

std::string without_host_code(const std::string &module, const std::string &addresses) {
  const std::vector<std::string_view> lines = split_lines(module);
  const Module found = read(lines, addresses);
  std::string result;
  result.reserve(module.size());
  for (const std::string_view line : lines) {
    if (starts_with(line, "@llvm.global_ctors") || starts_with(line, "@llvm.global_dtors")) continue;
    const std::string_view symbol = starts_with(line, "define ") ? symbol_in(line) : std::string_view{};
    if (!symbol.empty() && is_strong(line) && !starts_with(symbol, "simt_") && found.kernels.count(symbol) == 0)
      result += "define internal " + std::string(line.substr(std::string_view("define ").size()));
    else if (is_static_variable(line))
      result += std::string(line).replace(line.find(static_variable), static_variable.size(), " = dso_local global ");
    else
      result += line;
    result += '\n';
  }
  return result + table_of(found);
}

}  // namespace hiprtc
