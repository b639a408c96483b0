// The exported functions of libhiprtc.so. No exception leaves them, and an invalid handle gives
// HIPRTC_ERROR_INVALID_PROGRAM, not a crash.
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "program.h"

#define API extern "C" __attribute__((visibility("default")))

namespace {

using hiprtc::Program;

// Values of hiprtcResult.
enum Result {
  success = 0,
  out_of_memory = 1,
  program_creation_failure = 2,
  invalid_input = 3,
  invalid_program = 4,
  invalid_option = 5,
  compilation = 6,
  builtin_operation_failure = 7,
  no_name_expressions_after_compilation = 8,
  no_lowered_names_before_compilation = 9,
  name_expression_not_valid = 10,
  internal_error = 11,
  linking = 100,
};

constexpr std::pair<Result, const char *> texts[] = {
    {success, "HIPRTC_SUCCESS"},
    {out_of_memory, "HIPRTC_ERROR_OUT_OF_MEMORY"},
    {program_creation_failure, "HIPRTC_ERROR_PROGRAM_CREATION_FAILURE"},
    {invalid_input, "HIPRTC_ERROR_INVALID_INPUT"},
    {invalid_program, "HIPRTC_ERROR_INVALID_PROGRAM"},
    {invalid_option, "HIPRTC_ERROR_INVALID_OPTION"},
    {compilation, "HIPRTC_ERROR_COMPILATION"},
    {builtin_operation_failure, "HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE"},
    {no_name_expressions_after_compilation, "HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION"},
    {no_lowered_names_before_compilation, "HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION"},
    {name_expression_not_valid, "HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID"},
    {internal_error, "HIPRTC_ERROR_INTERNAL_ERROR"},
    {linking, "HIPRTC_ERROR_LINKING"},
};

const char *text_of(int result) {
  for (const auto &[code, text] : texts)
    if (code == result) return text;
  return "invalid hiprtcResult";
}

struct Entry {
  explicit Entry(Program made) : program(std::move(made)) {}
  std::mutex mutex;  // one call at a time for one program; different programs compile in parallel
  Program program;
};

// Live programs by handle. A handle is a number that is never reused, not an address.
class Registry {
 public:
  void *add(Program program) {
    std::lock_guard<std::mutex> lock(mutex_);
    next_ += 16;
    void *handle = reinterpret_cast<void *>(next_);
    entries_.emplace(handle, std::make_shared<Entry>(std::move(program)));
    return handle;
  }
  std::shared_ptr<Entry> find(void *handle) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = entries_.find(handle);
    return found == entries_.end() ? nullptr : found->second;
  }
  bool remove(void *handle) {
    std::lock_guard<std::mutex> lock(mutex_);
    return entries_.erase(handle) != 0;
  }

 private:
  std::mutex mutex_;
  std::map<void *, std::shared_ptr<Entry>> entries_;
  std::uintptr_t next_ = 0x10000;
};

Registry &registry() {
  static Registry *programs = new Registry;  // outlives every other static object
  return *programs;
}

template <class Body>
int guarded(Body body) {
  try {
    return body();
  } catch (const std::bad_alloc &) {
    return out_of_memory;
  } catch (...) {
    return internal_error;
  }
}

// Calls body with the program of a handle while holding its lock.
template <class Body>
int with_program(void *handle, Body body) {
  return guarded([&]() -> int {
    std::shared_ptr<Entry> entry = registry().find(handle);
    if (entry == nullptr) return invalid_program;
    std::lock_guard<std::mutex> lock(entry->mutex);
    return body(entry->program);
  });
}

}  // namespace

API int hiprtcVersion(int *major, int *minor) {
  if (major == nullptr || minor == nullptr) return invalid_input;
  return guarded([&]() -> int {
    std::tie(*major, *minor) = hiprtc::version();
    return success;
  });
}

API const char *hiprtcGetErrorString(int result) { return text_of(result); }

API int hiprtcCreateProgram(void **handle, const char *source, const char *name, int header_count,
                            const char *const *headers, const char *const *include_names) {
  if (handle == nullptr || source == nullptr || header_count < 0) return invalid_input;
  if (header_count > 0 && (headers == nullptr || include_names == nullptr)) return invalid_input;
  return guarded([&]() -> int {
    std::vector<std::pair<std::string, std::string>> named;
    for (int i = 0; i < header_count; ++i) {
      if (headers[i] == nullptr || include_names[i] == nullptr) return invalid_input;
      named.emplace_back(headers[i], include_names[i]);
    }
    *handle = registry().add(Program(source, name != nullptr ? name : "", std::move(named)));
    return success;
  });
}

API int hiprtcDestroyProgram(void **handle) {
  if (handle == nullptr) return invalid_input;
  return guarded([&]() -> int {
    if (!registry().remove(*handle)) return invalid_program;
    *handle = nullptr;
    return success;
  });
}

API int hiprtcAddNameExpression(void *handle, const char *expression) {
  if (expression == nullptr || *expression == '\0') return invalid_input;
  return with_program(handle, [&](Program &program) -> int {
    if (program.compiled()) return no_name_expressions_after_compilation;
    program.add_name_expression(expression);
    return success;
  });
}

API int hiprtcCompileProgram(void *handle, int option_count, const char *const *options) {
  if (option_count < 0 || (option_count > 0 && options == nullptr)) return invalid_input;
  return with_program(handle, [&](Program &program) -> int {
    std::vector<std::string> words;
    for (int i = 0; i < option_count; ++i)
      if (options[i] != nullptr) words.emplace_back(options[i]);
    switch (program.compile(words)) {
      case Program::Outcome::compiled:
        return success;
      case Program::Outcome::bad_option:
        return invalid_option;
      case Program::Outcome::failed:
        break;
    }
    return compilation;
  });
}

API int hiprtcGetLoweredName(void *handle, const char *expression, const char **lowered) {
  if (expression == nullptr || lowered == nullptr) return invalid_input;
  return with_program(handle, [&](Program &program) -> int {
    if (!program.compiled()) return no_lowered_names_before_compilation;
    const std::string *name = program.lowered_name(expression);
    if (name == nullptr) return name_expression_not_valid;
    *lowered = name->c_str();  // lives as long as the program
    return success;
  });
}

API int hiprtcGetProgramLogSize(void *handle, size_t *size) {
  if (size == nullptr) return invalid_input;
  return with_program(handle, [&](Program &program) -> int {
    *size = program.log().size() + 1;
    return success;
  });
}

API int hiprtcGetProgramLog(void *handle, char *log) {
  if (log == nullptr) return invalid_input;
  return with_program(handle, [&](Program &program) -> int {
    std::memcpy(log, program.log().c_str(), program.log().size() + 1);
    return success;
  });
}

API int hiprtcGetCodeSize(void *handle, size_t *size) {
  if (size == nullptr) return invalid_input;
  return with_program(handle, [&](Program &program) -> int {
    if (!program.compiled()) return invalid_program;
    *size = program.code().size();
    return success;
  });
}

API int hiprtcGetCode(void *handle, char *code) {
  if (code == nullptr) return invalid_input;
  return with_program(handle, [&](Program &program) -> int {
    if (!program.compiled()) return invalid_program;
    std::memcpy(code, program.code().data(), program.code().size());
    return success;
  });
}
