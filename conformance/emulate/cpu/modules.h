// The modules that a program has loaded, in addition to those that its own code brings along.
#pragma once

#include <mutex>
#include <set>

#include "module.h"

namespace simt {

class ProgramModules {
 public:
  // Loads `image`, or the file at `path`; fails in the name of `call`.
  Error load(const char *call, const void *image, void **module);
  Error load_file(const char *call, const char *path, void **module);
  Error unload(const char *call, void *module);
  void unload_all();

 private:
  Error keep(const char *call, Error error, Module *loaded, void **module);

  std::mutex mutex_;
  std::set<Module *> loaded_;
};

ProgramModules &program_modules();

// The failure of `call`, for which the runtime has `error` and its last message.
Error not_loaded(const char *call, Error error);

}  // namespace simt
