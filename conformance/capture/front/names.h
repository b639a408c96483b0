// Names of kernels as their source has them.
#pragma once

#include <string>

namespace capture {

// Of a mangled symbol what stands before the parameters, `scale<float,3>` of `void scale<float, 3>(float*)`; every
// other name as it is. There are no spaces in it: %20 stands for one.
const std::string &readable(const std::string &symbol);

}  // namespace capture
