// The kernels and variables of shared libraries that hold host code and an offload bundle: by their host addresses.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <string>

#include "kernels.h"

namespace simt {

// An offload bundle that a library has registered: loaded as a module, or why it is not.
struct RegisteredCode {
  void *module = nullptr;
  Error error = Success;
  std::string why;
};

class Registry {
 public:
  // `bundle`: clang's; its entry for the device is loaded.
  RegisteredCode *add(const char *bundle);
  void remove(const RegisteredCode *registered);
  void add_kernel(const RegisteredCode *registered, const void *host, const char *name);
  void add_variable(const RegisteredCode *registered, const void *host, const char *name);

  // The kernel that `call` means by the address of its host function, or by a hipFunction_t; fails in its name.
  Error find(const char *call, const void *host, const void *&kernel);
  Error find(const char *call, const void *host, Variable &variable);

 private:
  struct Named {
    const RegisteredCode *registered;
    std::string name;
  };
  Error check_loaded(const char *call, const Named &named);
  const Named *named(const std::map<const void *, Named> &all, const void *host);

  std::mutex mutex_;
  std::deque<RegisteredCode> registered_;
  std::map<const void *, Named> kernels_, variables_;
};

Registry &registry();

}  // namespace simt
