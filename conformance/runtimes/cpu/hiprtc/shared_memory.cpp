#include "shared_memory.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../include/simt/abi.h"

namespace hiprtc {
namespace {

using View = std::string_view;

constexpr View address_of_thread_local = "@llvm.threadlocal.address.p0(";
constexpr View used_lists[] = {"@llvm.compiler.used = ", "@llvm.used = "};
constexpr View launched_row = "@_ZN4simt8launchedI";  // simt::launched<...>::row (simt/host.h), and its name
constexpr View context_declaration = "@simt_self = external ";

bool begins(View text, View prefix) { return text.substr(0, prefix.size()) == prefix; }

// The name that starts at text[at], '@' and quotes included.
View name_at(View text, size_t at) {
  size_t end = at + 1;
  if (end < text.size() && text[end] == '"') {
    end = std::min(text.find('"', end + 1), text.size() - 1) + 1;
  } else {
    const auto in_name = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
             c == '$' || c == '-';
    };
    while (end < text.size() && in_name(text[end])) ++end;
  }
  return text.substr(at, end - at);
}

template <class Action>
void each_name(View text, Action action) {
  for (size_t at = 0; (at = text.find('@', at)) != text.npos;) {
    const View name = name_at(text, at);
    action(name, at);
    at += name.size();
  }
}

// The type at the start of `text`: one word, or a bracketed group.
View type_at(View text) {
  size_t depth = 0;
  bool quoted = false;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '[' || c == '{' || c == '<') ++depth;
    if (c == ']' || c == '}' || c == '>') --depth;
    if (c == ' ' && depth == 0) return text.substr(0, at);
  }
  return text;
}

struct Variable {
  View name, type, align;
  size_t index = 0;
  bool placed = true;
};

class Placement {
 public:
  explicit Placement(const std::string &text) : text_(text) {}

  std::string apply() {
    read();
    find_variables();
    for (const auto &[name, body] : bodies_) check_uses(name, body);
    size_t count = 0;
    for (Variable &variable : variables_)
      if (variable.placed) variable.index = count++;
    std::string result = rewrite();
    add_tables(result, count);
    return result;
  }

 private:
  // Splits the text into what defines each name: a function with its body, or the line of a variable.
  void read() {
    for (size_t at = 0; at < text_.size();) {
      size_t end = line_end(at);
      const View line = View(text_).substr(at, end - at);
      if (begins(line, "@")) {
        bodies_.emplace(name_at(line, 0), line);
        if (begins(line, launched_row) && line.find(" constant ") != line.npos)
          launched_rows_.push_back(name_at(line, 0));
      } else if (begins(line, "define ")) {
        const size_t closing = text_.find("\n}\n", at);
        end = closing == text_.npos ? text_.size() : closing + 3;
        bodies_.emplace(name_at(line, std::min(line.find('@'), line.size() - 1)), View(text_).substr(at, end - at));
      }
      at = end;
    }
  }

  size_t line_end(size_t at) const { return std::min(text_.find('\n', at), text_.size() - 1) + 1; }

  // Shared variables carry the attribute `used`: the module's other thread-local data does not.
  void find_variables() {
    for (const View list : used_lists) {
      const auto found = bodies_.find(list.substr(0, list.find(' ')));
      if (found == bodies_.end()) continue;
      each_name(found->second, [this](View name, size_t) { add_variable(name); });
    }
  }

  void add_variable(View name) {
    const auto found = bodies_.find(name);
    if (found == bodies_.end()) return;
    const View line = found->second;
    const size_t local = line.find(" thread_local"), global = line.find(" global ", local);
    if (local == line.npos || global == line.npos) return;
    Variable variable;
    variable.name = name;
    variable.type = type_at(line.substr(global + 8));
    const size_t align = line.rfind(", align ");
    variable.align = align == line.npos ? View("16") : type_at(line.substr(align + 8, line.size() - align - 9));
    variable.align = variable.align.substr(0, variable.align.find(','));
    numbers_.emplace(name, variables_.size());
    variables_.push_back(variable);
  }

  Variable *variable_of(View name) {
    const auto found = numbers_.find(name);
    return found == numbers_.end() ? nullptr : &variables_[found->second];
  }

  // A variable that is named outside the intrinsic that takes its address stays thread_local.
  void check_uses(View owner, View body) {
    if (owner == "@llvm.compiler.used" || owner == "@llvm.used" || variable_of(owner) != nullptr) return;
    size_t inside = 0;  // where the argument of the last intrinsic ends
    each_name(body, [&](View name, size_t at) {
      if (address_of_thread_local.substr(0, address_of_thread_local.size() - 1) == name) {
        inside = body.find(')', at);
        return;
      }
      Variable *variable = variable_of(name);
      if (variable != nullptr && at > inside) variable->placed = false;
    });
  }

  std::string rewrite() {
    std::string result;
    result.reserve(text_.size() + 4096);
    for (size_t at = 0; at < text_.size();) {
      const size_t end = line_end(at);
      const View line = View(text_).substr(at, end - at);
      at = end;
      if (begins(line, "@")) {
        const Variable *variable = variable_of(name_at(line, 0));
        if (variable != nullptr && variable->placed) continue;
        if (std::any_of(std::begin(used_lists), std::end(used_lists),
                        [line](View list) { return begins(line, list); })) {
          result += without_placed(line);
          continue;
        }
      }
      const size_t call = line.find(address_of_thread_local);
      const Variable *variable = call == line.npos ? nullptr : argument(line.substr(call));
      if (variable == nullptr || !variable->placed) {
        result += line;
        continue;
      }
      result += line.substr(0, call);
      result += "@simt.shared.address(i64 " + std::to_string(variable->index) + ")";
      result += line.substr(line.find(')', call) + 1);
    }
    return result;
  }

  Variable *argument(View call) {
    const size_t at = call.find('@', address_of_thread_local.size());
    return at == call.npos ? nullptr : variable_of(name_at(call, at));
  }

  std::string without_placed(View line) {
    std::vector<View> kept;
    each_name(line, [&](View name, size_t at) {
      const Variable *variable = variable_of(name);
      if (at > 0 && (variable == nullptr || !variable->placed)) kept.push_back(name);
    });
    if (kept.empty()) return "";
    std::string entries;
    for (const View name : kept) entries += (entries.empty() ? "ptr " : ", ptr ") + std::string(name);
    return std::string(name_at(line, 0)) + " = appending global [" + std::to_string(kept.size()) + " x ptr] [" +
           entries + "], section \"llvm.metadata\"\n";
  }

  // ---- the tables

  void add_tables(std::string &result, size_t count) {
    std::string names, rows;
    for (const Variable &variable : variables_) {
      if (!variable.placed) continue;
      View name = variable.name.substr(1);
      if (!name.empty() && name[0] == '"') name = name.substr(1, name.size() - 2);
      const std::string row = std::to_string(variable.index), type(variable.type);
      const std::string text_type = "[" + std::to_string(length_of(name) + 1) + " x i8]";
      names +=
          "@simt.shared.name." + row + " = private constant " + text_type + " c\"" + std::string(name) + "\\00\"\n";
      rows += (rows.empty() ? "" : ", ") + std::string("{ ptr, i64, i64 } { ptr @simt.shared.name.") + row +
              ", i64 ptrtoint (ptr getelementptr (" + type + ", ptr null, i32 1) to i64), i64 " +
              std::string(variable.align) + " }";
    }
    std::string lists, uses;
    const size_t kernels = add_uses(lists, uses);
    result += "\n" + names + lists;
    result += table("simt_shared_variables", "{ ptr, i64, i64 }", count, rows);
    result += table("simt_shared_uses", "{ ptr, ptr, i64 }", kernels, uses);
    result += "@simt_shared_variable_count = constant i64 " + std::to_string(count) + "\n";
    result += "@simt_shared_use_count = constant i64 " + std::to_string(kernels) + "\n";
    if (count == 0) return;
    if (result.find(context_declaration) == std::string::npos)
      result += std::string(context_declaration) + "thread_local(initialexec) global ptr, align 8\n";
    // The loaded value is invariant during a launch, so that a kernel loads it once.
    result +=
        "define internal ptr @simt.shared.address(i64 %variable) alwaysinline nounwind {\n"
        "  %self = call ptr @llvm.threadlocal.address.p0(ptr @simt_self)\n"
        "  %context = load ptr, ptr %self, align 8, !invariant.load !{}\n"
        "  %place = getelementptr i8, ptr %context, i64 " +
        std::to_string(offsetof(simt_context, shared)) +
        "\n  %table = load ptr, ptr %place, align 8, !invariant.load !{}\n"
        "  %row = getelementptr ptr, ptr %table, i64 %variable\n"
        "  %address = load ptr, ptr %row, align 8, !invariant.load !{}\n"
        "  ret ptr %address\n}\n";
  }

  static std::string table(const std::string &name, const std::string &type, size_t count, const std::string &rows) {
    return "@" + name + " = constant [" + std::to_string(count) + " x " + type + "] [" + rows + "]\n";
  }

  // Bytes of a name in which \xx stands for one.
  static size_t length_of(View name) {
    return name.size() - 2 * static_cast<size_t>(std::count(name.begin(), name.end(), '\\'));
  }

  // For each kernel the variables that it references, directly or through other functions.
  size_t add_uses(std::string &lists, std::string &uses) {
    const auto kernels = bodies_.find("@simt_kernels");
    if (kernels == bodies_.end()) return 0;
    std::unordered_map<View, bool> done;
    size_t count = 0;
    std::string rows(kernels->second);
    for (const View row : launched_rows_) rows += bodies_.at(row);
    each_name(rows, [&](View name, size_t) {
      const auto found = bodies_.find(name);
      if (found == bodies_.end() || !begins(found->second, "define ")) return;
      const View run = found->first;
      if (!done.emplace(run, true).second) return;
      const std::vector<size_t> used = reachable(run);
      const std::string number = std::to_string(count), size = std::to_string(used.size());
      std::string entries;
      for (const size_t index : used) entries += (entries.empty() ? "i32 " : ", i32 ") + std::to_string(index);
      lists += "@simt.shared.uses." + number + " = private constant [" + size + " x i32] [" + entries + "]\n";
      uses += (uses.empty() ? "" : ", ") + std::string("{ ptr, ptr, i64 } { ptr ") + std::string(run) +
              ", ptr @simt.shared.uses." + number + ", i64 " + size + " }";
      ++count;
    });
    return count;
  }

  std::vector<size_t> reachable(View from) {
    std::vector<View> left = {from};
    std::unordered_map<View, bool> seen = {{from, true}};
    std::vector<size_t> used;
    while (!left.empty()) {
      const View at = left.back();
      left.pop_back();
      if (const Variable *variable = variable_of(at); variable != nullptr && variable->placed)
        used.push_back(variable->index);
      for (const View name : references(at))
        if (seen.emplace(name, true).second) left.push_back(name);
    }
    std::sort(used.begin(), used.end());
    return used;
  }

  // The defined names in the body of `name`; cached, since kernels share most of what they call.
  const std::vector<View> &references(View name) {
    const auto known = references_.find(name);
    if (known != references_.end()) return known->second;
    std::vector<View> &list = references_[name];
    if (const auto body = bodies_.find(name); body != bodies_.end())
      each_name(body->second, [&](View other, size_t) {
        if (bodies_.count(other) != 0) list.push_back(other);
      });
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    return list;
  }

  const std::string &text_;
  std::unordered_map<View, View> bodies_;
  std::unordered_map<View, size_t> numbers_;
  std::unordered_map<View, std::vector<View>> references_;
  std::vector<Variable> variables_;
  std::vector<View> launched_rows_;
};

}  // namespace

std::string place_shared_memory(const std::string &text) { return Placement(text).apply(); }

}  // namespace hiprtc
