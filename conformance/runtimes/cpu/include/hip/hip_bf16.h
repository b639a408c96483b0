// HIP's header of bfloat16, for the host.
#pragma once
#pragma GCC system_header

#include "../simt/bfloat16.h"
#include "../simt/prelude.h"
