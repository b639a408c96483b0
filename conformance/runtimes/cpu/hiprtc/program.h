// One hiprtc program: source, headers and name expressions in; module, lowered names and log out. Each runtime
// has its own version() and build().
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace hiprtc {

// The version that hiprtcVersion returns: major, minor.
std::pair<int, int> version();

class Program {
 public:
  // `name` is what messages and __FILE__ call the source; headers are (content, name to include it by) pairs.
  Program(std::string source, std::string name, std::vector<std::pair<std::string, std::string>> headers);

  void add_name_expression(const std::string &expression) { expressions_.push_back(expression); }

  enum class Outcome { compiled, failed, bad_option };
  Outcome compile(const std::vector<std::string> &options);

  bool compiled() const { return compiled_; }
  const std::string &log() const { return log_; }
  const std::string &code() const { return code_; }
  // Symbol of a name expression that was added before compiling; null if it was not, or nothing is compiled.
  const std::string *lowered_name(const std::string &expression) const;

 private:
  // Sets log, code and lowered names, all empty before; may throw std::exception, whose text then ends the log.
  Outcome build(const std::vector<std::string> &options);
  Outcome attempt(const std::vector<std::string> &options);  // of the cpu runtime's build

  std::string source_, name_;
  std::vector<std::pair<std::string, std::string>> headers_;
  std::vector<std::string> expressions_;
  bool compiled_ = false;
  std::string log_, code_;
  std::map<std::string, std::string> lowered_;
};

}  // namespace hiprtc
