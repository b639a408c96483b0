// libhipblas.so of an emulated ROCm, for programs of hipBLAS 2 (ROCm 6) and 3 (ROCm 7), on the host.
#include "blas_api.h"

using namespace emulated;

namespace {

enum Status {
  success = 0,
  not_initialized = 1,
  invalid_value = 3,
  internal_error = 6,
  not_supported = 7,
  handle_is_null = 9,
  invalid_enum = 10,
};

int status_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::Success:
      return success;
    case Outcome::InvalidHandle:
      return not_initialized;
    case Outcome::NotImplemented:
      return not_supported;
    case Outcome::InvalidPointer:
    case Outcome::InvalidSize:
      return invalid_value;
    case Outcome::InvalidValue:
      return invalid_enum;
    case Outcome::InternalError:
      break;
  }
  return internal_error;
}

// hipDataType, and hipblasDatatype_t of hipBLAS 2, whose numbers are all above it.
Type type_of(int number) {
  switch (number) {
    case 0:
    case 151:
      return Type::F32;
    case 1:
    case 152:
      return Type::F64;
    case 2:
    case 150:
      return Type::F16;
    case 3:
    case 160:
      return Type::I8;
    case 10:
    case 162:
      return Type::I32;
    case 14:
    case 168:
      return Type::BF16;
    default:
      return Type::Unknown;
  }
}

// hipblasComputeType_t, or the type itself as hipBLAS 2 has it. Fast types may round what they multiply; here they do
// not.
Type compute_of(int number) {
  switch (number) {
    case 0:  // HIPBLAS_COMPUTE_16F
    case 1:
      return Type::F16;
    case 2:  // HIPBLAS_COMPUTE_32F, and with operands in 16 bits of either kind and in TF32
    case 3:
    case 4:
    case 5:
    case 6:
      return Type::F32;
    case 7:  // HIPBLAS_COMPUTE_64F
    case 8:
      return Type::F64;
    case 9:  // HIPBLAS_COMPUTE_32I
    case 10:
      return Type::I32;
    default:
      return number >= 150 ? type_of(number) : Type::Unknown;
  }
}

constexpr int without_place = handle_is_null;

}  // namespace

#define OWN(rocblas, hipblas) hipblas
#include "blas_functions.h"

// ---- of hipBLAS alone

LIBRARY_API const char *hipblasStatusToString(int status) {
  constexpr const char *names[] = {
      "HIPBLAS_STATUS_SUCCESS",           "HIPBLAS_STATUS_NOT_INITIALIZED", "HIPBLAS_STATUS_ALLOC_FAILED",
      "HIPBLAS_STATUS_INVALID_VALUE",     "HIPBLAS_STATUS_MAPPING_ERROR",   "HIPBLAS_STATUS_EXECUTION_FAILED",
      "HIPBLAS_STATUS_INTERNAL_ERROR",    "HIPBLAS_STATUS_NOT_SUPPORTED",   "HIPBLAS_STATUS_ARCH_MISMATCH",
      "HIPBLAS_STATUS_HANDLE_IS_NULLPTR", "HIPBLAS_STATUS_INVALID_ENUM",    "HIPBLAS_STATUS_UNKNOWN",
  };
  return status >= 0 && status < 12 ? names[status] : "<undefined hipblasStatus_t value>";
}

// Matrix products of the types that the call says. hipBLAS 2 has these with either kind of types, and those of hipBLAS
// 3 by names with _v2 too.
#define GEMM_EX(ending)                                                                                                \
  LIBRARY_API int hipblasGemmEx##ending(const Handle *handle, int ta, int tb, int m, int n, int k, const void *alpha,  \
                                        const void *a, int a_type, int lda, const void *b, int b_type, int ldb,        \
                                        const void *beta, void *c, int c_type, int ldc, int compute, int) {            \
    return status_of(gemm({"hipblasGemmEx" #ending, handle}, {ta, tb, m, n, k}, alpha, {a, type_of(a_type), lda},      \
                          {b, type_of(b_type), ldb}, beta, {c, type_of(c_type), ldc}, {c, type_of(c_type), ldc}, 1,    \
                          compute_of(compute)));                                                                       \
  }                                                                                                                    \
  LIBRARY_API int hipblasGemmBatchedEx##ending(                                                                        \
      const Handle *handle, int ta, int tb, int m, int n, int k, const void *alpha, const void *const *a, int a_type,  \
      int lda, const void *const *b, int b_type, int ldb, const void *beta, const void *const *c, int c_type, int ldc, \
      int batches, int compute, int) {                                                                                 \
    return status_of(gemm({"hipblasGemmBatchedEx" #ending, handle}, {ta, tb, m, n, k}, alpha,                          \
                          each(a, type_of(a_type), lda), each(b, type_of(b_type), ldb), beta,                          \
                          each(c, type_of(c_type), ldc), each(c, type_of(c_type), ldc), batches,                       \
                          compute_of(compute)));                                                                       \
  }                                                                                                                    \
  LIBRARY_API int hipblasGemmStridedBatchedEx##ending(                                                                 \
      const Handle *handle, int ta, int tb, int m, int n, int k, const void *alpha, const void *a, int a_type,         \
      int lda, std::int64_t stride_a, const void *b, int b_type, int ldb, std::int64_t stride_b, const void *beta,     \
      void *c, int c_type, int ldc, std::int64_t stride_c, int batches, int compute, int) {                            \
    return status_of(gemm({"hipblasGemmStridedBatchedEx" #ending, handle}, {ta, tb, m, n, k}, alpha,                   \
                          {a, type_of(a_type), lda, stride_a}, {b, type_of(b_type), ldb, stride_b}, beta,              \
                          {c, type_of(c_type), ldc, stride_c}, {c, type_of(c_type), ldc, stride_c}, batches,           \
                          compute_of(compute)));                                                                       \
  }

GEMM_EX()
GEMM_EX(_v2)

AXPY_EX(, hipblasAxpyEx_v2)
DOT_EX(, hipblasDotEx_v2)
SCAL_EX(, hipblasScalEx_v2)
