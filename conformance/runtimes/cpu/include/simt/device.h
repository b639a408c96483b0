// What device code of both dialects has without an #include. The dialect's own prelude comes before.
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
