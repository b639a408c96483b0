// Copying a module image of unknown length into a file, and checking it there.
#pragma once

#include <cstdint>

#include "error.h"
#include "module.h"

namespace simt {

// Errors: InvalidImage where it is not a module, is truncated or damaged; NoBinaryForGpu for a GPU's code object.
Error copy_image(const void *image, FileDescriptor &file, std::uint64_t &hash);

}  // namespace simt
