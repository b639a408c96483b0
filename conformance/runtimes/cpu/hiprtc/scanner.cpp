#include "scanner.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "literal.h"
#include "tokens.h"

namespace hiprtc {
namespace {

// How simt/qualifiers.h spells __global__ and __shared__, token by token.
constexpr std::string_view kernel_marker = "\"simt_kernel\"";
constexpr std::string_view shared_marker = "thread_local";

// How it spells the limits of a kernel's blocks, and which of the numbers behind it is the largest block.
struct Limit {
  std::string_view marker;
  unsigned number;
};
constexpr Limit limits[] = {{"\"simt_launch_bounds\"", 0}, {"\"simt_flat_work_group_size\"", 1}};

// Expression `number` of those that the string literal `quoted` lists; "" if it is not there, or cannot be told: a
// comma between < and > may separate template arguments.
std::string listed(std::string_view quoted, unsigned number) {
  if (quoted.size() < 2 || quoted.find('\\') != quoted.npos) return "";
  std::string found;
  int depth = 0;
  for (size_t i = 1; i + 1 < quoted.size(); ++i) {
    const char c = quoted[i];
    if (c == '<' && quoted[i + 1] != '<' && quoted[i - 1] != '<') return "";
    if (c == '(' || c == '{' || c == '[') ++depth;
    if (c == ')' || c == '}' || c == ']') --depth;
    if (c == ',' && depth == 0) {
      if (number-- == 0) return found;
      found.clear();
    } else {
      found += c;
    }
  }
  return number == 0 ? found : "";
}

struct Change {
  size_t begin, end;  // offsets in the source
  std::string text;
};

class Scanner {
 public:
  Scanner(const std::string &source, HostCode host, const std::set<std::string> &only)
      : source_(source), tokens_(tokenize(source)), host_(host), only_(only) {}

  Scan read() {
    for (at_ = 0; at_ < size(); ++at_) step();
    size_t done = 0;
    // A kernel is known at the end of its head, behind what was changed there. What is put before a token comes before
    // what replaces it.
    std::sort(changes_.begin(), changes_.end(), [](const Change &one, const Change &other) {
      return one.begin != other.begin ? one.begin < other.begin : one.end < other.end;
    });
    for (const Change &change : changes_) {
      result_.source.append(source_, done, change.begin - done);
      result_.source += change.text;
      done = change.end;
    }
    result_.source.append(source_, done);
    return std::move(result_);
  }

 private:
  enum class Scope { named, transparent, opaque };

  size_t size() const { return tokens_.all.size(); }
  std::string_view text(size_t i) const { return i < size() ? tokens_.all[i].text : std::string_view(); }
  bool is_word(size_t i) const { return i < size() && tokens_.all[i].is_word; }

  // Index just past the group that opens at i; `open` is one of ( [ {.
  size_t past_group(size_t i) const {
    int depth = 0;
    for (; i < size(); ++i) {
      char c = text(i)[0];
      bool one = text(i).size() == 1;
      if (one && (c == '(' || c == '[' || c == '{')) ++depth;
      if (one && (c == ')' || c == ']' || c == '}') && --depth == 0) return i + 1;
    }
    return size();
  }

  // Index just past the template arguments that open at i. A > in parentheses is a comparison.
  size_t past_angles(size_t i) const {
    int depth = 0;
    while (i < size()) {
      if (text(i) == "(" || text(i) == "[" || text(i) == "{") {
        i = past_group(i);
        continue;
      }
      if (text(i) == "<") ++depth;
      if (text(i++) == ">" && --depth == 0) break;
    }
    return i;
  }

  // Index just past the attributes and the like at i, or i itself: __attribute__((...)), [[...]], alignas(...),
  // __declspec(...), decltype(...), noexcept(...), explicit(...), requires-free.
  size_t past_attribute(size_t i) const {
    std::string_view word = text(i);
    if ((word == "__attribute__" || word == "__attribute" || word == "alignas" || word == "_Alignas" ||
         word == "__declspec" || word == "decltype" || word == "__typeof__" || word == "typeof" ||
         word == "explicit") &&
        text(i + 1) == "(")
      return past_group(i + 1);
    if (word == "[" && text(i + 1) == "[") return past_group(i);
    return i;
  }

  void step() {
    std::string_view word = text(at_);
    bool at_declarations = scopes_.empty() || scopes_.back() != Scope::opaque;
    if (word == "__noinline__" && text(at_ - 1) != "(" && text(at_ - 1) != ",") {
      changes_.push_back({tokens_.all[at_].begin, tokens_.all[at_].end(), "__attribute__((noinline))"});
      result_.bare_noinline = true;
    }
    if (word == shared_marker && rewrite_dynamic_shared()) return;
    if (host_ != HostCode::none && word == "<" && text(at_ + 1) == "<" && text(at_ + 2) == "<") rewrite_launch();
    if (word == "{") {
      if (at_declarations)
        open_scope();
      else
        scopes_.push_back(Scope::opaque);
      start_ = at_ + 1;
    } else if (word == "}") {
      close_scope();
      start_ = at_ + 1;
    } else if (word == ";") {
      // The end of an explicit instantiation, or of a declaration, which does not define a kernel.
      if (at_declarations && text(start_) == "template" && text(start_ + 1) != "<") record_kernel(false);
      if (at_declarations) rewrite_label();
      start_ = at_ + 1;
    } else if (at_declarations && (word == "(" || word == "[")) {
      // Nothing in parentheses starts a scope at this level (default arguments, lambdas in attributes), but a dynamic
      // shared array or __noinline__ cannot be there either.
      if (word == "(" && is_word(at_ - 1) && tokens_.system[tokens_.all[at_].file]) declared_.insert(text(at_ - 1));
      at_ = past_group(at_) - 1;
    }
  }

  // The declaration start_..at_ is followed by {.
  void open_scope() {
    size_t first = start_;
    if (text(first) == "inline" && text(first + 1) == "namespace") ++first;
    if (text(first) == "namespace") {
      std::string name;
      for (size_t i = first + 1; i < at_; ++i) {
        size_t past = past_attribute(i);
        if (past != i)
          i = past - 1;
        else if (text(i) != "inline")
          name += text(i);
      }
      namespaces_.push_back(name);
      scopes_.push_back(Scope::named);
      return;
    }
    if (text(first) == "extern" && first + 2 == at_ && text(first + 1)[0] == '"') {
      scopes_.push_back(Scope::transparent);
      return;
    }
    bool pattern = text(first) == "template" && text(first + 1) == "<" && text(first + 2) != ">";
    if (!pattern)
      record_kernel(true);
    else if (host_ == HostCode::program)
      note_instances();
    scopes_.push_back(Scope::opaque);
  }

  void close_scope() {
    if (scopes_.empty()) return;
    if (scopes_.back() == Scope::named) namespaces_.pop_back();
    scopes_.pop_back();
  }

  // Records the declaration start_..at_ if it carries the kernel marker. The name stands before the first parameter
  // list behind the marker. An instantiation is no definition.
  void record_kernel(bool definition) {
    size_t i = start_;
    size_t marker = 0;
    size_t angles = 0;  // where the template arguments of the name open
    bool marked = false;
    std::string limit;
    for (; i < at_; ++i) {
      size_t past = past_attribute(i);
      if (past == i) {
        if (marked && text(i) == "(") break;
        if (marked && text(i) == "<") {
          angles = i;
          i = past_angles(i) - 1;
        }
        continue;
      }
      for (size_t inside = i; inside < past; ++inside) {
        for (const Limit &one : limits)
          if (text(inside) == one.marker && limit.empty()) limit = listed(text(inside + 2), one.number);
        if (text(inside) != kernel_marker) continue;
        marked = true;
        marker = i;
      }
      i = past - 1;
    }
    if (!marked || i >= at_ || i == start_) return;
    size_t close = past_group(i) - 1;
    Kernel kernel;
    kernel.namespaces = namespaces_;
    kernel.parameters = std::string(between(i + 1, close));
    size_t name_end = i, name = (angles != 0 ? angles : i) - 1;
    if (!is_word(name)) return;
    while (name >= start_ + 3 && text(name - 1) == ":" && text(name - 2) == ":" && is_word(name - 3)) name -= 3;
    kernel.name = std::string(between(name, name_end));
    while (!kernel.name.empty() && kernel.name.back() == ' ') kernel.name.pop_back();
    kernel.file = tokens_.files[tokens_.all[name].file];
    kernel.line = tokens_.all[name].line;
    const bool recorded = only_.empty() || only_.count(kernel.name) != 0;
    std::string before;  // the declaration
    if (recorded && definition && !limit.empty() && text(start_) != "template") {
      kernel.most_threads = "simt_most_threads_" + std::to_string(result_.kernels.size());
      before = "static constexpr unsigned long " + kernel.most_threads + " = __builtin_constant_p(" + limit +
               ") ? static_cast<unsigned long>(" + limit + ") : 0; ";
    }
    const bool is_inline = !only_.empty() && definition;
    if (is_inline && marker == start_) before += "inline ";
    const size_t first = tokens_.all[start_].begin, marked_at = tokens_.all[marker].begin;
    if (!before.empty()) changes_.push_back({first, first, before});
    if (is_inline && marker != start_) changes_.push_back({marked_at, marked_at, "inline "});
    if (recorded) result_.kernels.push_back(kernel);
  }

  // The declaration start_..at_ of a template is followed by {. If it is one of kernels, the body begins with what has
  // each of its instances note its row (simt/host.h): the host code alone knows which there are.
  void note_instances() {
    const size_t head = past_angles(start_ + 1);
    size_t open = 0;
    bool marked = false;
    for (size_t i = head; i < at_ && open == 0; ++i) {
      const size_t past = past_attribute(i);
      for (size_t inside = i; inside < past; ++inside) marked = marked || text(inside) == kernel_marker;
      if (marked && past == i && text(i) == "(") open = i;
      if (past != i) i = past - 1;
    }
    if (open == 0 || !is_word(open - 1)) return;
    const size_t body = tokens_.all[at_].end();
    changes_.push_back({body, body,
                        " static constexpr const ::simt_kernel *simt_noted __attribute__((used)) = "
                        "&::simt::launched<static_cast<void (*)(" +
                            without_defaults(std::string(between(open + 1, past_group(open) - 1))) + ")>(&" +
                            std::string(text(open - 1)) + "<" + template_arguments(start_ + 2, head - 1) +
                            ">)>::row; "});
  }

  // The parameters of a template, tokens first..last-1, as its arguments inside of it. Those behind one without a name
  // are left to deduction.
  std::string template_arguments(size_t first, size_t last) const {
    std::string arguments;
    for (size_t i = first; i < last;) {
      size_t end = i, name_end = 0;
      bool pack = false;
      while (end < last && text(end) != ",") {
        if (text(end) == "=" && name_end == 0) name_end = end;
        pack = pack || text(end) == "." || text(end) == "...";
        end = text(end) == "<"                                           ? past_angles(end)
              : text(end) == "(" || text(end) == "[" || text(end) == "{" ? past_group(end)
                                                                         : end + 1;
      }
      if (name_end == 0) name_end = end;
      if (name_end < i + 2 || !is_word(name_end - 1)) break;  // it has a type alone
      arguments += (arguments.empty() ? "" : ", ") + std::string(text(name_end - 1)) + (pack ? "..." : "");
      i = end + 1;
    }
    return arguments;
  }

  // Source text of tokens first..last-1.
  std::string_view between(size_t first, size_t last) const {
    if (first >= last) return {};
    size_t begin = tokens_.all[first].begin;
    return std::string_view(source_).substr(begin, tokens_.all[last - 1].end() - begin);
  }

  // at_ is the ; of a declaration. If that gives a function an asm label that means something to AMD's compiler only:
  //   a function that our headers declare   is what the label names, so that the label is dropped
  //   "llvm.amdgcn.*", "__ocml_*"           name functions of ours (simt/llvm_amdgcn.h, simt/ocml.h)
  // clang itself knows what is left of "llvm.*".
  void rewrite_label() {
    size_t name = 0, label = 0;
    for (size_t i = start_; i + 3 < at_ && label == 0; ++i) {
      const std::string_view word = text(i);
      if (name == 0 && is_word(i) && text(i + 1) == "(" && past_attribute(i) == i) name = i;
      if (name != 0 && (word == "__asm__" || word == "asm" || word == "__asm") && text(i + 1) == "(") label = i;
    }
    if (label == 0 || tokens_.system[tokens_.all[name].file]) return;
    const std::string_view quoted = text(label + 2);
    const std::string given(quoted.substr(1, quoted.size() < 2 ? 0 : quoted.size() - 2));
    const auto begins = [&given](std::string_view prefix) { return given.compare(0, prefix.size(), prefix) == 0; };
    if (!begins("llvm.") && !begins("__ocml_")) return;
    if (declared_.count(text(name)) != 0) {
      changes_.push_back({tokens_.all[label].begin, tokens_.all[past_group(label + 1) - 1].end(), ""});
    } else if (begins("llvm.amdgcn.")) {
      std::string own = "simt_" + given;
      for (char &c : own) c = c == '.' ? '_' : c;
      changes_.push_back({tokens_.all[label + 2].begin, tokens_.all[label + 2].end(), '"' + own + '"'});
      result_.labels.push_back(own);
    } else if (begins("__ocml_")) {
      result_.labels.push_back(given);
    }
  }

  // at_ is the thread_local of a declaration. If that is an extern array, replaces the declaration and moves at_ to its
  // last token.
  bool rewrite_dynamic_shared() {
    size_t end = at_;
    bool is_extern = false;
    for (size_t i = start_; i < size() && text(i) != ";"; ++i) {
      if (text(i) == "{" || text(i) == "=") return false;
      is_extern = is_extern || text(i) == "extern";
      end = i + 1;
    }
    if (!is_extern || end >= size()) return false;
    // Qualifiers are dropped; "type name [...]" is left.
    std::string type;
    size_t name = 0, bracket = 0;
    for (size_t i = start_; i < end && bracket == 0;) {
      size_t past = past_attribute(i);
      std::string_view word = text(i);
      if (past != i || word == "extern" || word == shared_marker || word == "static" || word[0] == '"') {
        i = past != i ? past : i + 1;
        continue;
      }
      if (is_word(i) && text(i + 1) == "[") {
        name = i;
        bracket = i + 1;
        break;
      }
      type += std::string(word) + " ";
      ++i;
    }
    if (bracket == 0 || type.empty()) return false;
    bool in_function = !scopes_.empty() && scopes_.back() == Scope::opaque;
    replace_declaration(end, std::string(text(name)), type, std::string(between(bracket, end)), in_function);
    at_ = end - 1;
    return true;
  }

  // at_ is the first < of kernel<<<grid, block, ...>>>(arguments), which becomes
  // ::simt::launched<&kernel>(grid, block, ...)(arguments), see simt/host.h, and in a program
  // ::simt::configured(grid, block, ...), kernel(arguments). What is not one is left as it is.
  void rewrite_launch() {
    size_t close = at_ + 3;
    while (close < size() && text(close) != ";" && !is_triple(close, ">"))
      close = text(close) == "(" || text(close) == "[" || text(close) == "{" ? past_group(close) : close + 1;
    const size_t first = kernel_before(at_);
    if (!is_triple(close, ">") || text(close + 3) != "(" || first == at_) return;
    if (host_ == HostCode::program) {
      const std::string shape(between(at_ + 3, close));
      changes_.push_back({tokens_.all[first].begin, tokens_.all[first].begin, "::simt::configured(" + shape + "), "});
      changes_.push_back({tokens_.all[at_].begin, tokens_.all[close + 2].end(), ""});
      at_ = close + 2;
      return;
    }
    changes_.push_back({tokens_.all[first].begin, tokens_.all[first].begin, "::simt::launched<&"});
    changes_.push_back({tokens_.all[at_].begin, tokens_.all[at_ + 2].end(), ">("});
    changes_.push_back({tokens_.all[close].begin, tokens_.all[close + 2].end(), ")"});
    at_ = close + 2;
  }

  bool is_triple(size_t i, std::string_view sign) const {
    return text(i) == sign && text(i + 1) == sign && text(i + 2) == sign &&
           tokens_.all[i + 1].begin == tokens_.all[i].end();
  }

  // Where the kernel begins that ends before i: space::name<arguments>, or a group in parentheses; i where none does.
  size_t kernel_before(size_t i) const {
    size_t first = i;
    for (;;) {
      size_t at = first;
      if (at > start_ && text(at - 1) == ">") at = opening_before(at - 1, "<", ">");
      if (at == first && at > start_ && text(at - 1) == ")") return opening_before(at - 1, "(", ")");
      if (at <= start_ || !is_word(at - 1) || text(at - 1) == "return") return first;
      first = at - 1;
      if (first < start_ + 2 || text(first - 1) != ":" || text(first - 2) != ":") return first;
      const bool named = first > start_ + 2 && (is_word(first - 3) || text(first - 3) == ">");
      if (!named) return first - 2;
      first -= 2;
    }
  }

  // Where the group opens that closes at i.
  size_t opening_before(size_t i, std::string_view open, std::string_view close) const {
    for (int depth = 0;; --i) {
      if (text(i) == ")" && close != ")") {
        i = opening_before(i, "(", ")");
      } else if (text(i) == close) {
        ++depth;
      } else if (text(i) == open && --depth == 0) {
        return i;
      }
      if (i <= start_) return i;
    }
  }

  void replace_declaration(size_t end, const std::string &name, const std::string &type, const std::string &bounds,
                           bool in_function) {
    const std::string object = "(*reinterpret_cast<" + type + "(*)" + bounds + ">(simt_self->dynamic_shared))";
    size_t first = tokens_.all[start_].begin, last = tokens_.all[end - 1].end();
    auto known = file_level_.find(name);
    if (known != file_level_.end() && known->second == object) {
      changes_.push_back({first, last, ""});  // declared again: the macro exists
    } else if (in_function) {
      changes_.push_back({first, last, type + "(&" + name + ")" + bounds + " = " + object});
    } else {
      // At file scope a reference cannot be bound for each worker thread: define a macro of that name.
      const Token &after = tokens_.all[end];
      std::string marker = "\n# " + std::to_string(after.line) + " " + literal(tokens_.files[after.file]) + "\n";
      changes_.push_back({first, last, "\n#define " + name + " " + object + marker});
      file_level_[name] = object;
    }
  }

  const std::string &source_;
  Tokens tokens_;
  const HostCode host_;
  const std::set<std::string> &only_;
  Scan result_;
  std::vector<Change> changes_;
  std::vector<Scope> scopes_;
  std::vector<std::string> namespaces_;
  std::map<std::string, std::string> file_level_;  // dynamic shared arrays declared outside functions
  std::set<std::string_view> declared_;            // functions that system headers, ours among them, declare
  size_t at_ = 0;
  size_t start_ = 0;  // first token of the current declaration or statement
};

}  // namespace

std::string without_defaults(const std::string &parameters) {
  std::string result;
  int depth = 0;
  bool skipping = false;
  for (char c : parameters) {
    if (c == '(' || c == '[' || c == '{' || c == '<') ++depth;
    if (c == ')' || c == ']' || c == '}' || c == '>') --depth;
    if (depth == 0 && c == '=') skipping = true;
    if (depth == 0 && c == ',') skipping = false;
    if (!skipping) result += c;
  }
  return result;
}

std::string Kernel::qualified(const std::string &it) const {
  std::string result = "::";
  for (const std::string &space : namespaces)
    if (!space.empty()) result += space + "::";
  return result + it;
}

Scan scan(const std::string &preprocessed, HostCode host, const std::set<std::string> &only) {
  return Scanner(preprocessed, host, only).read();
}

}  // namespace hiprtc
