// The kernels and variables of shared libraries that hold host code and an offload bundle: by their host addresses.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <string>

#include "error.h"
#include "loaded.h"

namespace isa {

// An offload bundle that a library has registered: loaded as a code object, or why it is not.
struct Registered {
  void *module = nullptr;
  simt::Error error = simt::Success;
  std::string why;
};

class Registry {
 public:
  // `bundle`: clang's; its entry for the device is loaded.
  Registered *add(const char *bundle);
  void remove(const Registered *registered);
  void add_kernel(const Registered *registered, const void *host, const char *name);
  void add_variable(const Registered *registered, const void *host, const char *name);

  // The kernel that `call` means by the address of its host function, or by a hipFunction_t; fails in its name.
  simt::Error find(const char *call, const void *host, const Kernel *&kernel);
  simt::Error find(const char *call, const void *host, Window &variable);

 private:
  struct Named {
    const Registered *registered;
    std::string name;
  };
  simt::Error object_of(const char *call, const Named &named, Object *&object);
  const Named *named(const std::map<const void *, Named> &all, const void *host);

  std::mutex mutex_;
  std::deque<Registered> registered_;
  std::map<const void *, Named> kernels_, variables_;
};

Registry &registry();

}  // namespace isa
