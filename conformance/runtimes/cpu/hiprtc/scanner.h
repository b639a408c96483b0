// Reading preprocessed HIP source: which kernels it defines, and the few declarations that have to be rewritten for
// the host compiler.
//
// Only names and locations come from here. The parameters come from the compiler, by templates, and the linkage from
// the symbol table of the object file.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace hiprtc {

// One kernel that is defined in the source.
struct Kernel {
  std::string name;                     // without namespaces, with template arguments if it is a specialisation
  std::vector<std::string> namespaces;  // as written after `namespace`, outermost first; "" for an unnamed one
  std::string parameters;               // text between the parentheses
  std::string file;                     // of the name, from the line markers
  unsigned line = 0;
  std::string most_threads;  // the constant, in the same place, that is the largest block allowed; "" if there is none

  // What names `it`, which is in the kernel's place, in an expression at the end of the source: "::outer::inner::it".
  std::string qualified(const std::string &it) const;

  std::string qualified() const { return qualified(name); }
};

struct Scan {
  std::vector<Kernel> kernels;
  // The text, with these changes:
  //   extern __shared__ T name[];  becomes a reference to the block's dynamic shared memory
  //   __noinline__                 becomes the attribute
  //   asm labels                   that name AMD's libraries or LLVM's intrinsics for AMD GPUs
  //   kernel<<<...>>>(...)         becomes a call of simt::launched, or in a program of the kernel (simt/host.h), if
  //   that
  //                                is asked for
  //   a template of kernels        in a program has each instance note its row
  //   a kernel's __launch_bounds__ is a constant before the kernel
  std::string source;
  std::vector<std::string> labels;  // functions of our headers that asm labels name
  bool bare_noinline = false;       // the source uses __noinline__
};

// A parameter list without default arguments, which a function type may not have.
std::string without_defaults(const std::string &parameters);

// Which host code is compiled with the kernels, so that launches (<<< >>>) are rewritten too: that of launchers, which
// is executed, or of a program, which is compiled to know what kernels it launches.
enum class HostCode { none, launchers, program };

// `only`: where it has names, kernels with others are left out of the result, and every kernel becomes an inline
// function, so that the compiler makes no code of what nothing names.
Scan scan(const std::string &preprocessed, HostCode host, const std::set<std::string> &only = {});

}  // namespace hiprtc
