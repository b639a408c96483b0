// Run-time options, see hipcpu.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "error.h"

namespace simt {

enum class Order : unsigned { Forward, Reverse, Shuffle };

// What is otherwise than in the order alone: shared memory begins with other bytes; fast functions are the exact ones.
enum class Otherwise : unsigned { Nothing, Shared, Exact };

class Options {
 public:
  Options();  // defaults, then the environment

  Error set(const char *key, const char *value) { return set(key, value, "caller"); }
  bool get(const char *key, std::string &value) const;
  std::string json() const;  // every option: value, who set it, whether checks are weaker for it

  unsigned wave() const { return static_cast<unsigned>(wave_.load(std::memory_order_relaxed)); }
  unsigned threads() const { return static_cast<unsigned>(threads_.load(std::memory_order_relaxed)); }
  unsigned timeout_ms() const { return static_cast<unsigned>(timeout_ms_.load(std::memory_order_relaxed)); }
  bool poison() const { return poison_.load(std::memory_order_relaxed) != 0; }
  std::uint64_t print_bytes() const { return static_cast<std::uint64_t>(print_bytes_.load()); }
  // Counts `bytes` of kernels' printf; returns how many had been printed since the option was last set.
  std::uint64_t count_printed(std::uint64_t bytes) { return printed_.fetch_add(bytes); }
  bool guard() const { return guard_.load(std::memory_order_relaxed) != 0; }
  // One word, so that order, seed and what is otherwise are always set together.
  Order order() const { return static_cast<Order>(order_.load(std::memory_order_relaxed) >> 32 & 0xff); }
  Otherwise otherwise() const { return static_cast<Otherwise>(order_.load(std::memory_order_relaxed) >> 40); }
  std::uint32_t seed() const { return static_cast<std::uint32_t>(order_.load(std::memory_order_relaxed)); }

 private:
  struct Number;
  static const Number numbers[];
  static constexpr std::size_t option_count = 7;  // the numbers, then the order

  Error set(const char *key, const char *value, const char *source);
  Error set_order(const std::string &value);

  std::atomic<long> wave_{32};
  std::atomic<long> threads_;
  std::atomic<long> timeout_ms_{5000};
  std::atomic<long> poison_{1};
  std::atomic<long> guard_{1};
  std::atomic<long> print_bytes_{1 << 20};
  std::atomic<std::uint64_t> printed_{0};
  std::atomic<std::uint64_t> order_{0};
  std::atomic<const char *> sources_[option_count];
};

Options &options();

}  // namespace simt
