#include "options.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <map>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "literal.h"
#include "process.h"

namespace hiprtc {
namespace {

using Words = std::vector<std::string>;

std::string environment(const char *name) {
  const char *value = std::getenv(name);
  return value != nullptr ? value : "";
}

// The words of an environment variable, separated by white space; or its lines.
Words words_in(const char *name) {
  std::istringstream stream(environment(name));
  return {std::istream_iterator<std::string>(stream), {}};
}
Words lines_in(const char *name) {
  std::istringstream stream(environment(name));
  Words lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// The folder of this library.
std::string own_folder() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void *>(&find_toolchain), &info) == 0 || info.dli_fname == nullptr) return "";
  char *const resolved = realpath(info.dli_fname, nullptr);  // it may have been found by a link
  std::string file = resolved != nullptr ? resolved : info.dli_fname;
  std::free(resolved);
  size_t slash = file.rfind('/');
  return slash == std::string::npos ? "." : file.substr(0, slash);
}

Words first_program(std::initializer_list<const char *> names) {
  for (const char *name : names)
    if (std::string path = find_program(name); !path.empty()) return {path};
  return {};
}

struct Kind {
  bool clang, zig;
  int clang_version;  // the major one, 0 for g++
  Words libraries;
};

// The value of a macro in what -dM prints, 0 if it is not there.
int macro(const std::string &printed, const std::string &name) {
  const std::string begin = "#define " + name + " ";
  const size_t at = printed.find(begin);
  return at == std::string::npos ? 0 : std::atoi(printed.c_str() + at + begin.size());
}

// Which compiler a command is, from its own predefined macros.
Kind ask_kind(const Words &compiler) {
  static std::mutex mutex;
  static std::map<Words, Kind> known;
  std::lock_guard<std::mutex> lock(mutex);
  if (auto found = known.find(compiler); found != known.end()) return found->second;
  TemporaryFolder folder;
  Words command = compiler;
  command.insert(command.end(), {"-dM", "-E", "-x", "c++", "/dev/null"});
  Finished finished = run(command, folder.file("macros"));
  if (!finished.started)
    throw std::runtime_error(finished.output +
                             "\nno C++ compiler for the cpu runtime: install clang++ or g++, or set HIPCPU_CXX");
  if (finished.status != 0)
    throw std::runtime_error("'" + compiler[0] + "' does not work as a C++ compiler (HIPCPU_CXX):\n" + finished.output);
  bool zig = false;
  for (const std::string &word : compiler) zig = zig || word.find("zig") != std::string::npos;
  const int version = macro(finished.output, "__clang_major__");
  Kind kind = {version != 0, zig, version, {}};
  if (!kind.clang) {
    command = compiler;
    command.push_back("-print-libgcc-file-name");
    std::string path = run(command, folder.file("library")).output;
    path.erase(path.find_last_not_of(" \n") + 1);
    if (access(path.c_str(), R_OK) == 0) kind.libraries = {path};
  }
  return known[compiler] = kind;
}

}  // namespace

Toolchain find_toolchain() {
  Toolchain found;
  found.compiler = lines_in("HIPCPU_CXX");
  if (found.compiler.empty())
    found.compiler = first_program(
        {"clang++", "clang++-21", "clang++-20", "clang++-19", "clang++-18", "clang++-17", "clang++-16", "g++"});
  if (found.compiler.empty())
    throw std::runtime_error("no C++ compiler for the cpu runtime in PATH: install clang++ or g++, or set HIPCPU_CXX");
  Kind kind = ask_kind(found.compiler);
  found.clang = kind.clang;
  found.zig = kind.zig;
  found.clang_version = kind.clang_version;
  found.libraries = kind.libraries;
  found.linker = lines_in("HIPCPU_LD");
  if (found.linker.empty()) found.linker = first_program({"ld.lld", "ld.lld-20", "ld.lld-19", "ld.lld-18", "ld"});
  if (found.linker.empty()) throw std::runtime_error("no linker in PATH: install lld or binutils, or set HIPCPU_LD");
  found.include = environment("HIPCPU_INCLUDE");
  if (found.include.empty()) found.include = own_folder() + "/../include";
  found.forwards = own_folder() + "/include";
  if (access((found.include + "/simt/prelude.h").c_str(), R_OK) != 0)
    throw std::runtime_error("the cpu runtime's headers are not in '" + found.include +
                             "' (no simt/prelude.h): set HIPCPU_INCLUDE to the folder that has them");
  found.flags = words_in("HIPCPU_CXXFLAGS");
  return found;
}

namespace {

// What to do with an option, by its beginning; the first row that fits decides.
enum class Use { preprocess, compile, level, standard, dialect, drop };
struct Row {
  std::string_view prefix;
  Use use;
  bool exact;       // the whole word, not only its beginning
  bool takes_next;  // when it stands alone, the next word belongs to it
};
constexpr std::array rows = {
    Row{"-include", Use::preprocess, true, true},
    Row{"-isystem", Use::preprocess, false, true},
    Row{"-ivfsoverlay", Use::preprocess, true, true},
    Row{"-iquote", Use::preprocess, false, true},
    Row{"-idirafter", Use::preprocess, true, true},
    Row{"-I", Use::preprocess, false, true},
    Row{"-D", Use::preprocess, false, true},
    Row{"-U", Use::preprocess, false, true},
    Row{"--std=", Use::standard, false, false},
    Row{"-std=", Use::standard, false, false},
    Row{"-O", Use::level, false, false},
    // Floating point: a port compiled with fast maths must get its inaccurate results here too.
    Row{"-ffp-", Use::compile, false, false},
    Row{"-ffast-math", Use::compile, true, false},
    Row{"-fno-fast-math", Use::compile, true, false},
    Row{"-ffinite-math-only", Use::compile, true, false},
    Row{"-fno-finite-math-only", Use::compile, true, false},
    Row{"-fno-honor-", Use::compile, false, false},
    Row{"-fhonor-", Use::compile, false, false},
    Row{"-fno-signed-zeros", Use::compile, true, false},
    Row{"-fassociative-math", Use::compile, true, false},
    Row{"-freciprocal-math", Use::compile, true, false},
    Row{"-funsafe-math-optimizations", Use::compile, true, false},
    Row{"-fno-strict-aliasing", Use::compile, true, false},
    Row{"-fwrapv", Use::compile, true, false},
    Row{"-funroll-loops", Use::compile, true, false},
    Row{"-fno-unroll-loops", Use::compile, true, false},
    Row{"-W", Use::compile, false, false},
    Row{"-w", Use::compile, true, false},
    // Options of GPU compilers without meaning on the host.
    Row{"--offload-", Use::drop, false, false},
    Row{"--gpu-architecture", Use::drop, false, true},
    Row{"-arch", Use::drop, false, true},
    Row{"--cuda-", Use::drop, false, false},
    Row{"--hip-", Use::drop, false, false},
    Row{"-hip-pch", Use::drop, true, false},
    Row{"-mllvm", Use::drop, true, true},
    Row{"-Xclang", Use::drop, true, true},
    Row{"-mcpu=", Use::drop, false, false},
    Row{"-mcumode", Use::drop, true, false},
    Row{"-mno-cumode", Use::drop, true, false},
    Row{"-mwavefrontsize64", Use::drop, true, false},
    Row{"-mno-wavefrontsize64", Use::drop, true, false},
    Row{"-mcode-object-version=", Use::drop, false, false},
    Row{"-munsafe-fp-atomics", Use::drop, true, false},
    Row{"-mno-unsafe-fp-atomics", Use::drop, true, false},
    Row{"-fgpu-", Use::drop, false, false},
    Row{"-fno-gpu-", Use::drop, false, false},
    Row{"-fcuda-", Use::drop, false, false},
    Row{"-fPIC", Use::drop, true, false},
    Row{"-g", Use::drop, false, false},
    Row{"-nogpu", Use::drop, false, false},
    Row{"--rocm-", Use::drop, false, false},
    Row{"-x", Use::dialect, false, true},
};

const Row *row_of(const std::string &word) {
  for (const Row &row : rows)
    if (row.exact ? word == row.prefix : starts_with(word, row.prefix)) return &row;
  return nullptr;
}

// Versions of -std that have what the headers need.
std::string standard_of(const std::string &value) {
  for (std::string_view modern : {"20", "2a", "23", "2b", "26", "2c"})
    if (value.size() > 2 && value.substr(value.size() - 2) == modern) return value;
  return "gnu++20";
}

}  // namespace

Options parse_options(const Words &words) {
  Options options;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string &word = words[i];
    if (word.empty()) continue;
    const Row *row = row_of(word);
    if (row == nullptr) {
      if (options.bad.empty()) options.bad = word;
      continue;
    }
    bool pair = row->takes_next && word == row->prefix && i + 1 < words.size();
    switch (row->use) {
      case Use::preprocess:
        options.preprocess.push_back(word);
        if (pair) options.preprocess.push_back(words[i + 1]);
        break;
      case Use::compile:
        options.compile.push_back(word);
        break;
      case Use::level:
        // -O3 costs compile time on heavily unrolled kernels and gains nothing here; -Ofast is -O3 with fast maths.
        options.compile.push_back(word == "-O3" || word == "-Ofast" ? "-O2" : word);
        if (word == "-Ofast") options.compile.push_back("-ffast-math");
        break;
      case Use::standard:
        options.standard = standard_of(word.substr(word.find('=') + 1));
        break;
      case Use::dialect: {
        const std::string language = pair ? words[i + 1] : word.substr(2);
        if (language == "cuda" || language == "cu") options.dialect = Dialect::cuda;
        if (language == "hip") options.dialect = Dialect::hip;
        break;
      }
      case Use::drop:
        break;
    }
    if (pair) ++i;
  }
  return options;
}

Words dialect_flags(const Toolchain &toolchain, Dialect dialect) {
  if (dialect != Dialect::cuda) return {"-include", "simt/prelude.h"};
  // A port's own cuda_fp16.h goes before ours.
  return {"-isystem", toolchain.include + "/nvidia", "-isystem", toolchain.forwards + "/nvidia",
          "-include", "simt/cuda_prelude.h"};
}

namespace {

bool defines(const Options &options, const std::string &macro) {
  return std::any_of(options.preprocess.begin(), options.preprocess.end(),
                     [&macro](const std::string &word) { return word.rfind("-D" + macro, 0) == 0; });
}

}  // namespace

bool compiles_launchers(const Options &options) { return defines(options, "SIMT_LAUNCHERS"); }

bool is_program(const Options &options) { return defines(options, "SIMT_PROGRAM"); }

std::set<std::string> only_kernels(const Options &options) {
  constexpr std::string_view option = "-DSIMT_ONLY=";
  std::set<std::string> names;
  for (const std::string &word : options.preprocess) {
    if (word.rfind(option, 0) != 0) continue;
    std::istringstream rest(word.substr(option.size()));
    for (std::string name; std::getline(rest, name, ',');) names.insert(name);
  }
  return names;
}

Words preprocess_flags(const Toolchain &toolchain, const Options &options) {
  // -march and -O are here because kernels may ask for __AVX2__ or __OPTIMIZE__. -O2 compiles for a quarter longer, and
  // kernels that run for microseconds gain nothing by it.
  Words flags = {"-std=" + options.standard, "-march=native", "-O1"};
  // Ubuntu's compilers define it. With it stdio.h defines printf, which simt/support.h does too.
  flags.push_back("-U_FORTIFY_SOURCE");
  if (!compiles_launchers(options)) flags.insert(flags.end(), {"-fno-exceptions", "-fno-rtti"});
  // By these instructions a _Float16 product and sum would be fused, and NaN not become 0.
  flags.push_back("-mno-avx512fp16");
  // These flush subnormal floats to zero when they convert to bfloat16.
  if (toolchain.clang) flags.insert(flags.end(), {"-mno-avx512bf16", "-mno-avxneconvert", "-fdeclspec"});
  // zig defines NDEBUG with -O2; HIP's compilers keep a kernel's asserts. It also writes line tables, with the folders
  // that it works in, so that no two compilations would give the same.
  if (toolchain.zig) flags.insert(flags.end(), {"-fno-sanitize=undefined", "-UNDEBUG", "-g0"});
  flags.insert(flags.end(), toolchain.flags.begin(), toolchain.flags.end());
  flags.insert(flags.end(), options.compile.begin(), options.compile.end());
  return flags;
}

Words compile_flags(const Toolchain &toolchain, const Options &options) {
  Words flags = {
      "-fPIC",
      "-fno-math-errno",
      "-fno-builtin-printf",  // otherwise printf("x\n") becomes puts, which bypasses the module's printf
      "-fno-semantic-interposition",
      "-fno-threadsafe-statics",
      "-fvisibility-inlines-hidden",
      "-fno-strict-aliasing",  // kernels reinterpret shared memory; a host-only miscompile would be a false alarm
      "-fno-delete-null-pointer-checks",  // a read through null faults, also where its value goes unused
      "-fstack-clash-protection",         // a large frame touches every page of it, so that none is beyond the guard
      "-fstack-protector-strong",         // local arrays whose size the function that writes does not know
      "-fsanitize=bounds",
      "-fno-sanitize-recover=bounds"};
  if (toolchain.clang) {
    const std::initializer_list<const char *> clang = {
        "-fsanitize-trap=local-bounds",
        "-fstrict-flex-arrays=1",  // the last array of a struct is checked too, but for [], [0] and [1]
        // What clang itself uses for HIP: products and sums are fused across statements unless a pragma forbids it.
        // The driver of clang 16 refuses the value, which its compiler proper knows.
        "-Xclang", "-ffp-contract=fast-honor-pragmas",
        // A _Float16 or __bf16 expression is rounded after every operation, as on the GPU.
        "-fexcess-precision=16",
        // An out-of-range float-to-integer conversion saturates and NaN gives 0, as the GPU's instructions do.
        "-fno-strict-float-cast-overflow",
        // The default threshold takes 30 s over kernels that unroll large loops by pragma.
        "-mllvm", "-pragma-unroll-threshold=64", "-Wno-unknown-attributes", "-Wno-ignored-attributes",
        "-Wno-unknown-pragmas", "-Wno-undefined-internal"};
    flags.insert(flags.end(), clang.begin(), clang.end());
    // Clang 16 simplifies instructions until nothing changes, a tenth of its time to find nothing. Later ones stop
    // after the first time by themselves, and do not know the option.
    if (toolchain.clang_version <= 16) flags.insert(flags.end(), {"-mllvm", "-instcombine-max-iterations=1"});
  } else {
    const std::initializer_list<const char *> gcc = {"-ffp-contract=fast", "-fno-tree-slp-vectorize",
                                                     "-fno-gnu-unique",  // two modules must not share a variable
                                                     "-Wno-attributes", "-Wno-unknown-pragmas"};
    flags.insert(flags.end(), gcc.begin(), gcc.end());
  }
  // The caller's options come last, so that they win.
  const Words last = preprocess_flags(toolchain, options);
  flags.insert(flags.end(), last.begin(), last.end());
  // A sum that is vectorised with another addition would not be fused with its product any more, and clang 19 computed
  // two unrolled kernels wrongly. Behind the level, for to clang any later -O takes this back.
  if (toolchain.clang) flags.push_back("-fno-slp-vectorize");
  return flags;
}

}  // namespace hiprtc
