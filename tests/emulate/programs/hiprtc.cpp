// Has a source compiled while it runs, as it would by hiprtc.
#include <hip/hiprtc.h>

#include <cstdio>

int main() {
  hiprtcProgram program = nullptr;
  hiprtcResult result = hiprtcCreateProgram(&program, "", "empty.hip", 0, nullptr, nullptr);
  if (result == HIPRTC_SUCCESS) result = hiprtcCompileProgram(program, 0, nullptr);
  std::printf("%s\n", hiprtcGetErrorString(result));
  return result != HIPRTC_SUCCESS;
}
