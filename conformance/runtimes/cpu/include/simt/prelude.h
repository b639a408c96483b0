// Forced in front of every HIP source: what hiprtc gives a kernel without an #include.
#pragma once
#pragma GCC system_header

#include "qualifiers.h"

#include "entry.h"
#include "library.h"
#include "support.h"

#include "integer.h"
#include "math.h"

#include "atomics.h"
#include "collectives.h"
#include "thread.h"

#include "vectors.h"
