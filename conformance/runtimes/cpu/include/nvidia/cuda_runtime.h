// CUDA's runtime header, for the host. A CUDA source has what device code needs of it already.
#pragma once
#pragma GCC system_header

#include "cuda_runtime_api.h"
