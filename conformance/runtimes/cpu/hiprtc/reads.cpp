#include "reads.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <sstream>
#include <stdexcept>

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

bool line_may_read(std::string line) {
  std::transform(line.begin(), line.end(), line.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::initializer_list<const char *> words = {"incbin", "include", "macro", ".irp", ".rep", ".$"};
  return std::any_of(words.begin(), words.end(),
                     [&](const char *word) { return line.find(word) != std::string::npos; });
}

}  // namespace

Reads::Reads(std::string folder, const Toolchain &toolchain)
    : folder_(std::move(folder)), include_(toolchain.include), forwards_(toolchain.forwards) {
  if (const char *path = std::getenv("HIPCPU_READS")) output_ = path;
}

std::vector<std::string> Reads::preprocessor_flags() const {
  if (output_.empty()) return {};
  return {"-MD", "-MF", folder_ + "/reads", "-MT", "reads"};
}

void Reads::report() const {
  if (output_.empty()) return;
  const std::string rule = content_of(folder_ + "/reads");
  append(rule.empty() ? not_listed : rule);
}

void Reads::report_module(const std::string &module) const {
  if (!output_.empty() && module_may_read(module)) append(not_listed);
}

void Reads::report_assembly(const std::string &assembly) const {
  if (!output_.empty() && assembly_may_read(assembly)) append(not_listed);
}

void Reads::append(const std::string &rule) const {
  std::ofstream stream(output_, std::ios::binary | std::ios::app);
  for (const std::string &part : {folder_, include_, forwards_, rule}) stream << part << '\0';
  stream.close();
  if (!stream) throw std::runtime_error("cannot write " + output_ + " (HIPCPU_READS)");
}

bool module_may_read(const std::string &module) {
  std::istringstream lines(module);
  for (std::string line; std::getline(lines, line);) {
    const size_t at = std::min(line.find(" asm "), line.find("module asm"));
    if (at != std::string::npos && line_may_read(line.substr(at))) return true;
  }
  return false;
}

bool assembly_may_read(const std::string &assembly) {
  std::istringstream lines(assembly);
  bool own = false;  // between #APP and #NO_APP is what the source says
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("#APP", 0) == 0) own = true;
    if (line.rfind("#NO_APP", 0) == 0) own = false;
    if (own && line_may_read(line)) return true;
  }
  return false;
}

}  // namespace hiprtc
