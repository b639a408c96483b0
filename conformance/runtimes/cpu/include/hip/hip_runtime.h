// The host's stand-in for HIP's main header. A source compiled by the cpu runtime has it already.
#pragma once
#pragma GCC system_header

#include "../simt/prelude.h"
