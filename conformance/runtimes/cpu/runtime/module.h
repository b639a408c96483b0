// Kernel modules: checked, loaded, their kernels and globals found by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "descriptor.h"
#include "error.h"
#include "simt/abi.h"

namespace simt {

class Module;

// What a hipFunction_t points to.
struct Function {
  const simt_kernel *kernel;
  const Module *module;
  const simt_shared_use *shared;  // null: no __shared__ variables, or thread-local ones
  unsigned long most_threads;     // of a block; 0 where the source does not limit them

  // Of its __shared__ variables; of all of the module's where the compiler does not tell whose they are.
  std::size_t static_shared_bytes() const;
};

class Module {
 public:
  // `file` holds a whole, checked module.
  static Error load(FileDescriptor file, std::uint64_t hash, std::unique_ptr<Module> &out);
  ~Module();
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;

  std::uint64_t hash() const { return hash_; }
  std::uint64_t serial() const { return serial_; }  // never used twice in a process, from 1
  const Function *function(std::string_view name) const;
  const std::map<std::string, Function, std::less<>> &functions() const { return functions_; }
  // The kernel of `row`, which its table may lack: one that a launcher of the module launches.
  const Function *launched(const simt_kernel *row);
  void *symbol(const char *name) const;  // null if it exports none
  const simt_kernel *rows() const { return rows_; }
  Error global(const char *name, void **address, std::size_t *bytes);
  const char *kernels_json() const { return json_.c_str(); }
  std::string image() const;                    // the bytes that it was loaded from; empty if they cannot be read
  std::size_t offset_of(const void *pc) const;  // from where it is loaded; 0 of what is no code of it

  // Whether it was compiled by clang. If not, its __shared__ variables are thread-local.
  bool compiled_by_clang() const { return shared_variables_; }
  // Rows of its __shared__ variables.
  const simt_shared_variable *shared_variables() const { return shared_variables_; }
  unsigned long shared_variable_count() const { return shared_variable_count_; }

  std::size_t thread_local_bytes() const { return thread_local_bytes_; }
  char *touch_thread_local() const;  // the calling OS thread's block; null if the module has none

 private:
  Module() = default;
  const simt_shared_use *use_of(const simt_kernel &row) const;
  void read_kernels(const simt_kernel *rows, unsigned count);
  void write_json(const simt_kernel *rows, unsigned count);

  FileDescriptor file_;
  std::string path_;
  void *handle_ = nullptr;
  const simt_kernel *rows_ = nullptr;
  std::map<const simt_kernel *, Function> launched_;
  std::uint64_t hash_ = 0, serial_ = 0;
  std::size_t thread_local_bytes_ = 0;
  const simt_shared_variable *shared_variables_ = nullptr;
  unsigned long shared_variable_count_ = 0;
  const simt_shared_use *shared_uses_ = nullptr;
  unsigned long shared_use_count_ = 0;
  std::vector<unsigned> all_variables_;
  simt_shared_use all_variables_use_{};  // for kernels whose use of variables is unknown
  std::map<std::string, Function, std::less<>> functions_;
  std::vector<const void *> globals_;
  std::string json_;
};

// The loaded modules of the process.
class Modules {
 public:
  // `image` may be of any length and content: nothing is read past readable memory or past the size the image itself
  // gives, and nothing of an image is executed unless its seal matches.
  Error load(const void *image, Module **out);
  Error load_file(const char *path, Module **out);
  Error unload(Module *module);
  Module *find(const void *handle);  // null if it is not loaded
  // Likewise, for a row of a kernel that the module with the table `rows` launches.
  const Function *launched(const simt_kernel *rows, const simt_kernel *row);
  const Function *function(const void *handle);  // likewise, for a hipFunction_t
  void counts(unsigned long *total, unsigned long *duplicates);
  void unload_all();

 private:
  std::mutex mutex_;
  std::map<const void *, std::unique_ptr<Module>> loaded_;
  std::unordered_set<const void *> functions_;
  unsigned long total_ = 0, duplicates_ = 0;
};

Modules &modules();

}  // namespace simt
