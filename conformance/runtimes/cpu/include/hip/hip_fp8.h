// HIP's header of 8-bit floating point, for the host.
#pragma once
#pragma GCC system_header

#include "../simt/float8.h"
#include "../simt/prelude.h"
