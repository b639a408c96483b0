#include "program.h"

#include <dlfcn.h>
#include <link.h>

#include <filesystem>
#include <stdexcept>

#include "../include/simt/seal.h"
#include "alignment.h"
#include "host_code.h"
#include "interleaving.h"
#include "literal.h"
#include "lowering.h"
#include "object.h"
#include "options.h"
#include "process.h"
#include "reads.h"
#include "registration.h"
#include "scanner.h"
#include "shared_memory.h"

namespace hiprtc {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

namespace {

bool mentions_implied_types(const std::string &log) {
  return log.find("half") != std::string::npos || log.find("hip_bfloat16") != std::string::npos;
}

constexpr char fused_product[] = "simt::Product<";
constexpr size_t log_limit = 256 * 1024;  // bytes; a template error can be megabytes long

// The libraries that this process has loaded, by path. Modules name them, so that expf and others bind to the
// current symbol versions: an unversioned reference gets the oldest.
std::string path_of_library(const char *name) {
  void *handle = dlopen(name, RTLD_LAZY);
  if (handle == nullptr) throw std::runtime_error(std::string("cannot find ") + name + ": " + dlerror());
  link_map *map = nullptr;
  dlinfo(handle, RTLD_DI_LINKMAP, &map);
  std::string path = map != nullptr ? map->l_name : "";
  dlclose(handle);
  return path;
}

// Writes a named header below `folder`; names may have folders, but may not lead out of it.
void write_header(const std::string &folder, const std::string &name, const std::string &content) {
  fs::path relative = fs::path(name).lexically_normal();
  if (name.empty() || relative.is_absolute() || *relative.begin() == "..")
    throw std::runtime_error("header name " + literal(name) + " is not a relative path");
  fs::path path = fs::path(folder) / relative;
  fs::create_directories(path.parent_path());
  write_file(path.string(), content);
}

// Whether preprocessed text has a line marker for one of our headers hip/*.
bool includes_hip(const std::string &preprocessed, const std::string &forwards) {
  return preprocessed.find(" \"" + forwards + "/hip/") != std::string::npos;
}

Words joined(std::initializer_list<Words> parts) {
  Words all;
  for (const Words &part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// -U takes back what the compiler defines, which for the GPUs' compilers is what our prelude defines: #undef after it.
std::string undefined_by(const Words &options) {
  std::string lines;
  for (size_t i = 0; i < options.size(); ++i) {
    if (options[i].rfind("-U", 0) != 0) continue;
    const bool alone = options[i] == "-U" && i + 1 < options.size();
    lines += "#undef " + (alone ? options[i + 1] : options[i].substr(2)) + "\n";
  }
  return lines;
}

bool has_host_code(const std::string &source) {
  for (const char *sign : {"<<<", "hipLaunchKernelGGL", "hipStream_t", "cudaStream_t"})
    if (source.find(sign) != std::string::npos) return true;
  return false;
}

// The log without the names of the temporary folder.
void add_to_log(std::string &log, const std::string &text, const std::string &folder) {
  std::string clean = text;
  replace_all(clean, folder + "/headers/", "");
  replace_all(clean, folder + "/", "");
  log += clean;
  if (log.size() > log_limit) {
    log.resize(log_limit);
    log += "\n[log truncated]\n";
  }
}

}  // namespace

std::pair<int, int> version() { return {9, 0}; }

Program::Outcome Program::build(const Words &options) {
  Outcome outcome = attempt(options);
  if (outcome == Outcome::failed && log_.find(fused_product) != std::string::npos) {
    // The source is right, but the type Product is in its way: see simt/fused.h.
    Words plain = options;
    plain.push_back("-DSIMT_PLAIN_PRODUCTS");
    log_.clear();
    outcome = attempt(plain);
  }
  if (outcome == Outcome::failed && mentions_implied_types(log_)) {
    // hipcc has no 16-bit types without an #include, so that a source may have its own: see simt/prelude.h.
    Words bare = options;
    bare.push_back("-DSIMT_NO_IMPLIED_TYPES");
    const std::string first = std::exchange(log_, {});
    outcome = attempt(bare);
    if (outcome != Outcome::compiled) log_ = first;
  }
  if (outcome == Outcome::failed && has_host_code(source_) && !compiles_launchers(parse_options(options))) {
    // hipcc compiles host code next to kernels: what is right in it must not cost the kernels.
    Words whole = options;
    whole.push_back("-DSIMT_LAUNCHERS=1");
    const std::string first = std::exchange(log_, {});
    outcome = attempt(whole);
    if (outcome != Outcome::compiled) log_ = first;
  }
  return outcome;
}

Program::Outcome Program::attempt(const Words &words) {
  Options options = parse_options(words);
  if (!options.bad.empty()) {
    log_ = "unknown option '" + options.bad + "'\n";
    return Outcome::bad_option;
  }
  Toolchain tools = find_toolchain();
  if (is_program(options) && !tools.clang)
    throw std::runtime_error("the kernels of a program can be told from its host code by clang only: install clang++");
  TemporaryFolder folder;
  fs::create_directory(folder.file("headers"));
  for (const auto &[content, name] : headers_) write_header(folder.file("headers"), name, content);

  const Words include = {"-I", tools.include, "-I", tools.forwards, "-I", folder.file("headers")};

  // 1. Preprocess. The last line expands to the module's tables, with a placeholder for the rows.
  const std::string source = folder.file("source.hip");
  const std::string first_line = "#line 1 " + literal(name_) + "\n";
  write_file(source, first_line + source_ + registration_request());
  const std::string undefined = folder.file("undefined.h");
  const Reads reads(folder.path(), tools);
  write_file(undefined, undefined_by(options.preprocess));
  options.preprocess.insert(options.preprocess.begin(), {"-include", undefined});
  auto expand = [&](Dialect dialect) {
    return run(joined({tools.compiler,
                       preprocess_flags(tools, options),
                       include,
                       dialect_flags(tools, dialect),
                       options.preprocess,
                       reads.preprocessor_flags(),
                       {"-x", "c++", "-E", source, "-o", folder.file("expanded")}}),
               folder.file("output"));
  };
  Dialect dialect = options.dialect;
  if (dialect == Dialect::automatic) dialect = ends_with(name_, ".cu") ? Dialect::cuda : Dialect::hip;
  Finished step = expand(dialect);
  reads.report();
  auto good = [](const Finished &finished) { return finished.started && finished.status == 0; };
  auto is_hip = [&] { return includes_hip(read_file(folder.file("expanded")), tools.forwards); };
  if (options.dialect == Dialect::automatic && dialect == Dialect::cuda && (!good(step) || is_hip())) {
    // The suffix of CUDA, but it includes HIP headers; or an error, which HIP without its headers would not fix.
    Finished again = expand(Dialect::hip);
    reads.report();
    if (good(step) || (good(again) && is_hip())) {
      dialect = Dialect::hip;
      step = again;
    }
  }
  add_to_log(log_, step.output, folder.path());
  if (!step.started || step.status != 0) return Outcome::failed;

  // 2. Find the kernels and append their registration.
  const bool launchers = compiles_launchers(options);
  const HostCode host = is_program(options) ? HostCode::program : launchers ? HostCode::launchers : HostCode::none;
  Scan found = scan(read_file(folder.file("expanded")), host, only_kernels(options));
  Registration registration = register_kernels(found, expressions_);
  const std::string complete = folder.file("complete.ii");
  write_file(complete, registration.source);

  // 3. Compile: with clang in three steps, with the IR rewritten in between to what a GPU does.
  auto to_object = [&](const Words &words) {
    return run(joined({tools.compiler, compile_flags(tools, options), words}), folder.file("output"));
  };
  const std::string object_file = folder.file("object.o");
  if (tools.clang) {
    const std::string assembly = folder.file("module.ll");
    step = to_object({"-x", "c++", "-S", "-emit-llvm", "-Xclang", "-disable-llvm-passes", complete, "-o", assembly});
    if (step.started && step.status == 0) {
      const std::string warnings = step.output;
      std::string module = read_file(assembly);
      if (is_program(options)) module = without_host_code(module, address_section);
      write_file(assembly, check_alignment(lower_for_gpu(place_shared_memory(module), dialect), dialect));
      const std::string optimised = folder.file("optimised.ll");
      const Words quiet = {"-Wno-unused-command-line-argument"};
      step = to_object(joined({quiet, {"-S", "-emit-llvm", assembly, "-o", optimised}}));
      if (step.started && step.status == 0) {
        const std::string lowered = read_file(optimised);
        reads.report_module(lowered);
        write_file(optimised, interleave_stores(lowered));
        step = to_object(joined({quiet, {"-Xclang", "-disable-llvm-passes", "-c", optimised, "-o", object_file}}));
      }
      step.output = warnings + step.output;
    }
  } else {
    const std::string assembly = folder.file("module.s");
    step = to_object({"-x", "c++", "-S", complete, "-o", assembly});
    if (step.started && step.status == 0) {
      reads.report_assembly(read_file(assembly));
      const std::string warnings = step.output;
      step = to_object({"-x", "assembler", "-c", assembly, "-o", object_file});
      step.output = warnings + step.output;
    }
  }
  if (launchers && (!step.started || step.status != 0)) {  // as written, every launch would be an error
    add_to_log(log_, step.output, folder.path());
    return Outcome::failed;
  }
  if (!step.started || step.status != 0) {
    // The compiler read preprocessed text, so its messages quote expanded macros. Compile the source as the user wrote
    // it; if it has the error too, that is the better log.
    write_file(source, first_line + source_);
    // Not -fsyntax-only: without -c, `zig c++` prepares to link and builds its C++ library for a minute.
    Words written = {"-O0", "-x", "c++", "-c", source, "-o", object_file};
    if (tools.clang) written.push_back("-ferror-limit=0");  // every kernel that does not compile is to be found
    if (found.bare_noinline) written.push_back("-D__noinline__=__attribute__((noinline))");
    Finished again = run(joined({tools.compiler, compile_flags(tools, options), include, dialect_flags(tools, dialect),
                                 options.preprocess, written}),
                         folder.file("output"));
    add_to_log(log_, again.started && again.status != 0 ? again.output : step.output, folder.path());
    return Outcome::failed;
  }
  add_to_log(log_, step.output, folder.path());

  // 4. Give every kernel the name that the compiler gave its symbol.
  std::string object = read_file(object_file);
  Words names;
  if (registration.count > 0) {
    names = symbols_in(object, address_section, registration.count);
    patch_names(object, name_section, name_width, names);
    write_file(object_file, object);
  }
  for (size_t i = 0; i < expressions_.size(); ++i) lowered_[expressions_[i]] = names[found.kernels.size() + i];

  // 5. Link. libamdhip64 replaces the functions of glibc that exceed HIP's error bounds (runtime/mathematics.cpp).
  step = run(joined({tools.linker,
                     {"-shared", "-Bsymbolic", "-z", "noexecstack", "--eh-frame-hdr", "--wrap=tanh", "--wrap=tanhf",
                      "--wrap=pow", "--wrap=powf", "-o", folder.file("module.so"), object_file,
                      path_of_library("libm.so.6"), path_of_library("libc.so.6")},
                     tools.libraries}),
             folder.file("output"));
  add_to_log(log_, step.output, folder.path());
  if (!step.started || step.status != 0) return Outcome::failed;
  code_ = read_file(folder.file("module.so"));
  simt_append_seal(code_);
  return Outcome::compiled;
}

}  // namespace hiprtc
