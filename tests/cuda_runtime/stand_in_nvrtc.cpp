// A libnvrtc that compiles nothing: options are written down, and the "cubin" is the text after "// " of every line
// that names a kernel or a variable (see stand_in_driver.cpp). A source with the word mistake does not compile.
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "stand_in.h"

namespace {

struct Program {
  std::string source, name, log, code;
  std::vector<std::string> expressions;
};

int major_version = 12, minor_version = 8;

Program &of(void *program) { return *static_cast<Program *>(program); }

int give(const std::string &text, std::size_t *bytes) {
  *bytes = text.size() + 1;
  return 0;
}

}  // namespace

API void stand_in_version(int major, int minor) {
  major_version = major;
  minor_version = minor;
}

API int nvrtcVersion(int *major, int *minor) {
  *major = major_version;
  *minor = minor_version;
  return 0;
}
API const char *nvrtcGetErrorString(int result) { return result == 6 ? "NVRTC_ERROR_COMPILATION" : "NVRTC_SUCCESS"; }
API int nvrtcCreateProgram(void **program, const char *source, const char *name, int count, const char *const *headers,
                           const char *const *names) {
  *program = new Program{source, name, "", "", {}};
  calls += std::string("create ") + name + "\n";
  for (int i = 0; i < count; ++i) calls += std::string("header ") + names[i] + " " + headers[i] + "\n";
  return 0;
}
API int nvrtcDestroyProgram(void **program) {
  delete &of(*program);
  *program = nullptr;
  calls += "destroy\n";
  return 0;
}
API int nvrtcAddNameExpression(void *program, const char *expression) {
  of(program).expressions.emplace_back(expression);
  return 0;
}
API int nvrtcCompileProgram(void *program, int count, const char *const *options) {
  for (int i = 0; i < count; ++i) calls += std::string("option ") + options[i] + "\n";
  std::istringstream lines(of(program).source);
  for (std::string line; std::getline(lines, line);)
    if (line.rfind("// kernel ", 0) == 0 || line.rfind("// variable ", 0) == 0)
      of(program).code += line.substr(3) + "\n";
  if (of(program).source.find("mistake") == std::string::npos) return 0;
  of(program).log = of(program).name + "(3): error: a mistake\n";
  return 6;
}
API int nvrtcGetLoweredName(void *program, const char *expression, const char **lowered) {
  for (std::string &known : of(program).expressions) {
    if (known != expression) continue;
    known = "_Z" + known;
    *lowered = known.c_str();
    return 0;
  }
  return 10;
}
API int nvrtcGetProgramLogSize(void *program, std::size_t *bytes) { return give(of(program).log, bytes); }
API int nvrtcGetProgramLog(void *program, char *log) { return std::strcpy(log, of(program).log.c_str()), 0; }
API int nvrtcGetCUBINSize(void *program, std::size_t *bytes) { return give(of(program).code, bytes); }
API int nvrtcGetCUBIN(void *program, char *code) { return std::strcpy(code, of(program).code.c_str()), 0; }
