// librocrand.so of an emulated ROCm: pseudo-random numbers on the host.
#include "rand_api.h"

using namespace emulated;

namespace {

constexpr int launch_failure = 107;
constexpr int version = 300300;  // of ROCm 6.3

constexpr RandomType types[] = {
    {400, 401}, {401, 401}, {402, 402}, {403, 403}, {404, 404}, {405, 405},
    {406, 406}, {407, 407}, {408, 408}, {409, 409}, {410, 410}, {411, 411},
};

}  // namespace

LIBRARY_API int rocrand_create_generator(Generator **generator, int type) {
  return create("rocrand_create_generator", generator, type, false, types);
}
LIBRARY_API int rocrand_create_generator_host(Generator **generator, int type) {
  return create("rocrand_create_generator_host", generator, type, true, types);
}
LIBRARY_API int rocrand_create_generator_host_blocking(Generator **generator, int type) {
  return create("rocrand_create_generator_host_blocking", generator, type, true, types);
}
LIBRARY_API int rocrand_destroy_generator(Generator *generator) { return destroy(generator); }
LIBRARY_API int rocrand_initialize_generator(const Generator *generator) {
  return generator ? rand_success : rand_not_created;
}
LIBRARY_API int rocrand_set_stream(Generator *generator, void *stream) { return set_stream(generator, stream); }
LIBRARY_API int rocrand_set_seed(Generator *generator, unsigned long long seed) {
  return set<std::uint64_t>(generator, &Generator::seed, seed);
}
LIBRARY_API int rocrand_set_offset(Generator *generator, unsigned long long offset) {
  return set<std::uint64_t>(generator, &Generator::offset, offset);
}
LIBRARY_API int rocrand_set_ordering(Generator *generator, int ordering) { return set_ordering(generator, ordering); }
LIBRARY_API int rocrand_get_version(int *number) {
  if (!number) return rand_out_of_range;
  *number = version;
  return rand_success;
}

LIBRARY_API int rocrand_generate(Generator *generator, unsigned *to, std::size_t count) {
  return generate("rocrand_generate", generator, to, count, launch_failure,
                  [](auto &by, auto *at, std::size_t n) { integers(by, at, n); });
}
LIBRARY_API int rocrand_generate_uniform(Generator *generator, float *to, std::size_t count) {
  return generate("rocrand_generate_uniform", generator, to, count, launch_failure,
                  [](auto &by, auto *at, std::size_t n) { uniform(by, at, n); });
}
LIBRARY_API int rocrand_generate_uniform_double(Generator *generator, double *to, std::size_t count) {
  return generate("rocrand_generate_uniform_double", generator, to, count, launch_failure,
                  [](auto &by, auto *at, std::size_t n) { uniform(by, at, n); });
}
LIBRARY_API int rocrand_generate_normal(Generator *generator, float *to, std::size_t count, float mean,
                                        float deviation) {
  return generate("rocrand_generate_normal", generator, to, count, launch_failure,
                  [=](auto &by, auto *at, std::size_t n) { normal(by, at, n, mean, deviation, false); });
}
LIBRARY_API int rocrand_generate_normal_double(Generator *generator, double *to, std::size_t count, double mean,
                                               double deviation) {
  return generate("rocrand_generate_normal_double", generator, to, count, launch_failure,
                  [=](auto &by, auto *at, std::size_t n) { normal(by, at, n, mean, deviation, false); });
}
LIBRARY_API int rocrand_generate_log_normal(Generator *generator, float *to, std::size_t count, float mean,
                                            float deviation) {
  return generate("rocrand_generate_log_normal", generator, to, count, launch_failure,
                  [=](auto &by, auto *at, std::size_t n) { normal(by, at, n, mean, deviation, true); });
}
LIBRARY_API int rocrand_generate_log_normal_double(Generator *generator, double *to, std::size_t count, double mean,
                                                   double deviation) {
  return generate("rocrand_generate_log_normal_double", generator, to, count, launch_failure,
                  [=](auto &by, auto *at, std::size_t n) { normal(by, at, n, mean, deviation, true); });
}
