// For ROCm without headers: hiprtc itself supplies what a kernel needs of hip/device_functions.h.
#pragma once
