// NVRTC has these types and functions built in.
#pragma once
#include "hip_runtime.h"
