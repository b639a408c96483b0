// Math functions whose error in the host's libm exceeds what HIP documents. libhiprtc links modules with
// --wrap, so that a kernel's call of tanh lands here.
#include <cmath>

#include "simt/abi.h"

extern "C" {

// glibc's tanh and tanhf are up to 2.1 ulp off, HIP's 1 and 2: computed in the next wider type, then rounded.
SIMT_EXPORT double __wrap_tanh(double x) { return static_cast<double>(std::tanh(static_cast<long double>(x))); }
SIMT_EXPORT float __wrap_tanhf(float x) { return static_cast<float>(std::tanh(static_cast<double>(x))); }

// C99 pow(x, 0) and pow(1, y) are 1 for every NaN on a GPU; glibc makes an exception for signalling NaN.
SIMT_EXPORT double __wrap_pow(double x, double y) { return y == 0 || x == 1 ? 1 : std::pow(x, y); }
SIMT_EXPORT float __wrap_powf(float x, float y) { return y == 0 || x == 1 ? 1 : std::pow(x, y); }

}  // extern "C"
