// The kernels that callers have handles of: their names, and their limit of dynamic shared memory.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <unordered_map>

namespace cuda {

struct Function {
  const char *name = nullptr;  // lives as long as the process
  void *module = nullptr;
  int device = 0;
  unsigned max_dynamic = 0;  // as set with cuFuncSetAttribute
};

// A handle is CUDA's CUfunction; others are an error, where CUDA would crash.
class Functions {
 public:
  void add(void *handle, const std::string &name, void *module, int device);
  bool find(const void *handle, Function &found);
  void set_max_dynamic(const void *handle, unsigned bytes);
  void add_module(void *module, int device);
  bool has_module(const void *module);
  void remove_module(void *module);
  void remove_device(int device);

 private:
  std::mutex mutex_;
  std::set<std::string> names_;
  std::unordered_map<const void *, Function> functions_;
  std::unordered_map<const void *, int> modules_;  // with their devices
};

Functions &functions();

}  // namespace cuda
