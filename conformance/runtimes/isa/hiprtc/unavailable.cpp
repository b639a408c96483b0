// libhiprtc.so of the isa runtime, whose kernels are compiled by AMD's clang in a process of its own: a version, and
// nothing that compiles.
#define RTC_API extern "C" __attribute__((visibility("default")))

namespace {
constexpr int compilation_failed = 6;  // HIPRTC_ERROR_COMPILATION
}

RTC_API int hiprtcVersion(int *major, int *minor) {
  *major = 9;
  *minor = 0;
  return 0;
}
RTC_API int hiprtcCreateProgram(void **, const char *, const char *, int, const char **, const char **) {
  return compilation_failed;
}
