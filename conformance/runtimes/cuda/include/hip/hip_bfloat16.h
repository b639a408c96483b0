// HIP's older name of the type.
#pragma once
#include "hip_bf16.h"

using hip_bfloat16 = __nv_bfloat16;
