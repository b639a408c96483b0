// Functions of hiprtc that are not emulated: linking, and bitcode, which is of use for linking alone. Each says so
// once.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define REFUSED(name)                                            \
  extern "C" __attribute__((visibility("default"))) int name() { \
    static const int result = refuse(#name);                     \
    return result;                                               \
  }

namespace {

constexpr int linking_failed = 100;  // HIPRTC_ERROR_LINKING

int refuse(const char *function) {
  const char *const asked = std::getenv("HIPCPU_SAY");
  if (asked && std::strcmp(asked, "1") == 0)
    std::fprintf(stderr, "candle-parity: %s is not emulated by candle-parity\n", function);
  return linking_failed;
}

}  // namespace

REFUSED(hiprtcGetBitcode)
REFUSED(hiprtcGetBitcodeSize)
REFUSED(hiprtcLinkAddData)
REFUSED(hiprtcLinkAddFile)
REFUSED(hiprtcLinkComplete)
REFUSED(hiprtcLinkCreate)
REFUSED(hiprtcLinkDestroy)
