// For ROCm without headers: hiprtc itself supplies what a kernel needs of hip/hip_fp16.h.
#pragma once
