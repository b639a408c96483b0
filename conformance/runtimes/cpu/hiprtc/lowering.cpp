#include "lowering.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "literal.h"

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

// Reads `line` as a contractable fmul, fadd or fsub of half, float or double; false if it is something else.
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
  return found.type == "half" || found.type == "float" || found.type == "double";
}

// Three halves as doubles: of their product and sum a double keeps all that decides how the result is rounded.
constexpr char fma_of_halves[] =
    "define internal half @simt.fma.f16(half %a, half %b, half %c) alwaysinline nounwind {\n"
    "  %x = fpext half %a to double\n"
    "  %y = fpext half %b to double\n"
    "  %z = fpext half %c to double\n"
    "  %product = fmul double %x, %y\n"
    "  %sum = fadd double %product, %z\n"
    "  %r = fptrunc double %sum to half\n"
    "  ret half %r\n"
    "}\n";

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
    return used_.count("half") != 0 ? result + fma_of_halves : result;
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
    const char *function = sum.type == "half"    ? "@simt.fma.f16"
                           : sum.type == "float" ? "@llvm.fma.f32"
                                                 : "@llvm.fma.f64";
    return before + "  " + sum.result + " = call contract " + sum.type + " " + function + "(" + sum.type + " " +
           factor + ", " + sum.type + " " + product.second + ", " + sum.type + " " + term + ")";
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

  // Adds the declaration of an intrinsic of one value of `type`, and gives "call TYPE @llvm.NAME(TYPE %value)".
  std::string call(const std::string &name, const std::string &result, const std::string &type,
                   const std::string &value) {
    declare(name, result, type);
    return joined({"call ", result, " @llvm.", name, "(", type, " ", value, ")\n"});
  }

  void conversion(const Float &from, bool is_signed, int bits) {
    const std::string name = saturating(is_signed, bits, from.suffix);
    std::string body;
    if (cuda_) {
      // A NaN of a conversion to 64 bits or from double leaves the top bit, which a narrow result does not see.
      if (bits < 32) {
        if (!rename(name)) return;
        body = narrowed(from.type, from.suffix, "%x", is_signed, 32, bits);
      } else {
        if ((bits == 32 && from.suffix != "f64") || !rename(name)) return;
        body = marking_nan(from, name, bits);
      }
    } else {
      if (bits == 32 || !rename(name)) return;
      const bool widened = from.suffix == "bf16";
      const std::string type(widened ? "float" : from.type), suffix(widened ? "f32" : from.suffix);
      const std::string value = widened ? "%f" : "%x";
      if (widened) body = "  %f = fpext bfloat %x to float\n";
      const int width = suffix == "f16" && bits < 32 ? 16 : 32;
      if (bits < 32)
        body += narrowed(type, suffix, value, is_signed || bits == 8, width, bits);
      else if (suffix == "f16")
        body += joined({"  %w = ", call(saturating(is_signed, 32, suffix), "i32", type, value),
                        is_signed ? "  %r = sext i32 %w to i64\n" : "  %r = zext i32 %w to i64\n"});
      else
        body += in_halves(type, suffix, value, is_signed);
    }
    const std::string type = "i" + std::to_string(bits);
    define(type, name, joined({from.type, " %x"}), body + "  ret " + type + " %r\n");
  }

  static std::string saturating(bool is_signed, int bits, std::string_view suffix) {
    return joined({is_signed ? "fptosi.sat.i" : "fptoui.sat.i", std::to_string(bits), ".", suffix});
  }

  // The low bits of a saturating conversion to `width` bits.
  std::string narrowed(std::string_view type, std::string_view suffix, const std::string &value, bool is_signed,
                       int width, int bits) {
    const std::string wide = "i" + std::to_string(width);
    const std::string converted = call(saturating(is_signed, width, suffix), wide, std::string(type), value);
    if (width == bits) return "  %r = " + converted;
    return joined({"  %w = ", converted, "  %r = trunc ", wide, " %w to i", std::to_string(bits), "\n"});
  }

  std::string marking_nan(const Float &from, const std::string &name, int bits) {
    const std::string type = "i" + std::to_string(bits);
    const char *top = bits == 64 ? "-9223372036854775808" : "-2147483648";
    return joined({"  %w = ", call(name, type, std::string(from.type), "%x"), "  %nan = fcmp uno ", from.type,
                   " %x, %x\n  %r = select i1 %nan, ", type, " ", top, ", ", type, " %w\n"});
  }

  // AMD GPUs have no conversion to 64 bits: LLVM makes it of two to 32 bits (AMDGPUISelLowering, LowerFP_TO_INT64),
  // which saturate each for itself.
  std::string in_halves(const std::string &type, const std::string &suffix, const std::string &value, bool is_signed) {
    const bool flips = is_signed && suffix == "f32";
    std::string body = "  %t = " + call("trunc." + suffix, type, type, value);
    if (flips) body += "  %a = " + call("fabs." + suffix, type, type, "%t");
    const std::string size = flips ? "%a" : "%t";
    body += joined({"  %m = fmul ", type, " ", size, ", 0x3DF0000000000000\n"});  // 2^-32
    body += "  %h = " + call("floor." + suffix, type, type, "%m");
    declare("fma." + suffix, type, joined({type, ", ", type, ", ", type}));
    body += joined({"  %l = call ", type, " @llvm.fma.", suffix, "(", type, " %h, ", type, " 0xC1F0000000000000, ",
                    type, " ", size, ")\n"});  // -2^32
    body += "  %hi = " + call(saturating(is_signed && !flips, 32, suffix), "i32", type, "%h");
    body += "  %lo = " + call(saturating(false, 32, suffix), "i32", type, "%l");
    body +=
        "  %hw = zext i32 %hi to i64\n  %lw = zext i32 %lo to i64\n"
        "  %up = shl i64 %hw, 32\n  %both = or i64 %up, %lw\n";
    if (!flips) return body + "  %r = add i64 %both, 0\n";
    return body +
           "  %b = bitcast float %t to i32\n  %s = ashr i32 %b, 31\n  %sw = sext i32 %s to i64\n"
           "  %x1 = xor i64 %both, %sw\n  %r = sub i64 %x1, %sw\n";
  }

  void extremum(const Float &number, const std::string &intrinsic, const char *wins, const char *merge) {
    const std::string name = joined({intrinsic, ".", number.suffix}), type(number.type), bits(number.bits);
    if (!rename(name)) return;
    // Equal numbers differ in the sign of zero at most: the bits of both, merged, are the result.
    std::string body = R"(  %i = bitcast TYPE %a to BITS
  %j = bitcast TYPE %b to BITS
  %k = MERGE BITS %i, %j
  %m = bitcast BITS %k to TYPE
  %same = fcmp oeq TYPE %a, %b
  %wins = fcmp WINS TYPE %a, %b
  %nan = fcmp uno TYPE %b, %b
  %first = or i1 %wins, %nan
  %s = select i1 %first, TYPE %a, TYPE %b
  %r = select i1 %same, TYPE %m, TYPE %s
  ret TYPE %r
)";
    replace_all(body, "TYPE", type);
    replace_all(body, "BITS", bits);
    replace_all(body, "MERGE", merge);
    replace_all(body, "WINS", wins);
    define(type, name, type + " %a, " + type + " %b", body);
  }

  std::string text_, definitions_ = "\n";
  bool cuda_;
};

}  // namespace

std::string lower_for_gpu(const std::string &text, Dialect dialect) {
  return Lowering(Contraction(text).apply(), dialect).apply();
}

}  // namespace hiprtc
