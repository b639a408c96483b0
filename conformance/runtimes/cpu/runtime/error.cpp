#include "error.h"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <iterator>

namespace simt {
namespace {

struct Text {
  int code;
  const char *name;
  const char *text;
};

constexpr Text texts[] = {
    {Success, "hipSuccess", "no error"},
    {InvalidValue, "hipErrorInvalidValue", "invalid argument"},
    {OutOfMemory, "hipErrorOutOfMemory", "out of memory"},
    {3, "hipErrorNotInitialized", "initialization error"},
    {4, "hipErrorDeinitialized", "driver shutting down"},
    {InvalidConfiguration, "hipErrorInvalidConfiguration", "invalid configuration argument"},
    {InvalidSymbol, "hipErrorInvalidSymbol", "invalid device symbol"},
    {InvalidDevicePointer, "hipErrorInvalidDevicePointer", "invalid device pointer"},
    {InvalidMemcpyDirection, "hipErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {InsufficientDriver, "hipErrorInsufficientDriver", "the driver is too old for this runtime"},
    {InvalidDeviceFunction, "hipErrorInvalidDeviceFunction", "invalid device function"},
    {NoDevice, "hipErrorNoDevice", "no device is detected"},
    {InvalidDevice, "hipErrorInvalidDevice", "invalid device ordinal"},
    {InvalidImage, "hipErrorInvalidImage", "device kernel image is invalid"},
    {201, "hipErrorInvalidContext", "invalid device context"},
    {NoBinaryForGpu, "hipErrorNoBinaryForGpu", "no kernel image is available for execution on the device"},
    {214, "hipErrorECCNotCorrectable", "an uncorrectable ECC error"},
    {217, "hipErrorPeerAccessUnsupported", "peer access is not supported between these devices"},
    {InvalidKernelFile, "hipErrorInvalidKernelFile", "the kernel's code cannot be compiled for the device"},
    {300, "hipErrorInvalidSource", "invalid source"},
    {FileNotFound, "hipErrorFileNotFound", "file not found"},
    {302, "hipErrorSharedObjectSymbolNotFound", "a symbol of a shared object was not found"},
    {303, "hipErrorSharedObjectInitFailed", "a shared object cannot be initialised"},
    {304, "hipErrorOperatingSystem", "a call of the operating system failed"},
    {InvalidHandle, "hipErrorInvalidHandle", "invalid resource handle"},
    {401, "hipErrorIllegalState", "a resource is not in the state that the call needs"},
    {NotFound, "hipErrorNotFound", "named symbol not found"},
    {NotReady, "hipErrorNotReady", "device not ready"},
    {IllegalAddress, "hipErrorIllegalAddress", "an illegal memory access was encountered"},
    {701, "hipErrorLaunchOutOfResources", "too many resources requested for launch"},
    {LaunchTimeOut, "hipErrorLaunchTimeOut", "the launch timed out and was terminated"},
    {704, "hipErrorPeerAccessAlreadyEnabled", "peer access is enabled already"},
    {705, "hipErrorPeerAccessNotEnabled", "peer access has not been enabled"},
    {708, "hipErrorSetOnActiveProcess", "cannot be set once the device is in use"},
    {709, "hipErrorContextIsDestroyed", "the device's context is gone"},
    {AssertFailed, "hipErrorAssert", "device-side assert triggered"},
    {712, "hipErrorHostMemoryAlreadyRegistered", "the host memory is registered already"},
    {713, "hipErrorHostMemoryNotRegistered", "the host memory has not been registered"},
    {LaunchFailure, "hipErrorLaunchFailure", "unspecified launch failure"},
    {720, "hipErrorCooperativeLaunchTooLarge", "too many blocks for a cooperative launch"},
    {NotSupported, "hipErrorNotSupported", "operation not supported"},
    {Unknown, "hipErrorUnknown", "unknown error"},
};

const Text &text_of(int code) {
  const auto *it = std::find_if(std::begin(texts), std::end(texts), [code](const Text &t) { return t.code == code; });
  return it == std::end(texts) ? *std::prev(std::end(texts)) : *it;
}

struct LastError {
  Error code = Success;         // what hipGetLastError returns next
  Error failed_with = Success;  // what `message` is about
  std::array<char, 2048> message{};
};

// Reached through a pointer: static thread-local storage is scarce (glibc keeps about 1.6 KiB for libraries
// loaded later), and no destructor may run at thread exit while Python still asks for the text.
LastError &thread_last_error() {
  static thread_local LastError *error = nullptr;
  if (!error) error = new LastError;
  return *error;
}

}  // namespace

Error fail(Error code, const char *format, ...) {
  std::va_list args;
  va_start(args, format);
  LastError &last = thread_last_error();
  std::vsnprintf(last.message.data(), last.message.size(), format, args);
  va_end(args);
  last.code = last.failed_with = code;
  return code;
}

std::string pointer_text(const void *pointer) {
  constexpr std::uintptr_t page = 4096;
  const auto number = reinterpret_cast<std::uintptr_t>(pointer);
  if (number >= page) return "a pointer";
  char text[16];
  std::snprintf(text, sizeof text, "%#lx", static_cast<unsigned long>(number));
  return text;
}

Error last_error() { return thread_last_error().code; }

Error clear_last_error() {
  LastError &last = thread_last_error();
  const Error code = last.code;
  last.code = Success;
  return code;
}

const char *last_message() { return thread_last_error().message.data(); }

const char *error_name(int code) { return text_of(code).name; }

const char *error_string(int code) {
  LastError &last = thread_last_error();
  return code != Success && code == last.failed_with ? last.message.data() : text_of(code).text;
}

}  // namespace simt
