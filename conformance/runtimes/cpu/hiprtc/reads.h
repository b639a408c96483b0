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

  // What makes the preprocessor write which files it reads.
  std::vector<std::string> preprocessor_flags() const;

  // Reports what the preprocessor has read.
  void report() const;
  // Looks through a module, in LLVM's text form, or through g++'s assembly for what may read files.
  void report_module(const std::string &module) const;
  void report_assembly(const std::string &assembly) const;

 private:
  void append(const std::string &rule) const;

  std::string folder_, include_, forwards_, output_;
};

// Whether the assembly of a source, in LLVM's text form of a module or in g++'s assembly, may read files: .incbin,
// .include, and whatever may spell them, such as the macros of an assembler.
bool module_may_read(const std::string &module);
bool assembly_may_read(const std::string &assembly);

}  // namespace hiprtc
