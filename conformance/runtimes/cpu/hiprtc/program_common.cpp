// What a program does in every runtime; the cuda runtime compiles this file too.
#include <exception>

#include "program.h"

namespace hiprtc {

Program::Program(std::string source, std::string name, std::vector<std::pair<std::string, std::string>> headers)
    : source_(std::move(source)), name_(name.empty() ? "hip_program" : std::move(name)), headers_(std::move(headers)) {}

const std::string *Program::lowered_name(const std::string &expression) const {
  auto found = lowered_.find(expression);
  return found == lowered_.end() ? nullptr : &found->second;
}

Program::Outcome Program::compile(const std::vector<std::string> &options) {
  compiled_ = false;
  log_.clear();
  code_.clear();
  lowered_.clear();
  try {
    const Outcome outcome = build(options);
    compiled_ = outcome == Outcome::compiled;
    return outcome;
  } catch (const std::exception &error) {
    log_ += std::string(error.what()) + "\n";
    return Outcome::failed;
  }
}

}  // namespace hiprtc
