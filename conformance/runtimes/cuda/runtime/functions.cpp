#include "functions.h"

namespace cuda {

void Functions::add(void *handle, const std::string &name, void *module, int device) {
  const std::lock_guard lock(mutex_);
  functions_.try_emplace(handle, Function{names_.insert(name).first->c_str(), module, device, 0});
}

bool Functions::find(const void *handle, Function &found) {
  const std::lock_guard lock(mutex_);
  const auto it = functions_.find(handle);
  if (it == functions_.end()) return false;
  found = it->second;
  return true;
}

void Functions::set_max_dynamic(const void *handle, unsigned bytes) {
  const std::lock_guard lock(mutex_);
  const auto it = functions_.find(handle);
  if (it != functions_.end()) it->second.max_dynamic = bytes;
}

void Functions::add_module(void *module, int device) {
  const std::lock_guard lock(mutex_);
  modules_[module] = device;
}

bool Functions::has_module(const void *module) {
  const std::lock_guard lock(mutex_);
  return modules_.count(module) != 0;
}

void Functions::remove_module(void *module) {
  const std::lock_guard lock(mutex_);
  modules_.erase(module);
  std::erase_if(functions_, [module](const auto &row) { return row.second.module == module; });
}

void Functions::remove_device(int device) {
  const std::lock_guard lock(mutex_);
  std::erase_if(modules_, [device](const auto &row) { return row.second == device; });
  std::erase_if(functions_, [device](const auto &row) { return row.second.device == device; });
}

Functions &functions() {
  static Functions &instance = *new Functions;
  return instance;
}

}  // namespace cuda
