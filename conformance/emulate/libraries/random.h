// Random numbers on the host, for rocRAND and hipRAND.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace emulated {

// Philox4x32-10 of J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011): four numbers of a counter,
// of which a stream has consecutive ones, and a key.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

constexpr int philox_type = 404;  // ROCRAND_RNG_PSEUDO_PHILOX4_32_10

struct Generator {
  int type;
  bool of_host;  // its numbers go to the host's memory
  void *stream = nullptr;
  std::uint64_t seed = 0, offset = 0;
  // Numbers of 32 bits behind `offset` that have been taken. Copies of a generator take of the same numbers.
  std::shared_ptr<std::uint64_t> position = std::make_shared<std::uint64_t>(0);

  void restart() { *position = 0; }
};

// Each fills `count` elements from the generator's position on. That of a seed is the whole of a generator's numbers:
// the same seed, offset and calls give the same numbers.
void integers(Generator &generator, std::uint32_t *to, std::size_t count);
// In (0, 1]
void uniform(Generator &generator, float *to, std::size_t count);
void uniform(Generator &generator, double *to, std::size_t count);
// By the transform of Box and Muller, two of two uniform ones; the second of the last pair is left out where `count` is
// odd. With `logarithmic` exp of it.
void normal(Generator &generator, float *to, std::size_t count, float mean, float deviation, bool logarithmic);
void normal(Generator &generator, double *to, std::size_t count, double mean, double deviation, bool logarithmic);

}  // namespace emulated
