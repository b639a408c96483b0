// CUDA's header of device functions, for the host.
#pragma once
#pragma GCC system_header

#include "../simt/cuda_prelude.h"
