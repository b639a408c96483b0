// Takes random numbers from rocRAND and hipRAND, which it declares itself: headers of both need not be there.
#include <hip/hip_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

extern "C" {
int rocrand_create_generator(void **, int);
int rocrand_destroy_generator(void *);
int rocrand_set_seed(void *, unsigned long long);
int rocrand_set_stream(void *, void *);
int rocrand_generate(void *, unsigned *, std::size_t);
int rocrand_generate_uniform(void *, float *, std::size_t);
int hiprandCreateGenerator(void **, int);
int hiprandDestroyGenerator(void *);
int hiprandSetPseudoRandomGeneratorSeed(void *, unsigned long long);
int hiprandGenerateNormal(void *, float *, std::size_t, float, float);
}

#define CHECK(call)                                           \
  if (const int error = static_cast<int>(call); error != 0) { \
    std::printf("%s: %d\n", #call, error);                    \
    return 1;                                                 \
  }

namespace {

// Whether two launches of a graph that takes numbers of a new generator of `type` write the same.
int repeats(int type, float *on_device) {
  constexpr std::size_t count = 5;
  void *generator;
  hipStream_t stream;
  hipGraph_t graph;
  hipGraphExec_t executable;
  float first[count], second[count];
  CHECK(rocrand_create_generator(&generator, type));
  CHECK(hipStreamCreate(&stream));
  CHECK(rocrand_set_stream(generator, stream));
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
  CHECK(rocrand_generate_uniform(generator, on_device, count));
  CHECK(hipStreamEndCapture(stream, &graph));
  CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  CHECK(rocrand_destroy_generator(generator));
  CHECK(hipGraphLaunch(executable, stream));
  CHECK(hipMemcpy(first, on_device, sizeof first, hipMemcpyDeviceToHost));
  CHECK(hipGraphLaunch(executable, stream));
  CHECK(hipMemcpy(second, on_device, sizeof second, hipMemcpyDeviceToHost));
  std::printf("type %d: %d\n", type, std::equal(first, first + count, second));
  return 0;
}

}  // namespace

int main() {
  constexpr std::size_t count = 10000;
  constexpr int philox = 404, xorwow = 401, standard = 400;
  float *on_device;
  void *generator;
  std::vector<float> numbers(count);
  CHECK(hipMalloc(reinterpret_cast<void **>(&on_device), count * sizeof(float)));

  unsigned first[4];
  CHECK(rocrand_create_generator(&generator, philox));
  CHECK(rocrand_set_seed(generator, 0));
  CHECK(rocrand_generate(generator, reinterpret_cast<unsigned *>(on_device), 4));
  CHECK(hipMemcpy(first, on_device, sizeof first, hipMemcpyDeviceToHost));
  std::printf("%08x %08x %08x %08x\n", first[0], first[1], first[2], first[3]);
  CHECK(rocrand_generate_uniform(generator, on_device, count));
  CHECK(hipMemcpy(numbers.data(), on_device, count * sizeof(float), hipMemcpyDeviceToHost));
  const auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
  std::printf("uniform: %d\n", *least > 0 && *least < 0.001f && *most > 0.999f && *most <= 1);
  CHECK(rocrand_destroy_generator(generator));
  if (repeats(philox, on_device) || repeats(xorwow, on_device)) return 1;

  CHECK(hiprandCreateGenerator(&generator, standard));
  CHECK(hiprandSetPseudoRandomGeneratorSeed(generator, 42));
  CHECK(hiprandGenerateNormal(generator, on_device, count, 5, 2));
  CHECK(hipMemcpy(numbers.data(), on_device, count * sizeof(float), hipMemcpyDeviceToHost));
  double mean = 0, variance = 0;
  for (const float x : numbers) mean += x / count;
  for (const float x : numbers) variance += (x - mean) * (x - mean) / count;
  std::printf("normal: %d\n", std::fabs(mean - 5) < 0.1 && std::fabs(variance - 4) < 0.3);
  // One more than there is memory for.
  std::printf("%d\n", hiprandGenerateNormal(generator, on_device, count + 1, 5, 2));
  return hiprandDestroyGenerator(generator);
}
