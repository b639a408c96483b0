// Which files a compilation reads, for whoever keeps its result and has to know when it is out of date.
//
// Where HIPCPU_READS names a file, each step appends a report to it, of four texts that end with NUL: the temporary
// folder, the folder of the runtime's headers and that of its forwarding headers, whose files are not the caller's, and
// a make rule with the files that were read. A rule "?" says that files may have been read which no list shows.
#pragma once

#include <string>
#include <vector>

#include "options.h"

namespace hiprtc {

class Reads {
 public:
  // `folder` is the temporary folder of the compilation.
  Reads(std::string folder, const Toolchain &toolchain);

  // What makes the preprocessor, and g++'s assembler, write the files that they read.
  std::vector<std::string> preprocessor_flags() const;
  std::vector<std::string> assembler_flags() const;

  // Reports what the preprocessor has read.
  void report() const;
  // Reports what g++'s assembler has read besides its input.
  void report_assembler() const;
  // Looks through LLVM's text form of a module for assembly that may read files.
  void report_assembly(const std::string &module) const;

 private:
  void append(const std::string &rule) const;

  std::string folder_, include_, forwards_, output_;
  bool clang_;
};

// Whether assembly in LLVM's text form of a module may read files: .incbin, .include, and whatever may spell them, such
// as the macros of an assembler.
bool assembly_may_read(const std::string &module);

}  // namespace hiprtc
