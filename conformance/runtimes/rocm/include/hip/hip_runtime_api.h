// For ROCm without headers: hiprtc itself supplies what a kernel needs of hip/hip_runtime_api.h.
#pragma once
