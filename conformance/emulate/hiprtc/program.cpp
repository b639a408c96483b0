// hiprtc of an emulated ROCm: the installation's own hipcc, which compiles in a process of its own.
#include "program.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string_view>

#include "literal.h"
#include "lowered_names.h"
#include "process.h"

namespace hiprtc {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

namespace {

// What hiprtc has for every source without an #include. HIP 5 has warpSize only where it is included by name.
constexpr const char *prelude =
    "#include <hip/hip_runtime.h>\n"
    "#include <hip/hip_fp16.h>\n"
    "#if __has_include(<hip/amd_detail/amd_warp_functions.h>)\n"
    "#include <hip/amd_detail/amd_warp_functions.h>\n"
    "#endif\n";

const std::string pointer_to_name = "__candle_parity_name_";

// Options of NVRTC that hiprtc takes too, and what clang calls them.
struct Spelling {
  std::string_view given, clang;
};
constexpr Spelling spellings[] = {
    {"--gpu-architecture=", "--offload-arch="},
    {"-arch=", "--offload-arch="},
    {"--use_fast_math", "-ffast-math"},
    {"-use_fast_math", "-ffast-math"},
    {"--define-macro=", "-D"},
    {"--include-path=", "-I"},
    {"--pre-include=", "-include"},
};

std::string as_clang_says(const std::string &option) {
  for (const auto &[given, clang] : spellings)
    if (option.starts_with(given)) return std::string(clang) + option.substr(given.size());
  return option;
}

// The hipcc next to this library, as the program has found it; where it has found the library behind the link, the
// one that HIP_PATH names.
std::string hipcc() {
  Dl_info found{};
  if (dladdr(reinterpret_cast<const void *>(&version), &found) && found.dli_fname) {
    const fs::path beside = fs::path(found.dli_fname).parent_path().parent_path() / "bin" / "hipcc";
    if (access(beside.c_str(), X_OK) == 0) return beside.string();
  }
  const char *const root = std::getenv("HIP_PATH");
  if (root && *root) return (fs::path(root) / "bin" / "hipcc").string();
  throw std::runtime_error("hiprtc does not find its compiler; start the program by candle-parity emulate");
}

// Writes a header below `folder`; its name may have folders, but may not lead out of it.
void write_header(const std::string &folder, const std::string &name, const std::string &content) {
  const fs::path relative = fs::path(name).lexically_normal();
  if (name.empty() || relative.is_absolute() || *relative.begin() == "..")
    throw std::runtime_error("the header name " + literal(name) + " is not a relative path");
  const fs::path path = fs::path(folder) / relative;
  fs::create_directories(path.parent_path());
  write_file(path.string(), content);
}

// Lines that make each expression's address part of the code object, which has the compiler instantiate it.
std::string pointers_to(const Words &expressions) {
  std::string lines = "\n#line 1 \"a name expression of hiprtc\"\n";
  for (std::size_t n = 0; n < expressions.size(); ++n)
    lines += "extern \"C\" __device__ __attribute__((used)) const void *const " + pointer_to_name + std::to_string(n) +
             " = (const void *)(" + expressions[n] + ");\n";
  return expressions.empty() ? "" : lines;
}

}  // namespace

std::pair<int, int> version() { return {9, 0}; }

Program::Outcome Program::build(const Words &options) {
  const TemporaryFolder folder;
  const std::string headers = folder.file("headers"), source = folder.file("source.hip");
  fs::create_directory(headers);
  for (const auto &[content, name] : headers_) write_header(headers, name, content);
  write_file(folder.file("prelude.h"), prelude);
  write_file(source, "#line 1 " + literal(name_) + "\n" + source_ + pointers_to(expressions_));
  Words command = {hipcc(), "--offload-device-only", "--no-gpu-bundle-output", "-O3", "-std=c++17"};
  for (const std::string &option : options) command.push_back(as_clang_says(option));
  for (const std::string &word : {std::string("-I"), headers, std::string("-D__HIPCC_RTC__=1"), std::string("-include"),
                                  folder.file("prelude.h"), std::string("-o"), folder.file("code.co"), source})
    command.push_back(word);
  const Finished done = run(command, folder.file("output"));
  log_ = done.output;
  replace_all(log_, headers + "/", "");
  replace_all(log_, folder.path() + "/", "");
  if (!done.started || done.status != 0) return Outcome::failed;
  code_ = read_file(folder.file("code.co"));
  const Words names = names_pointed_to(code_, pointer_to_name, expressions_.size());
  for (std::size_t n = 0; n < names.size(); ++n) lowered_[expressions_[n]] = names[n];
  return Outcome::compiled;
}

}  // namespace hiprtc
