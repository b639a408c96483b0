#include "options.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>

namespace nvrtc {
namespace {

bool starts_with(const std::string &text, std::string_view prefix) { return text.rfind(prefix, 0) == 0; }

// Options with a value, in one word or in two, and what NVRTC calls them.
struct WithValue {
  std::string_view name, nvrtc;
};
constexpr WithValue with_value[] = {{"-include", "--pre-include="},
                                    {"-isystem", "-I"},
                                    {"-iquote", "-I"},
                                    {"-I", "-I"},
                                    {"-D", "-D"},
                                    {"-U", "-U"},
                                    {"-x", ""}};

// "value" of "--name=value" or "-name=value" for one of the names.
bool value_of(const std::string &word, std::initializer_list<const char *> names, std::string &value) {
  for (const char *name : names) {
    const std::string prefix = std::string(name) + "=";
    if (!starts_with(word, prefix)) continue;
    value = word.substr(prefix.size());
    return true;
  }
  return false;
}

// What NVRTC does anyway, or what has no meaning for it.
bool is_without_effect(const std::string &word) {
  return starts_with(word, "-O") || starts_with(word, "-W") || starts_with(word, "-w") || word == "-g" ||
         starts_with(word, "-munsafe-fp-atomics") || word == "-fno-gpu-rdc";
}

}  // namespace

Options parse_options(const std::vector<std::string> &words) {
  Options options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string &word = words[i];
    std::string value;
    const auto *taking = std::find_if(std::begin(with_value), std::end(with_value),
                                      [&](const WithValue &row) { return starts_with(word, row.name); });
    if (taking != std::end(with_value)) {
      const bool alone = word == taking->name;
      if (alone && i + 1 == words.size()) {
        options.bad = word;
        return options;
      }
      value = alone ? words[++i] : word.substr(taking->name.size());
      if (taking->name == "-x")
        options.language = value;
      else
        options.words.push_back(std::string(taking->nvrtc) + value);
    } else if (value_of(word, {"--gpu-architecture", "-arch", "--offload-arch"}, value) && starts_with(value, "sm_")) {
      options.architecture = value;
    } else if (value_of(word, {"-std", "--std"}, value)) {
      options.standard = starts_with(value, "gnu++") ? "c++" + value.substr(5) : value;
    } else if (word == "-ffast-math" || word == "--use_fast_math" || word == "-use_fast_math") {
      options.words.emplace_back("--use_fast_math");
    } else if (value_of(word, {"-ffp-contract"}, value)) {
      options.words.push_back(value == "off" ? "--fmad=false" : "--fmad=true");
    } else if (value_of(word, {"--fmad", "--maxrregcount", "--prec-div", "--prec-sqrt", "--ftz", "--pre-include"},
                        value) ||
               word == "-lineinfo" || word == "--generate-line-info" || word == "-G") {
      options.words.push_back(word);
    } else if (!is_without_effect(word)) {
      options.bad = word;
      return options;
    }
  }
  return options;
}

}  // namespace nvrtc
