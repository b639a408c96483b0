#include "loaded.h"

#include <new>
#include <vector>

#include "memory.h"

namespace isa {

simt::Error Loaded::load(const std::string &file, void **out) {
  try {
    auto object = std::make_unique<Object>(file);
    const std::lock_guard lock(mutex_);
    for (const auto &[name, kernel] : object->kernels()) kernels_.insert(&kernel);
    for (const auto &[name, window] : object->globals())
      simt::memory().add_global(reinterpret_cast<const void *>(window.begin), window.end - window.begin, name);
    *out = object.get();
    objects_.emplace(object.get(), std::move(object));
    return simt::Success;
  } catch (const Fault &fault) {
    return simt::fail(fault.kind == Fault::Unknown ? simt::NoBinaryForGpu : simt::InvalidImage, "the code object %s%s",
                      fault.kind == Fault::Unknown ? "cannot be interpreted: the interpreter does not know " : "",
                      fault.what());
  } catch (const std::bad_alloc &) {
    return simt::fail(simt::OutOfMemory, "the code object does not fit the memory");
  } catch (const std::exception &error) {
    return simt::fail(simt::InvalidImage, "the code object cannot be read: %s", error.what());
  }
}

Object *Loaded::find(const void *handle) {
  const std::lock_guard lock(mutex_);
  const auto it = objects_.find(handle);
  return it == objects_.end() ? nullptr : it->second.get();
}

const Kernel *Loaded::kernel(const void *handle) {
  const std::lock_guard lock(mutex_);
  const auto it = kernels_.find(handle);
  return it == kernels_.end() ? nullptr : static_cast<const Kernel *>(*it);
}

bool Loaded::unload(const void *handle) {
  const std::lock_guard lock(mutex_);
  const auto it = objects_.find(handle);
  if (it == objects_.end()) return false;
  forget(*it->second);
  kept_.erase(handle);
  objects_.erase(it);
  return true;
}

void Loaded::keep(const void *handle) {
  const std::lock_guard lock(mutex_);
  kept_.insert(handle);
}

void Loaded::unload_all() {
  const std::lock_guard lock(mutex_);
  std::erase_if(objects_, [this](const auto &row) {
    if (kept_.contains(row.first)) return false;
    forget(*row.second);
    return true;
  });
}

void Loaded::forget(const Object &object) {
  std::vector<const void *> bases;
  for (const auto &[name, kernel] : object.kernels()) kernels_.erase(&kernel);
  for (const auto &[name, window] : object.globals()) bases.push_back(reinterpret_cast<const void *>(window.begin));
  simt::memory().remove_globals(bases);
}

Loaded &loaded() {
  static Loaded &instance = *new Loaded;
  return instance;
}

}  // namespace isa
