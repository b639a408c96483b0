// HIP's header of bfloat16, older header, for the host.
#pragma once
#pragma GCC system_header

#include "../simt/hip_bfloat16.h"
#include "../simt/prelude.h"
