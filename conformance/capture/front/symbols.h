// Functions of the GPU's library that this library stands in front of, and how the real ones are found.
#pragma once

#include <atomic>
#include <span>

#define CAPTURE_API extern "C" __attribute__((visibility("default")))

namespace capture {

// What HIP and CUDA alike call a function that the library does not have.
constexpr int not_supported = 801;

// One function that a program gets from us. Programs that are linked find ours because it is loaded first; those that
// load the library themselves get ours from `dlsym`, or from the library's own look-up.
class Hook {
 public:
  template <class Function>
  Hook(const char *name, Function *ours) : name_(name), ours_(reinterpret_cast<void *>(ours)) {}

  const char *name() const { return name_; }
  void *ours() const { return ours_; }

  // What the program would have found without us.
  void set_real(void *real) { real_.store(real); }

  // The real function; null where no library that is loaded has it.
  void *real();

  template <class Function>
  Function as(Function) {
    return reinterpret_cast<Function>(real());
  }

 private:
  const char *name_;
  void *ours_;
  std::atomic<void *> real_{nullptr};
};

// The functions of each library; a file per library has its own.
std::span<Hook> hip_hooks();
std::span<Hook> cuda_hooks();

// The hook of that name; null where there is none.
Hook *hook_named(const char *name);

// The function `name` of the library that holds `of`; null where it has none.
void *neighbour(void *of, const char *name);

// What a look-up that found `found` under `name` is to answer: ours where we stand in front of it.
void *in_front(const char *name, void *found);

}  // namespace capture
