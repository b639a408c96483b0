// Rewrites clang's LLVM IR where host compilers implement an operation differently from GPU compilers.
//
//   float to integer   a GPU has no conversion to 8 or 16 bits: it converts to 32 bits, out of range to the nearest
//                      end, and keeps the low ones (300.0f becomes 44 as a byte). NaN becomes 0; in CUDA, where the
//                      source is a double or the result has 64 bits, it becomes the top bit (PTX ISA, cvt).
//   fmax, fmin         +0 is larger than -0
//   a * b + c * d      the first product is fused with the sum, as GPU compilers choose; where contraction is allowed.
//                      A host's optimiser may fuse either, or neither. Products of other statements are left to it.
#pragma once

#include <string>

#include "options.h"

namespace hiprtc {

// `text` is LLVM assembly before any optimisation; calls of the intrinsics become calls of functions appended to it.
std::string lower_for_gpu(const std::string &text, Dialect dialect);

}  // namespace hiprtc
