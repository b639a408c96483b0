#include "options.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <thread>

namespace simt {

constexpr long max_workers = 24;  // guard pages of fiber stacks are limited by vm.max_map_count

// What an order may end in, by Otherwise.
constexpr const char *otherwises[] = {"", "+shared", "+exact"};

struct Options::Number {
  const char *key;
  std::atomic<long> Options::*member;
  long low, high;
  bool two_values;    // low and high only
  bool zero_weakens;  // a check is off at 0
};

const Options::Number Options::numbers[] = {
    {"wave", &Options::wave_, 32, 64, true, false},
    {"threads", &Options::threads_, 1, max_workers, false, false},
    {"timeout_ms", &Options::timeout_ms_, 0, 3600000, false, true},
    {"poison", &Options::poison_, 0, 1, true, true},
    {"guard", &Options::guard_, 0, 1, true, true},
    {"print_bytes", &Options::print_bytes_, 0, 1 << 30, false, false},
};

Options::Options() : threads_(std::clamp(static_cast<long>(std::thread::hardware_concurrency()), 1L, 16L)) {
  const auto from_environment = [this](const char *key) {
    std::string name = "HIPCPU_";
    for (const char *c = key; *c; ++c) name += static_cast<char>(std::toupper(static_cast<unsigned char>(*c)));
    const char *value = std::getenv(name.c_str());
    if (value && *value && set(key, value, "environment") != Success)
      std::fprintf(stderr, "%s: %s\n", name.c_str(), last_message());
  };
  static_assert(std::size(numbers) + 1 == option_count);
  for (auto &source : sources_) source = "default";
  for (const Number &n : numbers) from_environment(n.key);
  from_environment("order");
}

Error Options::set_order(const std::string &value) {
  const std::size_t plus = std::min(value.find('+'), value.size());
  const std::string name = value.substr(0, plus), behind = value.substr(plus);
  std::size_t otherwise = 0;
  while (otherwise < std::size(otherwises) && behind != otherwises[otherwise]) ++otherwise;
  const auto set = [this, otherwise](Order order, std::uint64_t seed) {
    order_ = static_cast<std::uint64_t>(otherwise) << 40 | static_cast<std::uint64_t>(order) << 32 | seed;
    return Success;
  };
  const std::string prefix = "shuffle:";
  if (otherwise == std::size(otherwises)) {
    // said below
  } else if (name == "forward" || name == "reverse") {
    return set(name == "reverse" ? Order::Reverse : Order::Forward, 0);
  } else if (name.compare(0, prefix.size(), prefix) == 0) {
    char *end = nullptr;
    const char *digits = name.c_str() + prefix.size();
    const unsigned long seed = std::strtoul(digits, &end, 10);
    if (std::isdigit(static_cast<unsigned char>(*digits)) && *end == 0 && seed <= UINT32_MAX)
      return set(Order::Shuffle, seed);
  }
  return fail(InvalidValue,
              "option order: '%s' is not forward, reverse or shuffle:SEED (SEED from 0 to %u), and +shared or +exact",
              value.c_str(), UINT32_MAX);
}

Error Options::set(const char *key, const char *value, const char *source) {
  if (!key || !value) return fail(InvalidValue, "hipcpuSetOption: key and value must not be null");
  const std::string name = key;
  if (name == "order") {
    const Error error = set_order(value);
    if (!error) sources_[option_count - 1] = source;
    return error;
  }
  for (const Number &n : numbers) {
    if (name != n.key) continue;
    char *end = nullptr;
    const long v = std::strtol(value, &end, 10);
    if (end == value || *end || v < n.low || v > n.high || (n.two_values && v != n.low && v != n.high))
      return fail(InvalidValue, "option %s: '%s' is not %s%ld %s %ld", key, value,
                  n.two_values ? "" : "a whole number from ", n.low, n.two_values ? "or" : "to", n.high);
    (this->*n.member).store(v);
    sources_[&n - numbers] = source;
    if (n.member == &Options::print_bytes_) printed_ = 0;
    return Success;
  }
  return fail(InvalidValue, "unknown option '%s': use wave, order, threads, timeout_ms, poison, guard or print_bytes",
              key);
}

bool Options::get(const char *key, std::string &value) const {
  if (!key) return false;
  const std::string name = key;
  if (name == "order") {
    static constexpr const char *names[] = {"forward", "reverse", "shuffle:"};
    value = names[static_cast<unsigned>(order())];
    if (order() == Order::Shuffle) value += std::to_string(seed());
    value += otherwises[static_cast<unsigned>(otherwise())];
    return true;
  }
  for (const Number &n : numbers) {
    if (name == n.key) {
      value = std::to_string((this->*n.member).load());
      return true;
    }
  }
  return false;
}

std::string Options::json() const {
  std::string text = "{";
  const auto add = [this, &text](const char *key, bool weakens, std::size_t index) {
    std::string value;
    get(key, value);
    text += (text.size() > 1 ? ", \"" : "\"") + std::string(key) + "\": {\"value\": \"" + value + "\", \"from\": \"" +
            sources_[index].load() + "\", \"weakens\": " + (weakens ? "true" : "false") + "}";
  };
  for (const Number &n : numbers)
    add(n.key, n.zero_weakens && (this->*n.member).load() == 0, static_cast<std::size_t>(&n - numbers));
  add("order", false, option_count - 1);
  return text + "}";
}

Options &options() {
  static Options &instance = *new Options;  // never destroyed: worker threads outlive main
  return instance;
}

}  // namespace simt
