// HIP's header of 16-bit floating point, for the host.
#pragma once
#pragma GCC system_header

#include "../simt/half.h"
#include "../simt/prelude.h"
