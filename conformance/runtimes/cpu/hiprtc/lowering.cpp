#include "lowering.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace hiprtc {
namespace {

struct Float {
  std::string_view suffix, type, bits;
};
constexpr Float floats[] = {
    {"f16", "half", "i16"}, {"bf16", "bfloat", "i16"}, {"f32", "float", "i32"}, {"f64", "double", "i64"}};

// An instruction "  %result = OPERATION contract TYPE first, second".
struct Arithmetic {
  std::string result, operation, type, first, second;
};

// Reads `line` as a contractable fmul, fadd or fsub of float or double; false if it is something else.
bool read_arithmetic(std::string_view line, Arithmetic &found) {
  constexpr std::string_view contract = " contract ";
  const size_t equals = line.find(" = f"), flag = line.find(contract);
  if (line.substr(0, 3) != "  %" || equals == line.npos || flag == line.npos) return false;
  found.operation = line.substr(equals + 3, flag - equals - 3);
  if (found.operation != "fmul" && found.operation != "fadd" && found.operation != "fsub") return false;
  std::string_view rest = line.substr(flag + contract.size());
  rest = rest.substr(0, rest.find(", !"));  // metadata
  const size_t space = rest.find(' '), comma = rest.find(", ");
  if (space == rest.npos || comma == rest.npos) return false;
  found.result = line.substr(2, equals - 2);
  found.type = rest.substr(0, space);
  found.first = rest.substr(space + 1, comma - space - 1);
  found.second = rest.substr(comma + 2);
  return found.type == "float" || found.type == "double";
}

// Fuses the products of an expression with its sums. Before optimisation an expression's intermediate values are
// registers with one use, and variables are memory, so what is found here are products inside one expression.
class Contraction {
 public:
  explicit Contraction(const std::string &text) : text_(text) {}

  std::string apply() {
    std::string result;
    for (size_t at = 0; at < text_.size();) {
      const size_t end = std::min(text_.find('\n', at), text_.size() - 1) + 1;
      const std::string_view line = std::string_view(text_).substr(at, end - at - (text_[end - 1] == '\n'));
      at = end;
      Arithmetic found;
      if (line.substr(0, 7) == "define ") products_.clear();
      if (!read_arithmetic(line, found)) {
        result += line;
      } else if (found.operation == "fmul") {
        products_[found.result] = found;
        result += line;
      } else {
        result += fused(found, line);
      }
      result += '\n';
    }
    for (const char *type : {"float", "double"}) {
      const std::string name = std::string("@llvm.fma.") + (type[0] == 'f' ? "f32(" : "f64(");
      if (used_.count(type) != 0 && text_.find(std::string("declare ") + type + " " + name) == std::string::npos)
        result += std::string("declare ") + type + " " + name + type + ", " + type + ", " + type + ")\n";
    }
    return result;
  }

 private:
  std::string fused(const Arithmetic &sum, std::string_view line) {
    const auto left = products_.find(sum.first), right = products_.find(sum.second);
    const bool subtracts = sum.operation == "fsub", on_left = left != products_.end();
    if (!on_left && right == products_.end()) return std::string(line);
    const Arithmetic &product = on_left ? left->second : right->second;
    std::string before, factor = product.first, term = on_left ? sum.second : sum.first;
    if (subtracts) {
      std::string &negated = on_left ? term : factor;
      const std::string name = "%simt.negated." + std::to_string(++count_);
      before = "  " + name + " = fneg contract " + sum.type + " " + negated + "\n";
      negated = name;
    }
    used_[sum.type] = true;
    return before + "  " + sum.result + " = call contract " + sum.type + " @llvm.fma." +
           (sum.type == "float" ? "f32" : "f64") + "(" + sum.type + " " + factor + ", " + sum.type + " " +
           product.second + ", " + sum.type + " " + term + ")";
  }

  const std::string &text_;
  std::map<std::string, Arithmetic> products_;
  std::map<std::string, bool> used_;
  unsigned count_ = 0;
};

class Lowering {
 public:
  Lowering(std::string text, Dialect dialect) : text_(std::move(text)), cuda_(dialect == Dialect::cuda) {}

  std::string apply() {
    for (const Float &from : floats) {
      for (bool is_signed : {false, true})
        for (int bits : {8, 16, 32, 64}) conversion(from, is_signed, bits);
      extremum(from, "maxnum", "ogt", "and");
      extremum(from, "minnum", "olt", "or");
    }
    return text_ + definitions_;
  }

 private:
  static std::string joined(std::initializer_list<std::string_view> parts) {
    std::string all;
    for (std::string_view part : parts) all += part;
    return all;
  }

  // Renames the intrinsic @llvm.`name` to @simt.`name` and drops its declaration; false if the text has none.
  bool rename(const std::string &name) {
    const std::string from = "@llvm." + name + "(";
    bool found = false;
    for (size_t at = 0; (at = text_.find(from, at)) != std::string::npos;) {
      const size_t line = text_.rfind('\n', at) + 1;
      if (text_.compare(line, 8, "declare ") == 0) {
        const size_t end = text_.find('\n', at);
        text_.erase(line, end == std::string::npos ? end : end + 1 - line);
        at = line;
        continue;
      }
      text_.replace(at + 1, 4, "simt");
      found = true;
    }
    return found;
  }

  // Adds the declaration of an intrinsic that has no other in the text.
  void declare(const std::string &name, const std::string &type, const std::string &parameter) {
    const std::string call = "@llvm." + name + "(";
    for (size_t at = 0; (at = text_.find(call, at)) != std::string::npos; at += call.size())
      if (text_.compare(text_.rfind('\n', at) + 1, 8, "declare ") == 0) return;
    const std::string line = "declare " + type + " " + call + parameter + ")\n";
    if (definitions_.find(line) == std::string::npos) definitions_ += line;
  }

  void define(const std::string &type, const std::string &name, const std::string &parameters,
              const std::string &body) {
    definitions_ +=
        "define internal " + type + " @simt." + name + "(" + parameters + ") alwaysinline nounwind {\n" + body + "}\n";
  }

  void conversion(const Float &from, bool is_signed, int bits) {
    const bool narrow = bits < 32;
    // A NaN of a conversion to 64 bits or from double leaves the top bit, which a narrow result does not see.
    const bool marks_nan = cuda_ && !narrow && (bits == 64 || from.suffix == "f64");
    if (!narrow && !marks_nan) return;
    const std::string kind = is_signed ? "fptosi.sat." : "fptoui.sat.";
    const std::string type = "i" + std::to_string(bits), wide = narrow ? "i32" : type;
    const std::string name = joined({kind, type, ".", from.suffix}), wider = joined({kind, wide, ".", from.suffix});
    // The wide conversion keeps its intrinsic's name inside the definition, which is appended after all renaming.
    if (!rename(name)) return;
    declare(wider, wide, std::string(from.type));
    std::string body = joined({"  %w = call ", wide, " @llvm.", wider, "(", from.type, " %x)\n"});
    if (narrow) {
      body += "  %r = trunc i32 %w to " + type + "\n";
    } else {
      const char *top = bits == 64 ? "-9223372036854775808" : "-2147483648";
      body += joined(
          {"  %nan = fcmp uno ", from.type, " %x, %x\n  %r = select i1 %nan, ", type, " ", top, ", ", type, " %w\n"});
    }
    define(type, name, joined({from.type, " %x"}), body + "  ret " + type + " %r\n");
  }

  void extremum(const Float &number, const std::string &intrinsic, std::string_view wins, std::string_view merge) {
    const std::string name = joined({intrinsic, ".", number.suffix}), type(number.type);
    if (!rename(name)) return;
    // Equal numbers differ in the sign of zero at most: the bits of both, merged, are the result.
    define(type, name, joined({type, " %a, ", type, " %b"}),
           joined({"  %i = bitcast ",
                   type,
                   " %a to ",
                   number.bits,
                   "\n  %j = bitcast ",
                   type,
                   " %b to ",
                   number.bits,
                   "\n  %k = ",
                   merge,
                   " ",
                   number.bits,
                   " %i, %j\n  %m = bitcast ",
                   number.bits,
                   " %k to ",
                   type,
                   "\n  %same = fcmp oeq ",
                   type,
                   " %a, %b\n  %wins = fcmp ",
                   wins,
                   " ",
                   type,
                   " %a, %b\n  %nan = fcmp uno ",
                   type,
                   " %b, %b\n  %first = or i1 %wins, %nan\n  %s = select i1 %first, ",
                   type,
                   " %a, ",
                   type,
                   " %b\n  %r = select i1 %same, ",
                   type,
                   " %m, ",
                   type,
                   " %s\n  ret ",
                   type,
                   " %r\n"}));
  }

  std::string text_, definitions_ = "\n";
  bool cuda_;
};

}  // namespace

std::string lower_for_gpu(const std::string &text, Dialect dialect) {
  return Lowering(Contraction(text).apply(), dialect).apply();
}

}  // namespace hiprtc
