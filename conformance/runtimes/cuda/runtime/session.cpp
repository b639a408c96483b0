#include "session.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <map>
#include <mutex>

namespace cuda {
namespace {

using namespace simt;

// CUresult and hipError_t agree on most numbers. Where HIP has none, the nearest is used; all else is hipErrorUnknown.
constexpr int same_numbers[] = {0,   1,   2,   3,   4,   100, 101, 200, 201, 209, 214, 217,
                                218, 300, 301, 302, 303, 304, 400, 401, 500, 600, 700, 701,
                                702, 704, 705, 708, 709, 710, 712, 713, 719, 720, 801};
constexpr struct {
  int result;
  Error code;
} other_numbers[] = {
    {34, InsufficientDriver},   // STUB_LIBRARY
    {36, InsufficientDriver},   // CALL_REQUIRES_NEWER_DRIVER
    {46, NoDevice},             // DEVICE_UNAVAILABLE
    {221, InvalidKernelFile},   // JIT_COMPILER_NOT_FOUND
    {222, InsufficientDriver},  // UNSUPPORTED_PTX_VERSION
    {223, InvalidKernelFile},   // JIT_COMPILATION_DISABLED
    {714, LaunchFailure},       // HARDWARE_STACK_ERROR
    {715, LaunchFailure},       // ILLEGAL_INSTRUCTION
    {716, LaunchFailure},       // MISALIGNED_ADDRESS
    {717, LaunchFailure},       // INVALID_ADDRESS_SPACE
    {718, LaunchFailure},       // INVALID_PC
    {803, InsufficientDriver},  // SYSTEM_DRIVER_MISMATCH
    {804, InsufficientDriver},  // COMPAT_NOT_SUPPORTED_ON_DEVICE
};

// Errors that destroy the context: 214 is an ECC error, the others are caused by kernels.
bool is_fault(int result) {
  return result == 700 || result == 702 || result == 710 || (result >= 714 && result <= 719);
}

struct State {
  std::mutex mutex;
  std::map<int, void *> contexts;  // primary contexts by device
  Launch last{};
  unsigned long resets = 0;
  unsigned long pending = 0;  // launches since the last synchronisation
  std::string lost;           // the message of the first fault
};

State &state() {
  static State &instance = *new State;
  return instance;
}

// Trivially destructible: nothing may run when a thread ends.
struct ThreadState {
  int device = 0;
  bool entered = false;
  unsigned long resets = 0;  // value of State::resets when the thread entered
};
ThreadState &thread_state() {
  static thread_local ThreadState thread;
  return thread;
}

std::string fault_text(const std::string &cause) {
  State &s = state();
  const std::lock_guard lock(s.mutex);
  if (!s.lost.empty()) return "the device's context was lost by an earlier fault (" + s.lost + ")";
  std::string culprit = "a launch of this process";
  if (s.pending == 1) culprit = "kernel " + describe(s.last);
  if (s.pending > 1)
    culprit = "one of " + std::to_string(s.pending) + " launches since the last synchronisation, the last of them " +
              describe(s.last);
  s.lost = culprit + ": " + cause;
  return s.lost + "; the device's context is lost: only a new process can use the device again";
}

}  // namespace

int device_of_thread() { return thread_state().device; }

Error check_device(const Driver &cu, const char *call, int device) {
  int count = 0;
  if (const Error error = to_error(cu, call, cu.cuDeviceGetCount(&count))) return error;
  if (device >= 0 && device < count) return Success;
  return fail(count ? InvalidDevice : NoDevice, "%s: there is no device %d; the driver shows %d", call, device, count);
}

Error use_device(const Driver &cu, const char *call, int device) {
  if (const Error error = check_device(cu, call, device)) return error;
  thread_state() = ThreadState{device};
  return enter(cu, call);
}

Error enter(const Driver &cu, const char *call) {
  ThreadState &thread = thread_state();
  State &s = state();
  const std::lock_guard lock(s.mutex);
  if (thread.entered && thread.resets == s.resets) return Success;
  void *&context = s.contexts[thread.device];
  if (context == nullptr) {
    int device = 0;
    int result = cu.cuDeviceGet(&device, thread.device);
    if (result == 0) result = cu.cuDevicePrimaryCtxRetain(&context, device);
    if (result != 0) {
      context = nullptr;
      return fail(hip_code(result), "%s: device %d cannot be opened: %s", call, thread.device,
                  error_text(cu, result).c_str());
    }
  }
  if (const int result = cu.cuCtxSetCurrent(context))
    return fail(hip_code(result), "%s: device %d cannot be used: %s", call, thread.device,
                error_text(cu, result).c_str());
  thread.entered = true;
  thread.resets = s.resets;
  return Success;
}

void remove_context(int device) {
  State &s = state();
  const std::lock_guard lock(s.mutex);
  s.contexts.erase(device);
  ++s.resets;
  s.pending = 0;
  s.lost.clear();
}

int attribute(const Driver &cu, int number, int device) {
  int value = 0;
  return cu.cuDeviceGetAttribute(&value, number, device) == 0 ? value : 0;
}

Error hip_code(int result) {
  if (std::find(std::begin(same_numbers), std::end(same_numbers), result) != std::end(same_numbers))
    return static_cast<Error>(result);
  for (const auto &row : other_numbers)
    if (row.result == result) return row.code;
  return Unknown;
}

Error to_error(const Driver &cu, const char *call, int result) { return to_error(cu, call, result, ""); }

Error to_error(const Driver &cu, const char *call, int result, const char *what) {
  if (result == 0) return Success;
  const std::string cause = error_text(cu, result);
  if (is_fault(result)) return fail(hip_code(result), "%s: %s", call, fault_text(cause).c_str());
  return fail(hip_code(result), "%s: %s%s%s", call, what, *what ? ": " : "", cause.c_str());
}

std::string describe(const Launch &launch) {
  char text[192];
  std::snprintf(text, sizeof text, "<<<grid (%u,%u,%u), block (%u,%u,%u), %u bytes shared>>>", launch.grid[0],
                launch.grid[1], launch.grid[2], launch.block[0], launch.block[1], launch.block[2],
                launch.dynamic_bytes);
  return std::string(launch.kernel) + text;
}

void note_launch(const Launch &launch) {
  State &s = state();
  const std::lock_guard lock(s.mutex);
  s.last = launch;
  ++s.pending;
}

void clear_pending_launches() {
  State &s = state();
  const std::lock_guard lock(s.mutex);
  s.pending = 0;
}

}  // namespace cuda
