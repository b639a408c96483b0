// libhiprtc.so of an emulated ROCm: nothing is compiled while a program runs. Every call says so once and fails.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define RTC_API extern "C" __attribute__((visibility("default")))
#define REFUSED(name)                        \
  RTC_API int name() {                       \
    static const int result = refuse(#name); \
    return result;                           \
  }

namespace {

constexpr int compilation_failed = 6;  // HIPRTC_ERROR_COMPILATION

int refuse(const char *function) {
  const char *const asked = std::getenv("HIPCPU_SAY");
  if (asked && std::strcmp(asked, "1") == 0)
    std::fprintf(stderr, "candle-parity: %s: hiprtc compiles nothing here; compile the source with hipcc\n", function);
  return compilation_failed;
}

}  // namespace

RTC_API int hiprtcVersion(int *major, int *minor) {
  *major = 9;
  *minor = 0;
  return 0;
}

RTC_API const char *hiprtcGetErrorString(int result) {
  if (result == 0) return "HIPRTC_SUCCESS";
  return result == compilation_failed ? "HIPRTC_ERROR_COMPILATION" : "an error that this hiprtc does not return";
}

REFUSED(hiprtcAddNameExpression)
REFUSED(hiprtcCompileProgram)
REFUSED(hiprtcCreateProgram)
REFUSED(hiprtcDestroyProgram)
REFUSED(hiprtcGetBitcode)
REFUSED(hiprtcGetBitcodeSize)
REFUSED(hiprtcGetCode)
REFUSED(hiprtcGetCodeSize)
REFUSED(hiprtcGetLoweredName)
REFUSED(hiprtcGetProgramLog)
REFUSED(hiprtcGetProgramLogSize)
REFUSED(hiprtcLinkAddData)
REFUSED(hiprtcLinkAddFile)
REFUSED(hiprtcLinkComplete)
REFUSED(hiprtcLinkCreate)
REFUSED(hiprtcLinkDestroy)
