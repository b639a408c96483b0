// The calls of rocRAND and hipRAND, which differ in their names, in numbers of generators and in some of statuses.
#pragma once

#include <algorithm>
#include <iterator>

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

// `fill` writes `count` numbers of type T; `failed` is the library's status for memory that a GPU cannot access.
template <class T, class Fill>
int generate(const char *function, Generator *generator, T *to, std::size_t count, int failed, Fill fill) {
  if (!generator) return rand_not_created;
  tell_of_capture(function, generator->stream);
  if (count == 0) return rand_success;
  if (!to) return failed;
  if (!generator->of_host && !accessible(function, "output", to, count * sizeof(T))) return failed;
  fill();
  return rand_success;
}

}  // namespace emulated
