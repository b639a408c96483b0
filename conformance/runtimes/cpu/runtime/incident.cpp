#include "incident.h"

#include <dlfcn.h>

#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "fiber.h"
#include "memory.h"
#include "worker.h"

namespace simt {
namespace {

[[gnu::format(printf, 1, 2)]] std::string format(const char *text, ...) {
  char buffer[1024];
  std::va_list args;
  va_start(args, text);
  std::vsnprintf(buffer, sizeof buffer, text, args);
  va_end(args);
  return buffer;
}

std::string at(Place place) { return place.file ? format("%s:%d", place.file, place.line) : "a place not known"; }

std::string in_function(const void *pc) {
  Dl_info info{};
  if (!dladdr(pc, &info) || !info.dli_sname) return "";
  return format(" [in %s+%#tx]", info.dli_sname,
                static_cast<const char *>(pc) - static_cast<const char *>(info.dli_saddr));
}

// clang's -fsanitize-trap=bounds is `ud1 18(%eax),%eax`: the check's number is in the instruction.
bool is_bounds_trap(const void *pc) {
  static constexpr unsigned char out_of_bounds[] = {0x67, 0x0f, 0xb9, 0x40, 18};
  return std::memcmp(pc, out_of_bounds, sizeof out_of_bounds) == 0;
}

Error describe_fault(const Incident &i, std::string &cause) {
  switch (i.signal) {
    case SIGFPE:
      cause = "integer division by zero, or a quotient out of range (a GPU gives a wrong number here)";
      break;
    case SIGILL:
      cause = is_bounds_trap(i.pc) ? "index out of bounds of an array (bounds trap)"
                                   : "trap instruction: index out of bounds of an array (if g++ compiled the "
                                     "kernel), __builtin_trap, or code that cannot be reached";
      cause += in_function(i.pc);
      return LaunchFailure;
    default: {
      if (i.in_stack_guard) {
        cause = format("stack overflow: a thread has %zu KiB", FiberStacks::stack_bytes / 1024);
        break;
      }
      const char *address = static_cast<const char *>(i.address);
      const char *end = i.dynamic_shared + i.dynamic_bytes;
      const char *verb = i.write ? "write" : "read";
      if (address >= end && address < end + 16 + Worker::dynamic_guard_bytes)
        cause = format("out-of-bounds %s, %td bytes past the end of the block's %u bytes of dynamic shared memory",
                       verb, address - end, i.dynamic_bytes);
      else
        cause = format("out-of-bounds %s at %p: %s", verb, i.address, memory().locate(i.address).c_str());
    }
  }
  cause += in_function(i.pc);
  return i.signal == SIGFPE ? LaunchFailure : IllegalAddress;
}

Error describe_cause(const Incident &i, unsigned timeout_ms, std::string &cause) {
  switch (i.kind) {
    case Incident::Fault:
      return describe_fault(i, cause);
    case Incident::Timeout:
      cause =
          format("still running after %u ms: an endless loop, or threads that wait for each other without a barrier",
                 timeout_ms) +
          in_function(i.pc);
      return LaunchTimeOut;
    case Incident::Trap:
      cause = i.what;
      if (i.here.line) cause += " at " + at(i.here);
      return std::strncmp(i.what, "assert", 6) == 0 ? AssertFailed : LaunchFailure;
    case Incident::BarrierDivergence:
      cause = format("barrier divergence: thread %u waits at %s, thread %u at %s", i.linear_thread, at(i.here).c_str(),
                     i.other_thread, at(i.there).c_str());
      return LaunchFailure;
    case Incident::MissingLanes:
      cause = format(
          "lanes are missing from a collective: lanes %#lx of wave %u wait at %s with mask %#lx, lane %u waits "
          "at the %s at %s",
          static_cast<unsigned long>(i.lanes), i.wave, at(i.here).c_str(), static_cast<unsigned long>(i.mask),
          i.other_thread, i.what, at(i.there).c_str());
      return LaunchFailure;
    case Incident::NotInMask:
      cause = format("lane %u calls a collective at %s with mask %#lx, which does not name it", i.other_thread,
                     at(i.here).c_str(), static_cast<unsigned long>(i.mask));
      return LaunchFailure;
    case Incident::NoMemory:
      cause = "no memory for the stacks of a block's threads";
      return OutOfMemory;
    case Incident::ForbiddenCall:
      cause = format("called %s, which kernels must not", i.what);
      return LaunchFailure;
    case Incident::None:
      break;
  }
  cause = "unknown incident";
  return Unknown;
}

}  // namespace

Error describe(const Incident &i, const simt_kernel &kernel, unsigned timeout_ms, std::string &message) {
  std::string cause;
  const Error code = describe_cause(i, timeout_ms, cause);
  message = format("kernel %s, block (%u,%u,%u), thread (%u,%u,%u): ", kernel.name, i.block.x, i.block.y, i.block.z,
                   i.thread.x, i.thread.y, i.thread.z) +
            cause;
  return code;
}

}  // namespace simt
