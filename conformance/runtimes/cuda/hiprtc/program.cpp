#include "program.h"

#include <stdexcept>

#include "compiler.h"
#include "options.h"

namespace hiprtc {
namespace {

using nvrtc::Compiler;
using Words = std::vector<std::string>;

// All others are HIP, unless -x says otherwise.
bool is_cuda(const std::string &name) { return name.size() > 3 && name.compare(name.size() - 3, 3, ".cu") == 0; }

// NVRTC looks for includes next to the source's name first, as if that were a file. It is only a label, and headers in
// the working directory would be found: so the label names a folder that does not exist.
const std::string source_folder = "/candle-parity-source/";

std::string without_source_folder(std::string text) {
  for (std::size_t at = text.find(source_folder); at != std::string::npos; at = text.find(source_folder, at)) {
    text.erase(at, source_folder.size());
  }
  return text;
}

std::vector<const char *> pointers(const Words &words) {
  std::vector<const char *> result;
  for (const std::string &word : words) result.push_back(word.c_str());
  return result;
}

// NVRTC's program, destroyed with the scope.
class Handle {
 public:
  Handle(const Compiler &compiler, const std::string &source, const std::string &name, const Words &headers,
         const Words &names)
      : compiler_(compiler) {
    const int result =
        compiler.nvrtcCreateProgram(&program_, source.c_str(), name.c_str(), static_cast<int>(headers.size()),
                                    pointers(headers).data(), pointers(names).data());
    check("nvrtcCreateProgram", result);
  }
  Handle(const Handle &) = delete;
  Handle &operator=(const Handle &) = delete;
  ~Handle() { compiler_.nvrtcDestroyProgram(&program_); }

  void *get() const { return program_; }
  void check(const char *call, int result) const {
    if (result != 0) throw std::runtime_error(std::string(call) + " returned " + compiler_.nvrtcGetErrorString(result));
  }
  // What a pair of "size" and "content" functions gives.
  template <class Size, class Content>
  std::string read(const char *call, Size size_of, Content content_of) const {
    std::size_t bytes = 0;
    check(call, size_of(program_, &bytes));
    std::string text(bytes, '\0');
    if (bytes > 0) check(call, content_of(program_, text.data()));
    return text;
  }

 private:
  const Compiler &compiler_;
  void *program_ = nullptr;
};

}  // namespace

std::pair<int, int> version() {
  const Compiler *compiler = nvrtc::open_compiler().compiler;
  return compiler != nullptr ? std::pair(compiler->major, compiler->minor) : std::pair(0, 0);
}

Program::Outcome Program::build(const Words &words) {
  nvrtc::Options options = nvrtc::parse_options(words);
  if (!options.bad.empty()) {
    log_ = "unknown option '" + options.bad + "'\n";
    return Outcome::bad_option;
  }
  const nvrtc::Opened &opened = nvrtc::open_compiler();
  if (opened.compiler == nullptr) throw std::runtime_error(opened.why);
  const Compiler &compiler = *opened.compiler;

  const std::string architecture =
      options.architecture.empty() ? nvrtc::architecture_of_device() : options.architecture;
  const bool cuda = options.language.empty() ? is_cuda(name_) : options.language != "hip";
  const std::string standard = !options.standard.empty() ? options.standard : cuda ? "c++17" : "c++20";
  // Functions without a qualifier are device functions, as constexpr ones are for hipcc and nvcc's usual options.
  Words all = {"--gpu-architecture=" + architecture, "--std=" + standard, "--device-as-default-execution-space"};
  // hiprtc knows HIP's functions without an include. HIP sources may hold pragmas for clang, which NVRTC would warn
  // about (diagnostic 161).
  if (!cuda) all.insert(all.end(), {"--pre-include=hip/hip_runtime.h", "--diag-suppress=161"});
  all.insert(all.end(), options.words.begin(), options.words.end());
  for (const std::string &folder : nvrtc::include_folders()) all.push_back("-I" + folder);

  Words contents, names;
  for (const auto &[content, name] : headers_) {
    contents.push_back(content);
    names.push_back(name);
  }
  const Handle program(compiler, source_, source_folder + name_, contents, names);
  for (const std::string &expression : expressions_)
    program.check("nvrtcAddNameExpression", compiler.nvrtcAddNameExpression(program.get(), expression.c_str()));
  const int result = compiler.nvrtcCompileProgram(program.get(), static_cast<int>(all.size()), pointers(all).data());
  log_ = without_source_folder(
      program.read("nvrtcGetProgramLog", compiler.nvrtcGetProgramLogSize, compiler.nvrtcGetProgramLog));
  while (!log_.empty() && log_.back() == '\0') log_.pop_back();
  if (result != 0) {
    if (log_.empty()) log_ = std::string("nvrtcCompileProgram returned ") + compiler.nvrtcGetErrorString(result) + "\n";
    return Outcome::failed;
  }
  code_ = program.read("nvrtcGetCUBIN", compiler.nvrtcGetCUBINSize, compiler.nvrtcGetCUBIN);
  for (const std::string &expression : expressions_) {
    const char *lowered = nullptr;
    program.check("nvrtcGetLoweredName", compiler.nvrtcGetLoweredName(program.get(), expression.c_str(), &lowered));
    lowered_[expression] = lowered;
  }
  return Outcome::compiled;
}

}  // namespace hiprtc
