// For ROCm without headers: hiprtc itself supplies what a kernel needs of hip/math_functions.h.
#pragma once
