// All that differs between the targets of these kernels: AMD GPUs, NVIDIA GPUs and the host. A target's header has, in
// namespace candle::target, with the same bits on every target but for the sign and payload of a NaN:
//
//   f16_to_f32, f8_to_f32                 exact
//   f32_to_f16, f32_to_bf16, f32_to_f8    to nearest even; subnormals stay; f8 saturates, and has the NaN 0x7f only
//   fma_f16, fma_bf16                     a * b + c, rounded once; subnormals stay
//   dot4(a, b, sum)                       sum + a0 * b0 + a1 * b1 + a2 * b2 + a3 * b3 of signed bytes, wrapping
//   swap_word<mask>(x)                    the x of lane (own lane ^ mask) in a group of 32, for u32 and u64
//   keep_order(x)                         in a loop: the next round is not begun before x is computed
//   computed_here(x)                      x: what follows from it is computed again, not kept in registers
//   on_gpu
//   few_registers                         a tile of a quantized product takes all registers of a thread
//
// and the macros
//
//   CANDLE_REQUIRE(condition, why)        a fault unless the condition holds
//   CANDLE_ONE_COPY                       of code that every kernel has
//   CANDLE_INLINED                        of code that a call would give a stack on an AMD GPU
//   CANDLE_APART                          the same, where an NVIDIA GPU does better with a call
//   CANDLE_NOT_INLINED                    of code that is better called on every GPU
//   CANDLE_UNROLL_COLUMNS                 before loops whose rounds have an array's element each
#pragma once

#include "portable.h"

#if defined(__AMDGCN__)
#include "target_amd.h"
#elif defined(__CUDA_ARCH__)
#include "target_nvidia.h"
#else
#include "target_host.h"
#endif
