// CUDA's header of mathematical functions, for the host.
#pragma once
#pragma GCC system_header

#include "../simt/cuda_prelude.h"
