// The code objects that are loaded, and their kernels, by handle.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "error.h"
#include "object.h"

namespace isa {

class Loaded {
 public:
  // Loads the ELF file `file` under the handle that it sets.
  simt::Error load(const std::string &file, void **out);
  Object *find(const void *handle);          // null where there is none
  const Kernel *kernel(const void *handle);  // likewise, for a hipFunction_t
  bool unload(const void *handle);
  // That of a library or program, whose kernels its host code launches: `unload_all` leaves it.
  void keep(const void *handle);
  void unload_all();

 private:
  void forget(const Object &object);

  std::mutex mutex_;
  std::map<const void *, std::unique_ptr<Object>> objects_;
  std::set<const void *> kernels_, kept_;
};

Loaded &loaded();

}  // namespace isa
