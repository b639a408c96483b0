#include "random.h"

#include <cmath>
#include <numbers>

namespace emulated {
namespace {

// The numbers of a generator from its position on.
class Numbers {
 public:
  explicit Numbers(Generator &generator) : generator_(generator) {
    // Types whose numbers are not reproduced have a stream each, by their own key.
    const std::uint64_t other =
        generator.type == philox_type ? 0 : 0x9e3779b97f4a7c15u * static_cast<unsigned>(generator.type);
    const std::uint64_t key = generator.seed ^ other;
    key_ = {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)};
  }

  std::uint32_t next() {
    const std::uint64_t place = generator_.offset + (*generator_.position)++;
    if (!begun_ || place % 4 == 0) {
      four_ = philox({static_cast<std::uint32_t>(place / 4), static_cast<std::uint32_t>(place / 4 >> 32), 0, 0}, key_);
      begun_ = true;
    }
    return four_[place % 4];
  }

 private:
  Generator &generator_;
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> four_{};
  bool begun_ = false;
};

constexpr float step32 = 0x1p-32f;
constexpr double step53 = 0x1p-53;

template <class T>
void store_pair(T *to, std::size_t left, T mean, T deviation, bool logarithmic, T first, T second) {
  const T both[] = {first, second};
  for (std::size_t i = 0; i < 2 && i < left; ++i) {
    const T value = mean + both[i] * deviation;
    to[i] = logarithmic ? std::exp(value) : value;
  }
}

}  // namespace

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = std::uint64_t{0xd2511f53} * counter[0], second = std::uint64_t{0xcd9e8d57} * counter[2];
    counter = {static_cast<std::uint32_t>(second >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(second),
               static_cast<std::uint32_t>(first >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(first)};
    key = {key[0] + 0x9e3779b9, key[1] + 0xbb67ae85};
  }
  return counter;
}

void integers(Generator &generator, std::uint32_t *to, std::size_t count) {
  Numbers numbers(generator);
  for (std::size_t i = 0; i < count; ++i) to[i] = numbers.next();
}

void uniform(Generator &generator, float *to, std::size_t count) {
  Numbers numbers(generator);
  for (std::size_t i = 0; i < count; ++i) to[i] = step32 + static_cast<float>(numbers.next()) * step32;
}

void uniform(Generator &generator, double *to, std::size_t count) {
  Numbers numbers(generator);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t low = numbers.next(), high = numbers.next() >> 11;
    to[i] = step53 + static_cast<double>(high << 32 | low) * step53;
  }
}

void normal(Generator &generator, float *to, std::size_t count, float mean, float deviation, bool logarithmic) {
  Numbers numbers(generator);
  constexpr float turn = step32 * 2 * std::numbers::pi_v<float>;
  for (std::size_t i = 0; i < count; i += 2) {
    const float u = step32 + static_cast<float>(numbers.next()) * step32;
    const float angle = turn + static_cast<float>(numbers.next()) * turn;
    const float length = std::sqrt(-2.0f * std::log(u));
    store_pair(to + i, count - i, mean, deviation, logarithmic, std::sin(angle) * length, std::cos(angle) * length);
  }
}

void normal(Generator &generator, double *to, std::size_t count, double mean, double deviation, bool logarithmic) {
  Numbers numbers(generator);
  // 53 bits: the second number's upper ones lie over the first's.
  const auto wide = [&numbers] {
    const std::uint64_t low = numbers.next(), high = numbers.next();
    return static_cast<double>(low ^ high << 21) * step53 + step53;
  };
  for (std::size_t i = 0; i < count; i += 2) {
    const double u = wide(), angle = 2 * std::numbers::pi * wide();
    const double length = std::sqrt(-2.0 * std::log(u));
    store_pair(to + i, count - i, mean, deviation, logarithmic, std::sin(angle) * length, std::cos(angle) * length);
  }
}

}  // namespace emulated
