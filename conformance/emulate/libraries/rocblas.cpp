// librocblas.so of an emulated ROCm: handles, matrix products and the simplest calls with vectors, on the host.
#include <cstring>

#include "calls.h"
#include "common.h"
#include "numbers.h"

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

// An integer property of a handle.
int set(Handle *handle, int Handle::*property, int value, int most) {
  if (!handle) return invalid_handle;
  if (value < 0 || value > most) return invalid_value;
  handle->*property = value;
  return success;
}
int get(const Handle *handle, int Handle::*property, int *value) {
  if (!handle) return invalid_handle;
  if (!value) return invalid_pointer;
  *value = handle->*property;
  return success;
}

}  // namespace

// ---- handles

LIBRARY_API int rocblas_create_handle(Handle **handle) {
  if (!handle) return invalid_handle;
  *handle = new Handle;
  return success;
}
LIBRARY_API int rocblas_destroy_handle(Handle *handle) {
  if (!handle) return invalid_handle;
  delete handle;
  return success;
}
LIBRARY_API int rocblas_set_stream(Handle *handle, void *stream) {
  if (!handle) return invalid_handle;
  handle->stream = stream;
  return success;
}
LIBRARY_API int rocblas_get_stream(const Handle *handle, void **stream) {
  if (!handle) return invalid_handle;
  if (!stream) return invalid_pointer;
  *stream = handle->stream;
  return success;
}
LIBRARY_API int rocblas_set_pointer_mode(Handle *handle, int mode) {
  return set(handle, &Handle::pointer_mode, mode, 1);
}
LIBRARY_API int rocblas_get_pointer_mode(const Handle *handle, int *mode) {
  return get(handle, &Handle::pointer_mode, mode);
}
LIBRARY_API int rocblas_set_atomics_mode(Handle *handle, int mode) {
  return set(handle, &Handle::atomics_mode, mode, 1);
}
LIBRARY_API int rocblas_get_atomics_mode(const Handle *handle, int *mode) {
  return get(handle, &Handle::atomics_mode, mode);
}
LIBRARY_API int rocblas_set_math_mode(Handle *handle, int mode) { return set(handle, &Handle::math_mode, mode, 1); }
LIBRARY_API int rocblas_get_math_mode(const Handle *handle, int *mode) { return get(handle, &Handle::math_mode, mode); }

// Workspaces are not needed: they are accepted, and none is reported.
LIBRARY_API int rocblas_set_workspace(const Handle *handle, void *, std::size_t) {
  return handle ? success : invalid_handle;
}
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

// ---- copies

#define COPIES(name, copy)                                                                                             \
  LIBRARY_API int rocblas_##name##_vector(int count, int size, const void *from, int from_step, void *to,              \
                                          int to_step) {                                                               \
    return status_of(copy_matrix("rocblas_" #name "_vector", copy, 1, count, size, from, from_step, to, to_step));     \
  }                                                                                                                    \
  LIBRARY_API int rocblas_##name##_vector_async(int count, int size, const void *from, int from_step, void *to,        \
                                                int to_step, void *) {                                                 \
    return status_of(                                                                                                  \
        copy_matrix("rocblas_" #name "_vector_async", copy, 1, count, size, from, from_step, to, to_step));            \
  }                                                                                                                    \
  LIBRARY_API int rocblas_##name##_matrix(int rows, int columns, int size, const void *from, int from_leading,         \
                                          void *to, int to_leading) {                                                  \
    return status_of(                                                                                                  \
        copy_matrix("rocblas_" #name "_matrix", copy, rows, columns, size, from, from_leading, to, to_leading));       \
  }                                                                                                                    \
  LIBRARY_API int rocblas_##name##_matrix_async(int rows, int columns, int size, const void *from, int from_leading,   \
                                                void *to, int to_leading, void *) {                                    \
    return status_of(                                                                                                  \
        copy_matrix("rocblas_" #name "_matrix_async", copy, rows, columns, size, from, from_leading, to, to_leading)); \
  }

COPIES(set, Copy::ToDevice)
COPIES(get, Copy::FromDevice)

// ---- matrix products

#define GEMM(letter, T, type)                                                                                          \
  LIBRARY_API int rocblas_##letter##gemm(const Handle *handle, int ta, int tb, int m, int n, int k, const T *alpha,    \
                                         const T *a, int lda, const T *b, int ldb, const T *beta, T *c, int ldc) {     \
    const Matrices result{c, type, ldc};                                                                               \
    return status_of(gemm({"rocblas_" #letter "gemm",                                                                  \
                           handle,                                                                                     \
                           ta,                                                                                         \
                           tb,                                                                                         \
                           m,                                                                                          \
                           n,                                                                                          \
                           k,                                                                                          \
                           alpha,                                                                                      \
                           {a, type, lda},                                                                             \
                           {b, type, ldb},                                                                             \
                           beta,                                                                                       \
                           result,                                                                                     \
                           result,                                                                                     \
                           1,                                                                                          \
                           type}));                                                                                    \
  }                                                                                                                    \
  LIBRARY_API int rocblas_##letter##gemm_batched(const Handle *handle, int ta, int tb, int m, int n, int k,            \
                                                 const T *alpha, const void *const *a, int lda, const void *const *b,  \
                                                 int ldb, const T *beta, const void *const *c, int ldc, int batches) { \
    const Matrices result{nullptr, type, ldc, 0, c};                                                                   \
    return status_of(gemm({"rocblas_" #letter "gemm_batched",                                                          \
                           handle,                                                                                     \
                           ta,                                                                                         \
                           tb,                                                                                         \
                           m,                                                                                          \
                           n,                                                                                          \
                           k,                                                                                          \
                           alpha,                                                                                      \
                           {nullptr, type, lda, 0, a},                                                                 \
                           {nullptr, type, ldb, 0, b},                                                                 \
                           beta,                                                                                       \
                           result,                                                                                     \
                           result,                                                                                     \
                           batches,                                                                                    \
                           type}));                                                                                    \
  }                                                                                                                    \
  LIBRARY_API int rocblas_##letter##gemm_strided_batched(const Handle *handle, int ta, int tb, int m, int n, int k,    \
                                                         const T *alpha, const T *a, int lda, std::int64_t stride_a,   \
                                                         const T *b, int ldb, std::int64_t stride_b, const T *beta,    \
                                                         T *c, int ldc, std::int64_t stride_c, int batches) {          \
    const Matrices result{c, type, ldc, stride_c};                                                                     \
    return status_of(gemm({"rocblas_" #letter "gemm_strided_batched",                                                  \
                           handle,                                                                                     \
                           ta,                                                                                         \
                           tb,                                                                                         \
                           m,                                                                                          \
                           n,                                                                                          \
                           k,                                                                                          \
                           alpha,                                                                                      \
                           {a, type, lda, stride_a},                                                                   \
                           {b, type, ldb, stride_b},                                                                   \
                           beta,                                                                                       \
                           result,                                                                                     \
                           result,                                                                                     \
                           batches,                                                                                    \
                           type}));                                                                                    \
  }

GEMM(s, float, Type::F32)
GEMM(d, double, Type::F64)
GEMM(h, Half, Type::F16)

LIBRARY_API int rocblas_gemm_ex(const Handle *handle, int ta, int tb, int m, int n, int k, const void *alpha,
                                const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
                                const void *beta, const void *c, int c_type, int ldc, void *d, int d_type, int ldd,
                                int compute, int, int, unsigned) {
  return status_of(gemm({"rocblas_gemm_ex",
                         handle,
                         ta,
                         tb,
                         m,
                         n,
                         k,
                         alpha,
                         {a, type_of(a_type), lda},
                         {b, type_of(b_type), ldb},
                         beta,
                         {c, type_of(c_type), ldc},
                         {d, type_of(d_type), ldd},
                         1,
                         type_of(compute)}));
}
LIBRARY_API int rocblas_gemm_batched_ex(const Handle *handle, int ta, int tb, int m, int n, int k, const void *alpha,
                                        const void *const *a, int a_type, int lda, const void *const *b, int b_type,
                                        int ldb, const void *beta, const void *const *c, int c_type, int ldc,
                                        const void *const *d, int d_type, int ldd, int batches, int compute, int, int,
                                        unsigned) {
  return status_of(gemm({"rocblas_gemm_batched_ex",
                         handle,
                         ta,
                         tb,
                         m,
                         n,
                         k,
                         alpha,
                         {nullptr, type_of(a_type), lda, 0, a},
                         {nullptr, type_of(b_type), ldb, 0, b},
                         beta,
                         {nullptr, type_of(c_type), ldc, 0, c},
                         {nullptr, type_of(d_type), ldd, 0, d},
                         batches,
                         type_of(compute)}));
}
LIBRARY_API int rocblas_gemm_strided_batched_ex(const Handle *handle, int ta, int tb, int m, int n, int k,
                                                const void *alpha, const void *a, int a_type, int lda,
                                                std::int64_t stride_a, const void *b, int b_type, int ldb,
                                                std::int64_t stride_b, const void *beta, const void *c, int c_type,
                                                int ldc, std::int64_t stride_c, void *d, int d_type, int ldd,
                                                std::int64_t stride_d, int batches, int compute, int, int, unsigned) {
  return status_of(gemm({"rocblas_gemm_strided_batched_ex",
                         handle,
                         ta,
                         tb,
                         m,
                         n,
                         k,
                         alpha,
                         {a, type_of(a_type), lda, stride_a},
                         {b, type_of(b_type), ldb, stride_b},
                         beta,
                         {c, type_of(c_type), ldc, stride_c},
                         {d, type_of(d_type), ldd, stride_d},
                         batches,
                         type_of(compute)}));
}

// ---- vectors

#define AXPY(letter, T, type, compute)                                                                                 \
  LIBRARY_API int rocblas_##letter##axpy(const Handle *handle, int count, const T *alpha, const T *x, int x_step,      \
                                         T *y, int y_step) {                                                           \
    return status_of(                                                                                                  \
        axpy({"rocblas_" #letter "axpy", handle, count, compute}, alpha, type, {x, type, x_step}, {y, type, y_step})); \
  }
#define DOT(letter, T, type, compute)                                                                                 \
  LIBRARY_API int rocblas_##letter##dot(const Handle *handle, int count, const T *x, int x_step, const T *y,          \
                                        int y_step, T *result) {                                                      \
    return status_of(                                                                                                 \
        dot({"rocblas_" #letter "dot", handle, count, compute}, {x, type, x_step}, {y, type, y_step}, result, type)); \
  }
#define SCAL_AND_GEMV(letter, T, type)                                                                               \
  LIBRARY_API int rocblas_##letter##scal(const Handle *handle, int count, const T *alpha, T *x, int step) {          \
    return status_of(scal({"rocblas_" #letter "scal", handle, count, type}, alpha, type, {x, type, step}));          \
  }                                                                                                                  \
  LIBRARY_API int rocblas_##letter##gemv(const Handle *handle, int ta, int m, int n, const T *alpha, const T *a,     \
                                         int lda, const T *x, int x_step, const T *beta, T *y, int y_step) {         \
    return status_of(gemv({"rocblas_" #letter "gemv",                                                                \
                           handle,                                                                                   \
                           ta,                                                                                       \
                           m,                                                                                        \
                           n,                                                                                        \
                           alpha,                                                                                    \
                           {a, type, lda},                                                                           \
                           {x, type, x_step},                                                                        \
                           beta,                                                                                     \
                           {y, type, y_step},                                                                        \
                           1}));                                                                                     \
  }                                                                                                                  \
  LIBRARY_API int rocblas_##letter##gemv_strided_batched(const Handle *handle, int ta, int m, int n, const T *alpha, \
                                                         const T *a, int lda, std::int64_t stride_a, const T *x,     \
                                                         int x_step, std::int64_t stride_x, const T *beta, T *y,     \
                                                         int y_step, std::int64_t stride_y, int batches) {           \
    return status_of(gemv({"rocblas_" #letter "gemv_strided_batched",                                                \
                           handle,                                                                                   \
                           ta,                                                                                       \
                           m,                                                                                        \
                           n,                                                                                        \
                           alpha,                                                                                    \
                           {a, type, lda, stride_a},                                                                 \
                           {x, type, x_step, stride_x},                                                              \
                           beta,                                                                                     \
                           {y, type, y_step, stride_y},                                                              \
                           batches}));                                                                               \
  }

AXPY(s, float, Type::F32, Type::F32)
AXPY(d, double, Type::F64, Type::F64)
AXPY(h, Half, Type::F16, Type::F32)
DOT(s, float, Type::F32, Type::F32)
DOT(d, double, Type::F64, Type::F64)
DOT(h, Half, Type::F16, Type::F32)
DOT(bf, BrainFloat, Type::BF16, Type::F32)
SCAL_AND_GEMV(s, float, Type::F32)
SCAL_AND_GEMV(d, double, Type::F64)

LIBRARY_API int rocblas_axpy_ex(const Handle *handle, int count, const void *alpha, int alpha_type, const void *x,
                                int x_type, int x_step, void *y, int y_type, int y_step, int compute) {
  return status_of(axpy({"rocblas_axpy_ex", handle, count, type_of(compute)}, alpha, type_of(alpha_type),
                        {x, type_of(x_type), x_step}, {y, type_of(y_type), y_step}));
}
LIBRARY_API int rocblas_dot_ex(const Handle *handle, int count, const void *x, int x_type, int x_step, const void *y,
                               int y_type, int y_step, void *result, int result_type, int compute) {
  return status_of(dot({"rocblas_dot_ex", handle, count, type_of(compute)}, {x, type_of(x_type), x_step},
                       {y, type_of(y_type), y_step}, result, type_of(result_type)));
}
LIBRARY_API int rocblas_scal_ex(const Handle *handle, int count, const void *alpha, int alpha_type, void *x, int x_type,
                                int step, int compute) {
  return status_of(scal({"rocblas_scal_ex", handle, count, type_of(compute)}, alpha, type_of(alpha_type),
                        {x, type_of(x_type), step}));
}
