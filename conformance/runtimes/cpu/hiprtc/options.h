// The options of hiprtc's caller and of the environment, as compiler command lines.
//
// Environment:
//   HIPCPU_CXX       the C++ compiler, one word of its command a line ("python", "-m", "ziglang", "c++"); default: the
//                    first of clang++ and g++ in PATH
//   HIPCPU_LD        the linker, likewise; default: ld.lld or ld from PATH
//   HIPCPU_INCLUDE   folder with simt/prelude.h; default: ../include next to this library
//   HIPCPU_CXXFLAGS  further compiler flags, after ours
//   HIPCPU_READS     a file that gets a list of what compilations read: see reads.h
// Headers that only forward to those of HIPCPU_INCLUDE are in ./include next to this library.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace hiprtc {

struct Toolchain {
  std::vector<std::string> compiler;
  std::vector<std::string> linker;
  std::vector<std::string> libraries;  // g++'s support library, for what it calls on _Float16
  std::string include;
  std::string forwards;
  std::vector<std::string> flags;  // from HIPCPU_CXXFLAGS
  bool clang = false;              // else g++
  bool zig = false;
  int clang_version = 0;  // the major one
};

// Reads the environment and asks the compiler what it is (once per command and process). Throws std::runtime_error
// with a message for the program log when there is no compiler, linker or include folder.
Toolchain find_toolchain();

// The language of a source. `automatic` is CUDA for a program called *.cu that includes none of HIP's headers, else
// HIP.
enum class Dialect { automatic, hip, cuda };

// The caller's options, sorted.
struct Options {
  Dialect dialect = Dialect::automatic;  // from -x
  std::vector<std::string> preprocess;   // -I -D -U -include and the like
  std::vector<std::string> compile;      // optimisation level, floating-point options, warnings
  std::string standard = "gnu++20";      // the shadow headers need C++20, so an older -std is raised
  std::string bad;                       // the first option that is not known, "" if all are
};
Options parse_options(const std::vector<std::string> &words);

// The prelude of every source of a dialect, and the header folders of that dialect, after the caller's own.
std::vector<std::string> dialect_flags(const Toolchain &toolchain, Dialect dialect);

// Whether the source is compiled with its host code (simt/host.h).
bool compiles_launchers(const Options &options);

// Whether the source is a program, of which only the kernels are wanted.
bool is_program(const Options &options);

// The names behind -DSIMT_ONLY=, separated by commas: the only kernels that code is made for. Empty: for all.
std::set<std::string> only_kernels(const Options &options);

// Flags of the preprocessing and of the compiling run, the caller's last; without include paths.
std::vector<std::string> preprocess_flags(const Toolchain &toolchain, const Options &options);
std::vector<std::string> compile_flags(const Toolchain &toolchain, const Options &options);

}  // namespace hiprtc
