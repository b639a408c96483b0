// The calls of rocRAND and hipRAND, which differ in their names, in numbers of generators and in some of statuses.
#pragma once

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>

#include "common.h"
#include "random.h"

namespace emulated {

constexpr int rand_success = 0, rand_not_created = 101, rand_type_error = 103, rand_out_of_range = 104;

// `types` has the numbers of the types that the library makes, each with rocRAND's own.
struct RandomType {
  int number, of_rocrand;
};

template <std::size_t count>
int create(const char *function, Generator **generator, int number, bool of_host, const RandomType (&types)[count]) {
  const auto *const found = std::ranges::find(types, number, &RandomType::number);
  if (found == std::end(types)) {
    say("%s: generators of type %d are not emulated by candle-parity", function, number);
    return rand_type_error;
  }
  if (!generator) return rand_not_created;
  *generator = new Generator{found->of_rocrand, of_host};
  return rand_success;
}

inline int destroy(Generator *generator) {
  if (!generator) return rand_not_created;
  delete generator;
  return rand_success;
}

// A property from whose setting on the generator begins anew.
template <class T>
int set(Generator *generator, T Generator::*property, T value) {
  if (!generator) return rand_not_created;
  generator->*property = value;
  generator->restart();
  return rand_success;
}

inline int set_stream(Generator *generator, void *stream) {
  if (!generator) return rand_not_created;
  generator->stream = stream;
  return rand_success;
}

// Orderings 100 to 104: numbers here are the same in all of them.
inline int set_ordering(Generator *generator, int ordering) {
  if (!generator) return rand_not_created;
  if (ordering < 100 || ordering > 104) return rand_out_of_range;
  generator->restart();
  return rand_success;
}

// `fill` writes `count` numbers of type T by the generator that it is given; `failed` is the library's status for
// memory that a GPU cannot access.
template <class T, class Fill>
int generate(const char *function, Generator *generator, T *to, std::size_t count, int failed, Fill fill) {
  if (!generator) return rand_not_created;
  if (count == 0) return rand_success;
  if (!to) return failed;
  const auto work = [=, of_host = generator->of_host](Generator &by) {
    if (!of_host && !accessible(function, "output", to, count * sizeof(T))) return false;
    fill(by, to, count);
    return true;
  };
  // rocRAND passes Philox's state by value to its kernel, so that each launch of a graph writes the same numbers, and
  // goes on behind them itself. The states of other types are in the device's memory, where each launch goes on.
  const bool repeats = generator->type == philox_type;
  const bool kept = kept_for_graph(function, generator->stream, [=, copy = *generator, from = *generator->position] {
    Generator own = copy;
    if (repeats) own.position = std::make_shared<std::uint64_t>(from);
    return work(own);
  });
  if (!kept) return work(*generator) ? rand_success : failed;
  if (!repeats) return rand_success;
  std::array<T, 4096> unused;
  for (std::size_t done = 0; done < count; done += unused.size())
    fill(*generator, unused.data(), std::min(unused.size(), count - done));
  return rand_success;
}

}  // namespace emulated
