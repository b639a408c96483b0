// A library of random numbers with the entry points of cuRAND, hipRAND or rocRAND, by API, that generates on the host,
// and makes the mistake that MISTAKE in the environment names. As cuRAND it takes even counts of normal numbers only.
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

namespace {

bool mistaken(const char *what) {
  const char *made = std::getenv("MISTAKE");
  return made != nullptr && std::strcmp(made, what) == 0;
}

struct Generator {
  unsigned long long seed;
  std::mt19937_64 engine;
  bool seeded;
};

int create(Generator **made, bool known) {
  static std::vector<std::unique_ptr<Generator>> all;
  if (!known) return 103;
  all.push_back(std::make_unique<Generator>());
  *made = all.back().get();
  return 0;
}

int set_seed(Generator *generator, unsigned long long seed) {
  static unsigned long long calls = 0;
  generator->seed = mistaken("seed") ? 1 : seed;
  if (mistaken("fresh")) generator->seed += ++calls << 32U;
  generator->engine.seed(generator->seed);
  generator->seeded = true;
  return 0;
}

double unit(Generator *generator) { return std::ldexp(static_cast<double>((generator->engine() >> 40U) + 1), -24); }

bool begin(Generator *generator) {
  if (mistaken("repeat")) generator->engine.seed(generator->seed);
  return generator->seeded && !mistaken("status");
}

template <class T>
int uniform(Generator *generator, T *to, std::size_t count) {
  if (!begin(generator)) return 201;
  const double constant = unit(generator);
  for (std::size_t i = 0; i < count; ++i) {
    const double drawn = mistaken("constant") ? constant : unit(generator);
    to[i] = static_cast<T>(mistaken("range") ? 2 * drawn : mistaken("mean") ? std::sqrt(drawn) : drawn);
    if (mistaken("variance")) to[i] = static_cast<T>(0.25 + drawn / 2);
  }
  if (mistaken("zero")) to[count / 2] = T(0);
  if (mistaken("beyond")) to[count] = T(0.5);
  return 0;
}

template <class T>
int normal(Generator *generator, T *to, std::size_t count, T mean, T deviation) {
  if (count % 2 != 0) return 105;
  if (!begin(generator)) return 201;
  std::normal_distribution<double> distribution;
  const double constant = distribution(generator->engine);
  for (std::size_t i = 0; i < count; ++i) {
    const double drawn = mistaken("constant") ? constant : distribution(generator->engine);
    const double scale = mistaken("variance") ? std::sqrt(2.0) : 1.0;
    to[i] = static_cast<T>(mean + deviation * (scale * drawn + (mistaken("mean") ? 0.1 : 0.0)));
  }
  if (mistaken("nan")) to[count - 1] = static_cast<T>(std::nan(""));
  if (mistaken("beyond")) to[count] = T(0.5);
  return 0;
}

}  // namespace

#define LIBRARY(create_name, kind, stream, seed, uniform_f32, uniform_f64, normal_f32, normal_f64)                  \
  extern "C" int create_name(Generator **made, int asked) { return create(made, asked == (kind)); }                 \
  extern "C" int stream(Generator *, void *) { return 0; }                                                          \
  extern "C" int seed(Generator *generator, unsigned long long given) { return set_seed(generator, given); }        \
  extern "C" int uniform_f32(Generator *generator, float *to, std::size_t n) { return uniform(generator, to, n); }  \
  extern "C" int uniform_f64(Generator *generator, double *to, std::size_t n) { return uniform(generator, to, n); } \
  extern "C" int normal_f32(Generator *generator, float *to, std::size_t n, float mean, float deviation) {          \
    return normal(generator, to, n, mean, deviation);                                                               \
  }                                                                                                                 \
  extern "C" int normal_f64(Generator *generator, double *to, std::size_t n, double mean, double deviation) {       \
    return normal(generator, to, n, mean, deviation);                                                               \
  }

#if defined(ROCRAND)
LIBRARY(rocrand_create_generator, 400, rocrand_set_stream, rocrand_set_seed, rocrand_generate_uniform,
        rocrand_generate_uniform_double, rocrand_generate_normal, rocrand_generate_normal_double)
#elif defined(HIPRAND)
LIBRARY(hiprandCreateGenerator, 400, hiprandSetStream, hiprandSetPseudoRandomGeneratorSeed, hiprandGenerateUniform,
        hiprandGenerateUniformDouble, hiprandGenerateNormal, hiprandGenerateNormalDouble)
#else
LIBRARY(curandCreateGenerator, 100, curandSetStream, curandSetPseudoRandomGeneratorSeed, curandGenerateUniform,
        curandGenerateUniformDouble, curandGenerateNormal, curandGenerateNormalDouble)
#endif
