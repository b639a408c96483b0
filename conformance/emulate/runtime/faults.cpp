// Faults of kernels as the harness tells them: with the line of the source, and with the program's call that launched
// the kernel. Both are found by a program of the installation (HIPISA_TELL, conformance/emulate/teller.py).
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "faults_told.h"

extern "C" char **environ;

namespace simt {
namespace {

constexpr int most_frames = 32;  // that are looked at
constexpr std::size_t told_frames = 8;
constexpr std::size_t most_told = 100;  // faults of a process: each costs the start of a program

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File &) = delete;
  File &operator=(const File &) = delete;

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  // A path by which child processes reach it.
  std::string path() const { return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(descriptor_); }
  bool write(const std::string &bytes) const {
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t put = ::write(descriptor_, bytes.data() + done, bytes.size() - done);
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) return false;
      done += static_cast<std::size_t>(put);
    }
    return true;
  }
  std::string content() const {
    std::string bytes;
    std::array<char, 4096> part;
    for (off_t at = 0;;) {
      const ssize_t got = pread(descriptor_, part.data(), part.size(), at);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return bytes;
      bytes.append(part.data(), static_cast<std::size_t>(got));
      at += got;
    }
  }

 private:
  int descriptor_;
};

// The program's calls, the innermost first, as FILE+0xOFFSET; neither this library's nor the functions that clang makes
// of kernels for the host.
std::vector<std::string> callers() {
  void *addresses[most_frames];
  const int count = backtrace(addresses, most_frames);
  Dl_info own{};
  dladdr(reinterpret_cast<const void *>(&callers), &own);
  std::vector<std::string> found;
  for (int n = 0; n < count && found.size() < told_frames; ++n) {
    Dl_info info{};
    if (!dladdr(addresses[n], &info) || info.dli_fbase == own.dli_fbase || !info.dli_fname) continue;
    // A return address is behind its call.
    const auto offset =
        reinterpret_cast<std::uintptr_t>(addresses[n]) - reinterpret_cast<std::uintptr_t>(info.dli_fbase) - 1;
    char text[32];
    std::snprintf(text, sizeof text, "+%#llx", static_cast<unsigned long long>(offset));
    found.push_back(info.dli_fname + std::string(text));
  }
  return found;
}

// What `words` print, empty where they cannot be run or fail.
std::string output_of(std::vector<std::string> words) {
  const File out(memfd_create("output", MFD_CLOEXEC));
  if (!out.is_open()) return "";
  std::vector<char *> pointers;
  for (std::string &word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.descriptor(), STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = -1;
  const int error = posix_spawn(&child, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error) return "";
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return "";
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? out.content() : "";
}

}  // namespace

bool tells_places() {
  const char *const teller = std::getenv("HIPISA_TELL");
  return teller && *teller;
}

std::string with_places(const std::string &message, const std::string &code) {
  static const std::string teller = std::getenv("HIPISA_TELL");
  static std::map<std::string, std::string> &known = *new std::map<std::string, std::string>;  // under the launch mutex
  const auto it = known.find(message);
  if (it != known.end()) return it->second;
  if (known.size() >= most_told) return message;
  const File file(memfd_create("code", MFD_CLOEXEC));
  if (!file.is_open() || !file.write(code)) return message;
  std::vector<std::string> words{teller, message, file.path()};
  for (std::string &caller : callers()) words.push_back(std::move(caller));
  const std::string text = output_of(std::move(words));
  return known[message] = text.empty() ? message : text;
}

}  // namespace simt
