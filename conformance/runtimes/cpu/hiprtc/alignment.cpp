#include "alignment.h"

#include <cstdlib>
#include <map>
#include <set>
#include <string_view>

namespace hiprtc {
namespace {

// An address of an access: where " align N" stands in the line, and what is accessed there.
struct Address {
  std::string_view pointer;
  unsigned long align = 1, bytes = 0;
  size_t number = 0, end = 0;  // of N in the line
  bool whole = false;          // a structure or a vector
  bool store = false;
};

bool begins_with(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

unsigned long number_at(std::string_view text, size_t at) { return std::strtoul(text.data() + at, nullptr, 10); }

size_t past_number(std::string_view text, size_t at) {
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
  return at;
}

// The operand that begins at `at`.
std::string_view operand(std::string_view text, size_t at) {
  const size_t end = text.find_first_of(",) ", at);
  return text.substr(at, end == text.npos ? end : end - at);
}

// Bytes of a type that one instruction loads; 0 where they are not known.
unsigned long bytes_of(std::string_view type) {
  if (begins_with(type, "<")) {
    const size_t by = type.find(" x ");
    return by == type.npos ? 0 : number_at(type, 1) * bytes_of(type.substr(by + 3));
  }
  if (begins_with(type, "half") || begins_with(type, "bfloat")) return 2;
  if (begins_with(type, "float")) return 4;
  if (begins_with(type, "double") || begins_with(type, "ptr")) return 8;
  return begins_with(type, "i") ? (number_at(type, 1) + 7) / 8 : 0;
}

class Alignment {
 public:
  Alignment(const std::string &text, Dialect dialect) : text_(text), cuda_(dialect == Dialect::cuda) {}

  std::string apply() {
    for (size_t at = 0; at < text_.size();) {
      const size_t end = std::min(text_.find('\n', at), text_.size());
      line(text_.substr(at, end - at));
      at = end + 1;
    }
    for (const auto &[align, _] : checks_) define(align);
    if (!checks_.empty())
      // What it writes, no kernel reads: the optimiser may move memory accesses across it.
      result_ += std::string("declare void @") + handler() +
                 "(i64, i64, i64, i1 zeroext) cold nounwind willreturn memory(inaccessiblemem: readwrite)\n";
    return std::move(result_);
  }

 private:
  const char *handler() const { return cuda_ ? "simt_misaligned" : "simt_note_misaligned"; }

  void line(std::string text) {
    if (begins_with(text, "define ")) own_.clear();
    if (begins_with(text, "define ") || text.find("call ") != text.npos || text.find("invoke ") != text.npos)
      drop_promises(text);
    const bool assumes = text.find("@llvm.assume(") != text.npos && text.find("\"align\"(") != text.npos;
    if (assumes && begins_with(text, "  call")) return;
    if (begins_with(text, "  ") && !note_own(text)) {
      const size_t first = text.find_first_not_of(' ');
      const std::string_view word = std::string_view(text).substr(first);
      if (begins_with(word, "%"))
        load(text);
      else if (begins_with(word, "store "))
        store(text, first);
      else if (text.find("@llvm.mem") != text.npos)
        copy(text);
    }
    result_ += text + '\n';
  }

  // What the types of references promise: "align 16 dereferenceable(16)", and !align of a loaded reference.
  static void drop_promises(std::string &text) {
    for (size_t at = 0; (at = text.find(" align ", at)) != text.npos;) {
      const size_t end = past_number(text, at + 7);
      if (text.compare(end, 16, " dereferenceable") == 0)
        text.erase(at, end - at);
      else
        at = end;
    }
  }

  // Notes a local variable, or a member of one at a known place; true where `text` is its definition.
  bool note_own(const std::string &text) {
    if (!begins_with(text, "  %")) return false;
    const size_t equals = text.find(" = ");
    if (equals == text.npos) return false;
    const std::string_view right = std::string_view(text).substr(equals + 3);
    const std::string name = text.substr(2, equals - 2);
    if (begins_with(right, "alloca ")) {
      own_.insert(name);
      return true;
    }
    if (!begins_with(right, "getelementptr ")) return false;
    const size_t base = right.find(", ptr ");
    if (base == right.npos || own_.count(std::string(operand(right, base + 6))) == 0) return true;
    if (right.find('%', right.find(',', base + 6)) == right.npos) own_.insert(name);
    return true;
  }

  bool is_own(std::string_view pointer) const { return own_.count(std::string(pointer)) != 0; }

  // Puts a check of `address` before the line `text`, and makes its alignment 1.
  void check(std::string &text, const Address &address) {
    if (address.align > 1 && (cuda_ || (address.whole && address.align >= 4)) && address.bytes != 0) {
      const std::string align = std::to_string(address.align);
      result_ += "  call void @simt.aligned." + align + "(ptr " + std::string(address.pointer) + ", i64 " +
                 std::to_string(address.bytes) + ", i1 " + (address.store ? "true" : "false") + ")\n";
      checks_[address.align] = true;
    }
    text.replace(address.number, address.end - address.number, "1");
  }

  // "  %8 = load <4 x float>, ptr %7, align 16"
  void load(std::string &text) {
    const size_t verb = text.find(" = load ");
    if (verb == text.npos || text.compare(verb + 8, 7, "atomic ") == 0) return;
    const size_t metadata = text.find(", !align !");
    if (metadata != text.npos) text.erase(metadata, past_number(text, metadata + 10) - metadata);
    const size_t type = verb + 8 + (text.compare(verb + 8, 9, "volatile ") == 0 ? 9 : 0);
    access(text, type, text.find(", ptr ", type), false);
  }

  // "  store <4 x float> %1, ptr %7, align 16"
  void store(std::string &text, size_t first) {
    size_t type = first + 6;
    if (text.compare(type, 7, "atomic ") == 0) return;
    if (text.compare(type, 9, "volatile ") == 0) type += 9;
    access(text, type, text.rfind(", ptr "), true);
  }

  void access(std::string &text, size_t type, size_t at, bool store) {
    if (at == text.npos) return;
    Address found;
    const std::string_view all = text;
    found.pointer = operand(all, at + 6);
    const size_t align = text.find(", align ", at);
    if (align == text.npos || found.pointer.empty() || found.pointer[0] != '%' || is_own(found.pointer)) return;
    found.number = align + 8;
    found.end = past_number(all, found.number);
    found.align = number_at(all, found.number);
    found.bytes = bytes_of(all.substr(type));
    found.whole = text[type] == '<';
    found.store = store;
    const std::string pointer(found.pointer);  // check changes the line
    found.pointer = pointer;
    check(text, found);
  }

  // "call void @llvm.memcpy.p0.p0.i64(ptr align 16 %7, ptr align 16 %12, i64 16, i1 false)"
  void copy(std::string &text) {
    const size_t size = text.find(", i64 ");
    if (size == text.npos || text[size + 6] == '%') return;
    const unsigned long bytes = number_at(text, size + 6);
    bool first = true;
    for (size_t at = text.find("(ptr "); at != text.npos; at = text.find(", ptr ", at + 1), first = false) {
      const size_t align = text.find(" align ", at);
      if (align == text.npos) return;
      Address found;
      found.number = align + 7;
      found.end = past_number(text, found.number);
      found.align = number_at(text, found.number);
      const std::string pointer(operand(text, found.end + 1));
      if (pointer.empty() || pointer[0] != '%' || is_own(pointer)) continue;
      found.pointer = pointer;
      found.bytes = bytes;
      found.whole = true;
      found.store = first;
      check(text, found);
    }
  }

  void define(unsigned long align) {
    const std::string number = std::to_string(align);
    result_ += "define internal void @simt.aligned." + number +
               "(ptr %p, i64 %bytes, i1 %store) alwaysinline nounwind {\n"
               "  %address = ptrtoint ptr %p to i64\n"
               "  %rest = and i64 %address, " +
               std::to_string(align - 1) +
               "\n"
               "  %aligned = icmp eq i64 %rest, 0\n"
               "  br i1 %aligned, label %good, label %bad\n"
               "bad:\n"
               "  call void @" +
               handler() + "(i64 %address, i64 " + number +
               ", i64 %bytes, i1 zeroext %store)\n  br label %good\ngood:\n  ret void\n}\n";
  }

  const std::string &text_;
  const bool cuda_;
  std::string result_;
  std::set<std::string> own_;             // pointers of the function that lead to local variables
  std::map<unsigned long, bool> checks_;  // the alignments that are looked for
};

}  // namespace

std::string check_alignment(const std::string &text, Dialect dialect) { return Alignment(text, dialect).apply(); }

}  // namespace hiprtc
