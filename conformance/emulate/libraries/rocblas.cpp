// librocblas.so of an emulated ROCm: handles, matrix products and the simplest calls with vectors, on the host.
#include <cstring>

#include "blas_api.h"

using namespace emulated;

namespace {

enum Status {
  success = 0,
  invalid_handle = 1,
  not_implemented = 2,
  invalid_pointer = 3,
  invalid_size = 4,
  memory_error = 5,
  internal_error = 6,
  perf_degraded = 7,
  size_query_mismatch = 8,
  size_increased = 9,
  size_unchanged = 10,
  invalid_value = 11,
  continue_ = 12,
  check_numerics_fail = 13,
  excluded_from_build = 14,
  arch_mismatch = 15,
};

constexpr char version[] = "4.0.0-candle-parity";

int status_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::Success:
      return success;
    case Outcome::InvalidHandle:
      return invalid_handle;
    case Outcome::NotImplemented:
      return not_implemented;
    case Outcome::InvalidPointer:
      return invalid_pointer;
    case Outcome::InvalidSize:
      return invalid_size;
    case Outcome::InvalidValue:
      return invalid_value;
    case Outcome::InternalError:
      break;
  }
  return internal_error;
}

// rocblas_datatype
Type type_of(int number) {
  switch (number) {
    case 150:
      return Type::F16;
    case 151:
      return Type::F32;
    case 152:
      return Type::F64;
    case 160:
      return Type::I8;
    case 162:
      return Type::I32;
    case 168:
      return Type::BF16;
    default:
      return Type::Unknown;
  }
}

constexpr int without_place = invalid_handle;

}  // namespace

#define OWN(rocblas, hipblas) rocblas
#include "blas_functions.h"

// ---- of rocBLAS alone

SET_MODE(rocblas_set_math_mode, , math_mode)
GET_MODE(rocblas_get_math_mode, , math_mode)

// Workspaces are not needed: none is reported.
LIBRARY_API int rocblas_set_device_memory_size(const Handle *handle, std::size_t) {
  return handle ? success : invalid_handle;
}
LIBRARY_API int rocblas_get_device_memory_size(const Handle *handle, std::size_t *bytes) {
  if (!handle) return invalid_handle;
  if (!bytes) return invalid_pointer;
  *bytes = 0;
  return success;
}
LIBRARY_API bool rocblas_is_managing_device_memory(const Handle *) { return true; }
LIBRARY_API bool rocblas_is_user_managing_device_memory(const Handle *) { return false; }
LIBRARY_API bool rocblas_is_device_memory_size_query(const Handle *) { return false; }

LIBRARY_API void rocblas_initialize() {}
LIBRARY_API int rocblas_get_version_string_size(std::size_t *size) {
  if (!size) return invalid_pointer;
  *size = sizeof version;
  return success;
}
LIBRARY_API int rocblas_get_version_string(char *text, std::size_t size) {
  if (!text) return invalid_pointer;
  if (size < sizeof version) return invalid_size;
  std::memcpy(text, version, sizeof version);
  return success;
}
LIBRARY_API const char *rocblas_status_to_string(int status) {
  constexpr const char *names[] = {
      "rocblas_status_success",         "rocblas_status_invalid_handle",      "rocblas_status_not_implemented",
      "rocblas_status_invalid_pointer", "rocblas_status_invalid_size",        "rocblas_status_memory_error",
      "rocblas_status_internal_error",  "rocblas_status_perf_degraded",       "rocblas_status_size_query_mismatch",
      "rocblas_status_size_increased",  "rocblas_status_size_unchanged",      "rocblas_status_invalid_value",
      "rocblas_status_continue",        "rocblas_status_check_numerics_fail", "rocblas_status_excluded_from_build",
      "rocblas_status_arch_mismatch",
  };
  return status >= success && status <= arch_mismatch ? names[status] : "<undefined rocblas_status value>";
}

// Matrix products of the types that the call says; D may be another matrix than C.
LIBRARY_API int rocblas_gemm_ex(const Handle *handle, int ta, int tb, int m, int n, int k, const void *alpha,
                                const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
                                const void *beta, const void *c, int c_type, int ldc, void *d, int d_type, int ldd,
                                int compute, int, int, unsigned) {
  return status_of(gemm({"rocblas_gemm_ex", handle}, {ta, tb, m, n, k}, alpha, {a, type_of(a_type), lda},
                        {b, type_of(b_type), ldb}, beta, {c, type_of(c_type), ldc}, {d, type_of(d_type), ldd}, 1,
                        type_of(compute)));
}
LIBRARY_API int rocblas_gemm_batched_ex(const Handle *handle, int ta, int tb, int m, int n, int k, const void *alpha,
                                        const void *const *a, int a_type, int lda, const void *const *b, int b_type,
                                        int ldb, const void *beta, const void *const *c, int c_type, int ldc,
                                        const void *const *d, int d_type, int ldd, int batches, int compute, int, int,
                                        unsigned) {
  return status_of(gemm({"rocblas_gemm_batched_ex", handle}, {ta, tb, m, n, k}, alpha, each(a, type_of(a_type), lda),
                        each(b, type_of(b_type), ldb), beta, each(c, type_of(c_type), ldc),
                        each(d, type_of(d_type), ldd), batches, type_of(compute)));
}
LIBRARY_API int rocblas_gemm_strided_batched_ex(const Handle *handle, int ta, int tb, int m, int n, int k,
                                                const void *alpha, const void *a, int a_type, int lda,
                                                std::int64_t stride_a, const void *b, int b_type, int ldb,
                                                std::int64_t stride_b, const void *beta, const void *c, int c_type,
                                                int ldc, std::int64_t stride_c, void *d, int d_type, int ldd,
                                                std::int64_t stride_d, int batches, int compute, int, int, unsigned) {
  return status_of(gemm({"rocblas_gemm_strided_batched_ex", handle}, {ta, tb, m, n, k}, alpha,
                        {a, type_of(a_type), lda, stride_a}, {b, type_of(b_type), ldb, stride_b}, beta,
                        {c, type_of(c_type), ldc, stride_c}, {d, type_of(d_type), ldd, stride_d}, batches,
                        type_of(compute)));
}
