// The host API alone; hip_runtime.h has it too.
#pragma once
#include "hip_runtime.h"
