#include "incident.h"

#include <cxxabi.h>
#include <dlfcn.h>

#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
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

std::string at(SourceLocation location) {
  return location.file ? format("%s:%d", location.file, location.line()) : "an unknown location";
}

std::string in_function(const void *pc) {
  Dl_info info{};
  if (!dladdr(pc, &info) || !info.dli_sname) return "";
  return " [in " + demangled(info.dli_sname) +
         format("+%#tx]", static_cast<const char *>(pc) - static_cast<const char *>(info.dli_saddr));
}

// "4 bytes past the end of the 32 bytes of __shared__ kernel::array".
std::string relative_to(const Area &area) {
  const auto bytes = static_cast<std::ptrdiff_t>(area.bytes);
  const std::string where = area.offset < 0       ? format("%td bytes before ", -area.offset)
                            : area.offset < bytes ? format("%td bytes into ", area.offset)
                                                  : format("%td bytes past the end of ", area.offset - bytes);
  return where + (area.kind == Area::DynamicShared
                      ? format("the block's %td bytes of dynamic shared memory", bytes)
                      : format("the %td bytes of __shared__ ", bytes) + demangled(area.name));
}

std::string out_of_bounds(const simt_bounds_check &check, unsigned long index) {
  const unsigned bits = check.index->kind == 0 ? 1u << (check.index->info >> 1) : 64;
  std::string number = std::to_string(index);
  if (check.index->info & 1) {  // smaller types are passed without sign extension
    const unsigned shift = bits < 64 ? 64 - bits : 0;
    number = std::to_string(static_cast<long>(index << shift) >> shift);
  }
  return format("index %s is out of bounds of an array of type %s at %s:%u", number.c_str(), check.array->name,
                check.file, check.line);
}

Error describe_fault(const Incident &i, const Launched &launched, std::string &cause) {
  switch (i.signal) {
    case SIGFPE:
      cause = "integer division by zero, or a quotient out of range (a GPU gives a wrong result here)";
      break;
    case SIGILL:
      cause = "trap instruction: access outside a local array, __builtin_trap, or unreachable code";
      cause += in_function(i.pc);
      return LaunchFailure;
    default:
      if (i.area.kind == Area::Unknown)
        cause = "access to a non-canonical address, or to a misaligned vector";
      else if (i.area.kind == Area::Stack)
        cause = format("stack overflow: the kernel needs more than the %zu KiB of stack that a thread has",
                       FiberStacks::stack_bytes / 1024);
      else
        cause = format("out-of-bounds %s, ", i.write ? "write" : "read") +
                (i.area.kind == Area::None ? memory().locate(i.address, launched.pointers, launched.pointer_count)
                                           : relative_to(i.area));
  }
  cause += in_function(i.pc);
  return i.signal == SIGFPE ? LaunchFailure : IllegalAddress;
}

Error describe_cause(const Incident &i, const Launched &launched, std::string &cause) {
  switch (i.kind) {
    case Incident::Fault:
      return describe_fault(i, launched, cause);
    case Incident::Timeout:
      cause =
          format("still running after %u ms: an endless loop, or threads that wait for each other without a barrier",
                 launched.timeout_ms) +
          in_function(i.pc);
      return LaunchTimeOut;
    case Incident::Trap:
      cause = i.what;
      if (i.here.line()) cause += " at " + at(i.here);
      return std::strncmp(i.what, "assert", 6) == 0 ? Assert : LaunchFailure;
    case Incident::BarrierDivergence: {
      const bool one_line = at(i.here) == at(i.there);
      const std::string there = one_line ? "another __syncthreads() of that line" : at(i.there);
      cause = format("barrier divergence: thread %u waits at %s, thread %u at %s", i.linear_thread, at(i.here).c_str(),
                     i.other_thread, there.c_str());
      return LaunchFailure;
    }
    case Incident::BarrierCounts:
      cause = format("barrier divergence: thread %u waits at %s again, thread %u passed it and has returned",
                     i.linear_thread, at(i.here).c_str(), i.other_thread);
      return LaunchFailure;
    case Incident::MissingLanes:
      cause = format(
          "lanes are missing from a collective: lanes %#lx of wave %u wait at %s with mask %#lx, lane %u waits "
          "at the %s at %s",
          static_cast<unsigned long>(i.lanes), i.wave, at(i.here).c_str(), static_cast<unsigned long>(i.mask),
          i.other_thread, i.what, at(i.there).c_str());
      return LaunchFailure;
    case Incident::AbsentLanes:
      cause = format(
          "lanes are missing from a collective: wave %u has lanes %#lx, the mask at %s names %#lx, which HIP's header "
          "asserts not to be more",
          i.wave, static_cast<unsigned long>(i.lanes), at(i.here).c_str(), static_cast<unsigned long>(i.mask));
      return LaunchFailure;
    case Incident::NotInMask:
      cause = format("lane %u calls a collective at %s with mask %#lx, which does not include it", i.other_thread,
                     at(i.here).c_str(), static_cast<unsigned long>(i.mask));
      return LaunchFailure;
    case Incident::NoMemory:
      cause = "no memory for the stacks of a block's threads";
      return OutOfMemory;
    case Incident::ForbiddenCall:
      cause = format("called %s, which is forbidden in kernels", i.what);
      return LaunchFailure;
    case Incident::OutOfBounds:
      cause = out_of_bounds(*i.bounds, i.index);
      return LaunchFailure;
    case Incident::Misaligned:
      cause =
          misaligned_access(i.align, i.index, i.write) + ", which NVIDIA GPUs stop at (error 716)" + in_function(i.pc);
      return LaunchFailure;
    case Incident::SharedDamage:
      cause = "a thread wrote " + relative_to(i.area) + " (found when the block had ended)";
      return IllegalAddress;
    case Incident::None:
      break;
  }
  cause = "unknown incident";
  return Unknown;
}

}  // namespace

std::string misaligned_access(unsigned long align, unsigned long bytes, bool store) {
  return format("%s %lu byte%s at an address that is no multiple of %lu", store ? "writes" : "reads", bytes,
                bytes == 1 ? "" : "s", align);
}

std::string demangled(const char *name) {
  int status = 0;
  char *text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  const std::string result = text ? text : name;
  std::free(text);
  return result;
}

Error describe(const Incident &i, const Launched &launched, std::string &message) {
  std::string cause;
  const Error code = describe_cause(i, launched, cause);
  message = format("kernel %s, block (%u,%u,%u)", launched.kernel.name, i.block.x, i.block.y, i.block.z);
  if (i.kind != Incident::SharedDamage) message += format(", thread (%u,%u,%u)", i.thread.x, i.thread.y, i.thread.z);
  message += ": " + cause;
  return code;
}

}  // namespace simt
