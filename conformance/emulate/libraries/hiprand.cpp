// libhiprand.so of an emulated ROCm: pseudo-random numbers on the host.
#include "rand_api.h"

using namespace emulated;

namespace {

constexpr int launch_failure = 201;
constexpr int version = 300300;

// hipRAND numbers types in another order than rocRAND.
constexpr RandomType types[] = {
    {400, 401}, {401, 401}, {402, 402}, {403, 403}, {404, 407}, {405, 404},
};

}  // namespace

LIBRARY_API int hiprandCreateGenerator(Generator **generator, int type) {
  return create("hiprandCreateGenerator", generator, type, false, types);
}
LIBRARY_API int hiprandCreateGeneratorHost(Generator **generator, int type) {
  return create("hiprandCreateGeneratorHost", generator, type, true, types);
}
LIBRARY_API int hiprandDestroyGenerator(Generator *generator) { return destroy(generator); }
LIBRARY_API int hiprandSetStream(Generator *generator, void *stream) { return set_stream(generator, stream); }
LIBRARY_API int hiprandSetPseudoRandomGeneratorSeed(Generator *generator, unsigned long long seed) {
  return set<std::uint64_t>(generator, &Generator::seed, seed);
}
LIBRARY_API int hiprandSetGeneratorOffset(Generator *generator, unsigned long long offset) {
  return set<std::uint64_t>(generator, &Generator::offset, offset);
}
LIBRARY_API int hiprandSetGeneratorOrdering(Generator *generator, int ordering) {
  return set_ordering(generator, ordering);
}
LIBRARY_API int hiprandGetVersion(int *number) {
  if (!number) return rand_out_of_range;
  *number = version;
  return rand_success;
}

LIBRARY_API int hiprandGenerate(Generator *generator, unsigned *to, std::size_t count) {
  return generate("hiprandGenerate", generator, to, count, launch_failure,
                  [](auto &by, auto *at, std::size_t n) { integers(by, at, n); });
}
LIBRARY_API int hiprandGenerateUniform(Generator *generator, float *to, std::size_t count) {
  return generate("hiprandGenerateUniform", generator, to, count, launch_failure,
                  [](auto &by, auto *at, std::size_t n) { uniform(by, at, n); });
}
LIBRARY_API int hiprandGenerateUniformDouble(Generator *generator, double *to, std::size_t count) {
  return generate("hiprandGenerateUniformDouble", generator, to, count, launch_failure,
                  [](auto &by, auto *at, std::size_t n) { uniform(by, at, n); });
}
LIBRARY_API int hiprandGenerateNormal(Generator *generator, float *to, std::size_t count, float mean, float deviation) {
  return generate("hiprandGenerateNormal", generator, to, count, launch_failure,
                  [=](auto &by, auto *at, std::size_t n) { normal(by, at, n, mean, deviation, false); });
}
LIBRARY_API int hiprandGenerateNormalDouble(Generator *generator, double *to, std::size_t count, double mean,
                                            double deviation) {
  return generate("hiprandGenerateNormalDouble", generator, to, count, launch_failure,
                  [=](auto &by, auto *at, std::size_t n) { normal(by, at, n, mean, deviation, false); });
}
LIBRARY_API int hiprandGenerateLogNormal(Generator *generator, float *to, std::size_t count, float mean,
                                         float deviation) {
  return generate("hiprandGenerateLogNormal", generator, to, count, launch_failure,
                  [=](auto &by, auto *at, std::size_t n) { normal(by, at, n, mean, deviation, true); });
}
LIBRARY_API int hiprandGenerateLogNormalDouble(Generator *generator, double *to, std::size_t count, double mean,
                                               double deviation) {
  return generate("hiprandGenerateLogNormalDouble", generator, to, count, launch_failure,
                  [=](auto &by, auto *at, std::size_t n) { normal(by, at, n, mean, deviation, true); });
}
