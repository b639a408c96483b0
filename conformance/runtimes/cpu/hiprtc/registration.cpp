#include "registration.h"

#include <map>
#include <stdexcept>

#include "literal.h"

namespace hiprtc {
namespace {

constexpr char placeholder[] = "simt_rows_go_here";
constexpr char file_name[] = "\"<kernel registration>\"";

// A type alias, inside the kernel's own namespaces, for a function with the kernel's parameters.
std::string alias(const Kernel &kernel, const std::string &name) {
  std::string open, close;
  for (const std::string &space : kernel.namespaces) {
    open += "namespace " + space + " { ";
    close += " }";
  }
  return open + "using " + name + " = void (*)(" + without_defaults(kernel.parameters) + ");" + close + "\n";
}

}  // namespace

std::string registration_request() {
  return std::string("\n#line 1 ") + file_name + "\nSIMT_MODULE(" + placeholder + ")\n";
}

Registration register_kernels(const Scan &scan, const std::vector<std::string> &expressions) {
  std::map<std::string, int> uses;
  for (const Kernel &kernel : scan.kernels) ++uses[kernel.qualified()];

  Registration result;
  std::string aliases, names, addresses, rows;
  auto add = [&](const std::string &function, const std::string &file, unsigned line, const std::string &most) {
    const std::string index = std::to_string(result.count++);
    addresses += "reinterpret_cast<const void *>(" + function + "),\n";
    names += "{0},";
    rows += (rows.empty() ? "" : ",\n") + std::string("::simt::row<") + function + ">(::simt_names[" + index + "], " +
            literal(file) + ", " + std::to_string(line) + "u" + (most.empty() ? "" : ", " + most) + ")";
  };
  for (size_t i = 0; i < scan.kernels.size(); ++i) {
    const Kernel &kernel = scan.kernels[i];
    std::string function = "&" + kernel.qualified();
    if (uses[kernel.qualified()] > 1) {  // overloaded: the parameters choose
      const std::string name = "simt_signature_" + std::to_string(i);
      aliases += alias(kernel, name);
      Kernel in_same_place = kernel;
      in_same_place.name = name;
      function = "static_cast<" + in_same_place.qualified() + ">(" + function + ")";
    }
    add(function, kernel.file, kernel.line, kernel.most_threads.empty() ? "" : kernel.qualified(kernel.most_threads));
  }
  for (const std::string &expression : expressions) {
    size_t first = expression.find_first_not_of(" \t&");
    add("&" + (first == std::string::npos ? expression : expression.substr(first)), "", 0, "");
  }

  const size_t at = scan.source.rfind(placeholder);
  if (at == std::string::npos) throw std::runtime_error("the source ends inside a comment, a string or an #if");
  // All generated text is on its own lines after the user's last one.
  const size_t marker = scan.source.find(file_name);
  std::string tables = "\n" + aliases;
  for (size_t i = 0; i < scan.labels.size(); ++i)  // an inline function is only there where somebody names it
    tables += "__attribute__((used)) static void *const simt_label_" + std::to_string(i) +
              " = reinterpret_cast<void *>(&::" + scan.labels[i] + ");\n";
  if (result.count > 0)
    tables += "__attribute__((used, section(\"" + std::string(name_section) + "\"))) static const char simt_names[][" +
              std::to_string(name_width) + "] = {" + names + "};\n" + "__attribute__((used, section(\"" +
              address_section + "\"))) static const void *const simt_addresses[] = {\n" + addresses + "};\n";
  size_t after = at + sizeof placeholder - 1;
  if (rows.empty()) after = scan.source.find(',', after) + 1;  // no row, no comma
  const size_t line_end = scan.source.find('\n', marker);
  result.source = scan.source.substr(0, line_end + 1) + tables + scan.source.substr(line_end + 1, at - line_end - 1) +
                  rows + scan.source.substr(after);
  return result;
}

}  // namespace hiprtc
