// Recording launches: which ones, and how they are written. What knows HIP or CUDA is in hip.cpp and cuda.cpp.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "parameters.h"

namespace capture {

struct Shape {
  unsigned x, y, z;
};

// Where an allocation lies on the device.
struct Range {
  const char *begin = nullptr;
  std::size_t bytes = 0;
};

// What the recorder asks of a GPU's library. None of it changes what the program gets from its own calls.
class Gpu {
 public:
  virtual ~Gpu() = default;
  virtual bool find(const void *address, Range &range) = 0;
  virtual bool read(void *to, const void *from, std::size_t bytes) = 0;
  virtual bool wait() = 0;                      // until everything that was put on the device is done
  virtual bool is_capturing(void *stream) = 0;  // whether launches go into a graph in place of the device
  virtual bool captures() = 0;  // whether those of any stream do: to wait for the device then would end that
};

// A launch as the program asks for it. `known` are the kernel's parameters where the library knows them.
struct Launch {
  std::string name;
  Shape grid, block;
  std::size_t shared;
  void *stream;
  void **params, **extra;
  const Parameters *known;
};

// What makes the launch: the library's own function, whose error code it returns.
using Go = std::function<int()>;

// Make a launch, and record it where the plan asks for that; what `go` returns. A launch that is made inside of another
// one, by the library itself, is passed on.
int launched(Gpu &gpu, const Launch &launch, const Go &go);

// Note something that cannot be recorded launch by launch, such as a graph.
void note(const char *what);

}  // namespace capture
