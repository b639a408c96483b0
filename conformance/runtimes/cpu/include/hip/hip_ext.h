// HIP's header of this name, for the host.
#pragma once
#pragma GCC system_header

#include "../simt/prelude.h"
