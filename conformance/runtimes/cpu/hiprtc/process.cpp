#include "process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>

extern "C" char **environ;

namespace hiprtc {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  fs::path base = fs::temp_directory_path(error);
  if (error) base = "/tmp";
  path_ = (base / "hipcpu-XXXXXX").string();
  if (mkdtemp(path_.data()) == nullptr)
    throw std::runtime_error("cannot make a temporary folder " + path_ + ": " + std::strerror(errno) +
                             "; set TMPDIR to a folder that can be written");
}

TemporaryFolder::~TemporaryFolder() {
  if (std::getenv("HIPCPU_KEEP") != nullptr) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

namespace {

// The redirections of a child, released on every path.
class Redirections {
 public:
  explicit Redirections(const std::string &output_file) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, output_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions_, STDOUT_FILENO, STDERR_FILENO);
  }
  ~Redirections() { posix_spawn_file_actions_destroy(&actions_); }
  Redirections(const Redirections &) = delete;
  Redirections &operator=(const Redirections &) = delete;
  const posix_spawn_file_actions_t *get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

}  // namespace

Finished run(const std::vector<std::string> &argv, const std::string &output_file) {
  std::vector<char *> pointers;
  for (const std::string &word : argv) pointers.push_back(const_cast<char *>(word.c_str()));
  pointers.push_back(nullptr);
  Redirections redirections(output_file);
  pid_t child = -1;
  int error = posix_spawnp(&child, pointers[0], redirections.get(), nullptr, pointers.data(), environ);
  if (error != 0) return {false, -1, "cannot start '" + argv[0] + "': " + std::strerror(error)};
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    // ECHILD: the host process ignores SIGCHLD, so the exit status is lost.
    if (errno != EINTR) return {false, -1, "cannot wait for '" + argv[0] + "': " + std::strerror(errno)};
  }
  if (WIFEXITED(status)) return {true, WEXITSTATUS(status), read_file(output_file)};
  // The caller of hiprtc sees nothing but the log: a compiler that was killed may have printed nothing.
  std::string output = read_file(output_file);
  if (!output.empty() && output.back() != '\n') output += '\n';
  output += "the compiler was ended by signal " + std::to_string(WTERMSIG(status)) + "\n";
  return {true, 128 + WTERMSIG(status), output};
}

std::string read_file(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw std::runtime_error("cannot read " + path + ": " + std::strerror(errno));
  std::ostringstream content;
  content << stream.rdbuf();
  return std::move(content).str();
}

void write_file(const std::string &path, const std::string &content) {
  std::ofstream stream(path, std::ios::binary);
  stream << content;
  stream.close();
  if (!stream) throw std::runtime_error("cannot write " + path + ": " + std::strerror(errno));
}

std::string find_program(const std::string &name) {
  const char *path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

}  // namespace hiprtc
