// CUDA's header of making short vectors, for the host.
#pragma once
#pragma GCC system_header

#include "../simt/cuda_prelude.h"
