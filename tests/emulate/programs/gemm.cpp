// Multiplies matrices by rocBLAS and hipBLAS, which it declares itself: headers of both need not be there.
#include <hip/hip_runtime_api.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

extern "C" {
int rocblas_create_handle(void **);
int rocblas_destroy_handle(void *);
int rocblas_set_stream(void *, void *);
const char *rocblas_status_to_string(int);
int rocblas_sgemm_strided_batched(void *, int, int, int, int, int, const float *, const float *, int, std::int64_t,
                                  const float *, int, std::int64_t, const float *, float *, int, std::int64_t, int);
int rocblas_cgemm(void *, int, int, int, int, int, const void *, const void *, int, const void *, int, const void *,
                  void *, int);
int rocblas_sdot(void *, int, const float *, int, const float *, int, float *);
int rocblas_set_vector(int, int, const void *, int, void *, int);
int hipblasCreate(void **);
int hipblasDestroy(void *);
int hipblasGemmEx_v2(void *, int, int, int, int, int, const void *, const void *, int, int, const void *, int, int,
                     const void *, void *, int, int, int, int);
}

#define CHECK(call)                                           \
  if (const int error = static_cast<int>(call); error != 0) { \
    std::printf("%s: %d\n", #call, error);                    \
    return 1;                                                 \
  }

namespace {

constexpr int none = 111, transposed = 112, m = 3, n = 2, k = 4, batches = 2;

// How many elements of `c` are not A (transposed) times B, both column after column.
int wrong(const std::vector<float> &a, const std::vector<float> &b, const std::vector<float> &c, int count) {
  int found = 0;
  for (int z = 0; z < count; ++z)
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < m; ++i) {
        float sum = 0;
        for (int l = 0; l < k; ++l) sum += a[(z * m + i) * k + l] * b[(z * n + j) * k + l];
        found += c[(z * n + j) * m + i] != sum;
      }
  return found;
}

}  // namespace

int main() {
  std::vector<float> a(m * k * batches), b(k * n * batches), c(m * n * batches, NAN);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7) - 3;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 5) - 2;
  float *on_device_a, *on_device_b, *on_device_c;
  CHECK(hipMalloc(reinterpret_cast<void **>(&on_device_a), a.size() * sizeof(float)));
  CHECK(hipMalloc(reinterpret_cast<void **>(&on_device_b), b.size() * sizeof(float)));
  CHECK(hipMalloc(reinterpret_cast<void **>(&on_device_c), c.size() * sizeof(float)));
  CHECK(hipMemcpy(on_device_a, a.data(), a.size() * sizeof(float), hipMemcpyHostToDevice));
  CHECK(hipMemcpy(on_device_b, b.data(), b.size() * sizeof(float), hipMemcpyHostToDevice));
  CHECK(hipMemcpy(on_device_c, c.data(), c.size() * sizeof(float), hipMemcpyHostToDevice));

  hipStream_t stream;
  void *handle;
  const float one = 1, zero = 0;
  CHECK(hipStreamCreate(&stream));
  CHECK(rocblas_create_handle(&handle));
  CHECK(rocblas_set_stream(handle, stream));
  CHECK(rocblas_sgemm_strided_batched(handle, transposed, none, m, n, k, &one, on_device_a, k, m * k, on_device_b, k,
                                      k * n, &zero, on_device_c, m, m * n, batches));
  CHECK(hipStreamSynchronize(stream));
  CHECK(hipMemcpy(c.data(), on_device_c, c.size() * sizeof(float), hipMemcpyDeviceToHost));
  std::printf("rocBLAS: %d wrong\n", wrong(a, b, c, batches));

  std::printf("%s\n", rocblas_status_to_string(rocblas_cgemm(handle, none, none, 1, 1, 1, nullptr, nullptr, 1, nullptr,
                                                             1, nullptr, nullptr, 1)));
  // One batch more than there is memory for.
  std::printf("%s\n", rocblas_status_to_string(rocblas_sgemm_strided_batched(
                          handle, transposed, none, m, n, k, &one, on_device_a, k, m * k, on_device_b, k, k * n, &zero,
                          on_device_c, m, m * n, batches + 1)));
  // From the first batch downwards, of which the second lies in front of the memory.
  std::printf("%s\n", rocblas_status_to_string(
                          rocblas_sgemm_strided_batched(handle, transposed, none, m, n, k, &one, on_device_a, k, -m * k,
                                                        on_device_b, k, k * n, &zero, on_device_c, m, m * n, batches)));
  // From the last batch downwards all of it is there.
  CHECK(rocblas_sgemm_strided_batched(handle, transposed, none, m, n, k, &one, on_device_a + m * k, k, -m * k,
                                      on_device_b, k, k * n, &zero, on_device_c, m, m * n, batches));
  // Every other element, one too many.
  std::printf("%s\n", rocblas_status_to_string(
                          rocblas_set_vector(m * n + 1, sizeof(float), a.data(), 1, on_device_c, batches)));

  // A product on a captured stream is done by each launch of the graph, with what lies in memory then; alpha is what it
  // was when it was captured.
  float alpha = 1, sum = 0;
  hipGraph_t graph;
  hipGraphExec_t executable;
  CHECK(hipMemset(on_device_c, 255, c.size() * sizeof(float)));
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
  CHECK(rocblas_sgemm_strided_batched(handle, transposed, none, m, n, k, &alpha, on_device_a, k, m * k, on_device_b, k,
                                      k * n, &zero, on_device_c, m, m * n, batches));
  std::printf("%s\n", rocblas_status_to_string(rocblas_sdot(handle, k, on_device_a, 1, on_device_b, 1, &sum)));
  CHECK(hipStreamEndCapture(stream, &graph));
  CHECK(rocblas_destroy_handle(handle));
  alpha = 5;
  CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  CHECK(hipMemcpy(c.data(), on_device_c, c.size() * sizeof(float), hipMemcpyDeviceToHost));
  std::printf("captured: %d wrong", wrong(a, b, c, batches));
  for (int launch = 0; launch < 2; ++launch) {
    for (float &x : a) x += 1;
    CHECK(hipMemcpy(on_device_a, a.data(), a.size() * sizeof(float), hipMemcpyHostToDevice));
    CHECK(hipGraphLaunch(executable, stream));
    CHECK(hipMemcpy(c.data(), on_device_c, c.size() * sizeof(float), hipMemcpyDeviceToHost));
    std::printf(", launched: %d wrong", wrong(a, b, c, batches));
  }
  CHECK(hipFree(on_device_b));
  std::printf(", freed: %s\n", hipGetErrorName(hipGraphLaunch(executable, stream)));
  CHECK(hipGraphExecDestroy(executable));
  CHECK(hipGraphDestroy(graph));
  CHECK(hipMalloc(reinterpret_cast<void **>(&on_device_b), b.size() * sizeof(float)));
  CHECK(hipMemcpy(on_device_b, b.data(), b.size() * sizeof(float), hipMemcpyHostToDevice));

  CHECK(hipMemset(on_device_c, 255, c.size() * sizeof(float)));
  CHECK(hipblasCreate(&handle));
  CHECK(hipblasGemmEx_v2(handle, transposed, none, m, n, k, &one, on_device_a, 0, k, on_device_b, 0, k, &zero,
                         on_device_c, 0, m, 2, 160));
  CHECK(hipMemcpy(c.data(), on_device_c, m * n * sizeof(float), hipMemcpyDeviceToHost));
  std::printf("hipBLAS: %d wrong\n", wrong(a, b, c, 1));
  CHECK(hipblasDestroy(handle));
  return 0;
}
