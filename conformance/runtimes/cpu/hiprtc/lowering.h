// Rewrites clang's LLVM IR where host compilers implement an operation differently from GPU compilers.
//
//   float to integer   an NVIDIA GPU converts to 32 bits, out of range to the nearest end, and keeps the low ones of
//                      them for a narrower type (300.0f becomes 44 as a byte); NaN becomes 0, or the top bit where the
//                      source is a double or the result has 64 bits (PTX ISA, cvt).
//                      On an AMD GPU the same, but NaN is always 0, a byte is made of a *signed* integer (-1.0f becomes
//                      255, not 0), a half becomes 8 or 16 bits through 16, and 64 bits are two conversions to 32.
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
