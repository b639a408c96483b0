// HIP's header of short vectors, for the host.
#pragma once
#pragma GCC system_header

#include "../simt/prelude.h"
