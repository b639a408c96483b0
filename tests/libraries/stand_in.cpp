// A library of matrix products with the entry points of cuBLAS, hipBLAS (as ROCm 7 has them) or rocBLAS, by API, that
// computes on the host, one element after the other, and makes the mistake that MISTAKE in the environment names.
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

bool mistaken(const char *what) {
  const char *made = std::getenv("MISTAKE");
  return made != nullptr && std::strcmp(made, what) == 0;
}

struct Bf16 {
  std::uint16_t bits;
  explicit operator float() const {
    const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16U;
    float value = 0;
    std::memcpy(&value, &wide, sizeof value);
    return value;
  }
  explicit Bf16(float value) : bits(0) {
    std::uint32_t wide = 0;
    std::memcpy(&wide, &value, sizeof wide);
    const bool nan = value != value;
    if (!nan) wide += 0x7fffU + ((wide >> 16U) & 1U);
    bits = static_cast<std::uint16_t>((wide >> 16U) | (nan ? 0x40U : 0U));
  }
};

struct Shape {
  bool transa, transb;
  int m, n, k, lda;
  std::int64_t stride_a;
  int ldb;
  std::int64_t stride_b;
  int ldc;
  std::int64_t stride_c;
  int batch;
};

template <class T, class Sum>
void multiply(Shape s, const T *a, const T *b, T *c) {
  if (mistaken("transposes")) {
    const bool was = s.transa;
    s.transa = s.transb;
    s.transb = was;
  }
  if (mistaken("leading")) s.lda = s.ldb;
  if (mistaken("stride")) s.stride_a = s.stride_b = 0;
  for (int z = 0; z < s.batch; ++z)
    for (int j = 0; j < s.n; ++j)
      for (int i = 0; i < s.m; ++i) {
        Sum sum(0.0F);
        for (int l = 0; l < s.k; ++l) {
          const std::int64_t at =
              s.transa ? l + static_cast<std::int64_t>(i) * s.lda : i + static_cast<std::int64_t>(l) * s.lda;
          const std::int64_t bt =
              s.transb ? j + static_cast<std::int64_t>(l) * s.ldb : l + static_cast<std::int64_t>(j) * s.ldb;
          sum = static_cast<Sum>(sum +
                                 static_cast<Sum>(a[z * s.stride_a + at]) * static_cast<Sum>(b[z * s.stride_b + bt]));
        }
        T &to = c[z * s.stride_c + i + static_cast<std::int64_t>(j) * s.ldc];
        to = static_cast<T>(mistaken("beta") ? static_cast<Sum>(sum + static_cast<Sum>(to)) : sum);
      }
}

void halves(const Shape &s, const void *a, const void *b, void *c, bool in_halves) {
  const auto *x = static_cast<const _Float16 *>(a), *y = static_cast<const _Float16 *>(b);
  auto *z = static_cast<_Float16 *>(c);
  if (in_halves || mistaken("halves")) return multiply<_Float16, _Float16>(s, x, y, z);
  multiply<_Float16, float>(s, x, y, z);
}

enum class Kind { f32, f16, bf16 };

int gemm(Kind kind, const Shape &s, const void *alpha, const void *a, const void *b, const void *beta, void *c,
         bool in_halves) {
  const bool half = kind == Kind::f16 && in_halves;
  const std::uint32_t one = half ? 0x3c00U : 0x3f800000U;
  if (std::memcmp(alpha, &one, half ? 2 : 4) != 0 || std::memcmp(beta, "\0\0\0\0", half ? 2 : 4) != 0) return 7;
  if (mistaken("status")) return 15;
  if (kind == Kind::f32)
    multiply<float, float>(s, static_cast<const float *>(a), static_cast<const float *>(b), static_cast<float *>(c));
  if (kind == Kind::bf16)
    multiply<Bf16, float>(s, static_cast<const Bf16 *>(a), static_cast<const Bf16 *>(b), static_cast<Bf16 *>(c));
  if (kind == Kind::f16) halves(s, a, b, c, in_halves);
  return 0;
}

int create(void **handle) {
  static int one = 0;
  *handle = &one;
  return 0;
}

}  // namespace

#define SHAPE(transposed) \
  Shape { ta == (transposed), tb == (transposed), m, n, k, lda, sa, ldb, sb, ldc, sc, batch }
#define HEAD void *, int ta, int tb, int m, int n, int k, const void *alpha, const void *a
#define DOUBLES(name, transposed)                                                                                \
  extern "C" int name(HEAD, int lda, std::int64_t sa, const void *b, int ldb, std::int64_t sb, const void *beta, \
                      void *c, int ldc, std::int64_t sc, int batch) {                                            \
    const double one = 1, zero = 0;                                                                              \
    if (std::memcmp(alpha, &one, 8) != 0 || std::memcmp(beta, &zero, 8) != 0) return 7;                          \
    multiply<double, double>(SHAPE(transposed), static_cast<const double *>(a), static_cast<const double *>(b),  \
                             static_cast<double *>(c));                                                          \
    return 0;                                                                                                    \
  }
#define PRODUCTS(name, transposed, in_halves)                                                                 \
  extern "C" int name(HEAD, int type, int lda, std::int64_t sa, const void *b, int, int ldb, std::int64_t sb, \
                      const void *beta, void *c, int, int ldc, std::int64_t sc, int batch, int sums, int) {   \
    const Kind kind = type == 2 ? Kind::f16 : type == 14 ? Kind::bf16 : Kind::f32;                            \
    return gemm(kind, SHAPE(transposed), alpha, a, b, beta, c, sums == (in_halves));                          \
  }

#if defined(ROCBLAS)
extern "C" int rocblas_create_handle(void **handle) { return create(handle); }
extern "C" int rocblas_set_stream(void *, void *) { return 0; }
DOUBLES(rocblas_dgemm_strided_batched, 112)
extern "C" int rocblas_gemm_strided_batched_ex(HEAD, int type, int lda, std::int64_t sa, const void *b, int, int ldb,
                                               std::int64_t sb, const void *beta, const void *c, int, int, std::int64_t,
                                               void *d, int, int ldc, std::int64_t sc, int batch, int sums, int, int,
                                               unsigned) {
  if (c != d) return 7;
  const Kind kind = type == 150 ? Kind::f16 : type == 168 ? Kind::bf16 : Kind::f32;
  return gemm(kind, SHAPE(112), alpha, a, b, beta, d, sums == 150);
}
#elif defined(HIPBLAS)
extern "C" int hipblasCreate(void **handle) { return create(handle); }
extern "C" int hipblasSetStream(void *, void *) { return 0; }
DOUBLES(hipblasDgemmStridedBatched, 112)
PRODUCTS(hipblasGemmStridedBatchedEx, 112, 0)
#else
extern "C" int cublasCreate_v2(void **handle) { return create(handle); }
extern "C" int cublasSetStream_v2(void *, void *) { return 0; }
extern "C" int cublasGetProperty(int which, int *value) {
  *value = 12 - 4 * which;
  return 0;
}
DOUBLES(cublasDgemmStridedBatched, 1)
PRODUCTS(cublasGemmStridedBatchedEx, 1, 64)
#endif
