// CUDA's header of built-in variables, for the host.
#pragma once
#pragma GCC system_header

#include "../simt/cuda_prelude.h"
