// Makes clang's LLVM IR look for accesses that are not aligned, and do without alignment itself.
//
// C++ promises the compiler that a float4 lies at a multiple of 16. AMD GPUs access global memory at any address
// (LLVM's AMDGPU usage, unaligned-access-mode, which ROCm sets), NVIDIA's stop with error 716
// (cudaErrorMisalignedAddress), and an x86 processor faults on 16 bytes alone. So no instruction here depends on an
// alignment, and before an access there is a check:
//   HIP    of what is copied as a whole, structures and vectors of 4 bytes and more: a remark (simt_note_misaligned)
//   CUDA   of every access: a fault (simt_misaligned)
// Local variables, which the compiler aligns, are left out, as are atomic operations.
#pragma once

#include <string>

#include "options.h"

namespace hiprtc {

// `text` is LLVM assembly before any optimisation.
std::string check_alignment(const std::string &text, Dialect dialect);

}  // namespace hiprtc
