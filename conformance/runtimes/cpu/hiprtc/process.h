// Running a compiler: no shell, arguments as a vector, output captured in a file.
#pragma once

#include <string>
#include <vector>

namespace hiprtc {

// A new folder under TMPDIR, removed with everything in it on destruction. Throws std::runtime_error if
// it cannot be made.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  const std::string &path() const { return path_; }
  // Full path of a file in the folder.
  std::string file(const std::string &name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

struct Finished {
  bool started = false;  // false: the program could not be started, `output` says why
  int status = -1;       // exit status; 128 + signal number if it was killed
  std::string output;    // standard output and error, together; a last line names the signal that killed it
};

// Runs argv[0], looked up in PATH, and waits for it. Output goes through `output_file`.
Finished run(const std::vector<std::string> &argv, const std::string &output_file);

// Whole content of a file; throws std::runtime_error naming the file.
std::string read_file(const std::string &path);
void write_file(const std::string &path, const std::string &content);

// Full path of a program in PATH, "" if there is none.
std::string find_program(const std::string &name);

}  // namespace hiprtc
