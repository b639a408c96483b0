// The parameters of kernels as AMD code objects describe them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace capture {

struct Parameter {
  std::uint32_t offset, bytes;
};
using Parameters = std::vector<Parameter>;
using Kernels = std::map<std::string, Parameters, std::less<>>;

// The kernels of the code object or offload bundle at `image`, which lies in memory for as long as its own headers say;
// none where it is of another format, such as a compressed bundle.
Kernels kernels_at(const void *image);

// The same of a file's content.
Kernels kernels_in(std::string_view content);

}  // namespace capture
