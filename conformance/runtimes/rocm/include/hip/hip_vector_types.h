// For ROCm without headers: hiprtc itself supplies what a kernel needs of hip/hip_vector_types.h.
#pragma once
