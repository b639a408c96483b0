// Translation of hiprtc's options, which are clang's, to NVRTC's.
#pragma once

#include <string>
#include <vector>

namespace nvrtc {

struct Options {
  std::vector<std::string> words;  // for NVRTC
  std::string architecture;        // "sm_90"; "" where the caller names none
  std::string standard;            // "c++20"; "" likewise
  std::string language;            // "hip" or "cuda" from -x; "" likewise
  std::string bad;                 // the first option that is not known, "" if all are
};
Options parse_options(const std::vector<std::string> &words);

}  // namespace nvrtc
