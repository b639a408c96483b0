// For host functions that launch kernels. hipRTC, NVRTC and the harness's minimal header are for the device alone,
// without the host's API: there CANDLE_HAS_HOST is not defined, and the host functions are left out.
#pragma once

#include "types.h"

#if !defined(__HIPCC_RTC__) && !defined(__CUDACC_RTC__) && !defined(CANDLE_PARITY_MINIMAL_HIP)
#define CANDLE_HAS_HOST 1

namespace candle {

inline unsigned ceil_div(i64 a, i64 b) { return unsigned((a + b - 1) / b); }

}  // namespace candle
#endif
