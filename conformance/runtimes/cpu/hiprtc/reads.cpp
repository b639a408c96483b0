#include "reads.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "process.h"

namespace hiprtc {
namespace {

constexpr char not_listed[] = "?";

// The content of a file, "" if there is none.
std::string content_of(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream content;
  if (stream) content << stream.rdbuf();
  return std::move(content).str();
}

}  // namespace

Reads::Reads(std::string folder, const Toolchain &toolchain)
    : folder_(std::move(folder)), include_(toolchain.include), forwards_(toolchain.forwards), clang_(toolchain.clang) {
  if (const char *path = std::getenv("HIPCPU_READS")) output_ = path;
}

std::vector<std::string> Reads::preprocessor_flags() const {
  if (output_.empty()) return {};
  const std::string rule = folder_ + "/reads";
  if (!clang_) return {"-MD", "-MF", rule, "-MT", "reads"};
  // Spelled for the compiler proper: zig keeps -MD to itself.
  return {"-Xclang", "-dependency-file", "-Xclang", rule,   "-Xclang", "-sys-header-deps",
          "-Xclang", "-MT",              "-Xclang", "reads"};
}

std::vector<std::string> Reads::assembler_flags() const {
  if (output_.empty() || clang_) return {};
  return {"-Wa,--MD," + folder_ + "/assembled"};
}

void Reads::report() const {
  if (output_.empty()) return;
  const std::string rule = content_of(folder_ + "/reads");
  append(rule.empty() ? not_listed : rule);
}

void Reads::report_assembler() const {
  if (output_.empty()) return;
  // TARGET: INPUT, and what the assembly names.
  std::istringstream words(content_of(folder_ + "/assembled"));
  size_t files = 0;
  for (std::string word; words >> word;)
    if (word != "\\" && word.back() != ':') ++files;
  if (files > 1) append(not_listed);
}

void Reads::report_assembly(const std::string &module) const {
  if (!output_.empty() && assembly_may_read(module)) append(not_listed);
}

void Reads::append(const std::string &rule) const {
  std::ofstream stream(output_, std::ios::binary | std::ios::app);
  for (const std::string &part : {folder_, include_, forwards_, rule}) stream << part << '\0';
  stream.close();
  if (!stream) throw std::runtime_error("cannot write " + output_ + " (HIPCPU_READS)");
}

bool assembly_may_read(const std::string &module) {
  std::istringstream lines(module);
  for (std::string line; std::getline(lines, line);) {
    const size_t at = std::min(line.find(" asm "), line.find("module asm"));
    if (at == std::string::npos) continue;
    std::string text = line.substr(at);
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
    for (std::string_view word : {"incbin", "include", "macro", ".irp", ".rep", ".$"})
      if (text.find(word) != std::string::npos) return true;
  }
  return false;
}

}  // namespace hiprtc
