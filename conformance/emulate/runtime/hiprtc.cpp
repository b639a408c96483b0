// The functions of hiprtc by libamdhip64, which had them up to ROCm 6: a program that was linked with that library
// alone looks for them here. They are libhiprtc's.
#include <dlfcn.h>

#include "api.h"

using namespace simt;

namespace {

void *of_hiprtc(const char *name) {
  static void *const library = dlopen("libhiprtc.so", RTLD_NOW | RTLD_LOCAL);
  return library ? dlsym(library, name) : nullptr;
}

constexpr int internal_error = 11;  // HIPRTC_ERROR_INTERNAL_ERROR

template <class... Arguments>
int pass_on(const char *name, Arguments... arguments) {
  using Function = int(Arguments...);
  auto *const function = reinterpret_cast<Function *>(of_hiprtc(name));
  return function ? function(arguments...) : internal_error;
}

}  // namespace

#define PASS_ON_1(name, A) \
  SIMT_API int name(A a) { return pass_on(#name, a); }
#define PASS_ON_2(name, A, B) \
  SIMT_API int name(A a, B b) { return pass_on(#name, a, b); }
#define PASS_ON_3(name, A, B, C) \
  SIMT_API int name(A a, B b, C c) { return pass_on(#name, a, b, c); }

PASS_ON_2(hiprtcVersion, int *, int *)
PASS_ON_1(hiprtcDestroyProgram, void **)
PASS_ON_2(hiprtcAddNameExpression, void *, const char *)
PASS_ON_3(hiprtcCompileProgram, void *, int, const char *const *)
PASS_ON_3(hiprtcGetLoweredName, void *, const char *, const char **)
PASS_ON_2(hiprtcGetProgramLogSize, void *, std::size_t *)
PASS_ON_2(hiprtcGetProgramLog, void *, char *)
PASS_ON_2(hiprtcGetCodeSize, void *, std::size_t *)
PASS_ON_2(hiprtcGetCode, void *, char *)
PASS_ON_2(hiprtcGetBitcodeSize, void *, std::size_t *)
PASS_ON_2(hiprtcGetBitcode, void *, char *)
PASS_ON_3(hiprtcLinkComplete, void *, void **, std::size_t *)
PASS_ON_1(hiprtcLinkDestroy, void *)
SIMT_API int hiprtcCreateProgram(void **program, const char *source, const char *name, int count,
                                 const char *const *headers, const char *const *names) {
  return pass_on("hiprtcCreateProgram", program, source, name, count, headers, names);
}
SIMT_API int hiprtcLinkCreate(unsigned count, void *options, void **values, void **state) {
  return pass_on("hiprtcLinkCreate", count, options, values, state);
}
SIMT_API int hiprtcLinkAddFile(void *state, int kind, const char *path, unsigned count, void *options, void **values) {
  return pass_on("hiprtcLinkAddFile", state, kind, path, count, options, values);
}
SIMT_API int hiprtcLinkAddData(void *state, int kind, void *image, std::size_t bytes, const char *name, unsigned count,
                               void *options, void **values) {
  return pass_on("hiprtcLinkAddData", state, kind, image, bytes, name, count, options, values);
}
SIMT_API const char *hiprtcGetErrorString(int code) {
  auto *const function = reinterpret_cast<const char *(*)(int)>(of_hiprtc("hiprtcGetErrorString"));
  return function ? function(code) : "HIPRTC_ERROR_INTERNAL_ERROR";
}
