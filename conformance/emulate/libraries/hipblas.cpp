// libhipblas.so of an emulated ROCm, for programs of hipBLAS 2 (ROCm 6) and 3 (ROCm 7), on the host.
#include "calls.h"
#include "common.h"
#include "numbers.h"

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

int set(Handle *handle, int Handle::*property, int value) {
  if (!handle) return not_initialized;
  if (value < 0 || value > 1) return invalid_enum;
  handle->*property = value;
  return success;
}
int get(const Handle *handle, int Handle::*property, int *value) {
  if (!handle) return not_initialized;
  if (!value) return invalid_value;
  *value = handle->*property;
  return success;
}

}  // namespace

// ---- handles

LIBRARY_API int hipblasCreate(Handle **handle) {
  if (!handle) return handle_is_null;
  *handle = new Handle;
  return success;
}
LIBRARY_API int hipblasDestroy(Handle *handle) {
  if (!handle) return not_initialized;
  delete handle;
  return success;
}
LIBRARY_API int hipblasSetStream(Handle *handle, void *stream) {
  if (!handle) return not_initialized;
  handle->stream = stream;
  return success;
}
LIBRARY_API int hipblasGetStream(const Handle *handle, void **stream) {
  if (!handle) return not_initialized;
  if (!stream) return invalid_value;
  *stream = handle->stream;
  return success;
}
LIBRARY_API int hipblasSetPointerMode(Handle *handle, int mode) { return set(handle, &Handle::pointer_mode, mode); }
LIBRARY_API int hipblasGetPointerMode(const Handle *handle, int *mode) {
  return get(handle, &Handle::pointer_mode, mode);
}
LIBRARY_API int hipblasSetAtomicsMode(Handle *handle, int mode) { return set(handle, &Handle::atomics_mode, mode); }
LIBRARY_API int hipblasGetAtomicsMode(const Handle *handle, int *mode) {
  return get(handle, &Handle::atomics_mode, mode);
}
LIBRARY_API int hipblasSetWorkspace(const Handle *handle, void *, std::size_t) {
  return handle ? success : not_initialized;
}
LIBRARY_API const char *hipblasStatusToString(int status) {
  constexpr const char *names[] = {
      "HIPBLAS_STATUS_SUCCESS",           "HIPBLAS_STATUS_NOT_INITIALIZED", "HIPBLAS_STATUS_ALLOC_FAILED",
      "HIPBLAS_STATUS_INVALID_VALUE",     "HIPBLAS_STATUS_MAPPING_ERROR",   "HIPBLAS_STATUS_EXECUTION_FAILED",
      "HIPBLAS_STATUS_INTERNAL_ERROR",    "HIPBLAS_STATUS_NOT_SUPPORTED",   "HIPBLAS_STATUS_ARCH_MISMATCH",
      "HIPBLAS_STATUS_HANDLE_IS_NULLPTR", "HIPBLAS_STATUS_INVALID_ENUM",    "HIPBLAS_STATUS_UNKNOWN",
  };
  return status >= 0 && status < 12 ? names[status] : "<undefined hipblasStatus_t value>";
}

// ---- copies

#define COPIES(Name, copy)                                                                                             \
  LIBRARY_API int hipblas##Name##Vector(int count, int size, const void *from, int from_step, void *to, int to_step) { \
    return status_of(copy_matrix("hipblas" #Name "Vector", copy, 1, count, size, from, from_step, to, to_step));       \
  }                                                                                                                    \
  LIBRARY_API int hipblas##Name##VectorAsync(int count, int size, const void *from, int from_step, void *to,           \
                                             int to_step, void *) {                                                    \
    return status_of(copy_matrix("hipblas" #Name "VectorAsync", copy, 1, count, size, from, from_step, to, to_step));  \
  }                                                                                                                    \
  LIBRARY_API int hipblas##Name##Matrix(int rows, int columns, int size, const void *from, int from_leading, void *to, \
                                        int to_leading) {                                                              \
    return status_of(                                                                                                  \
        copy_matrix("hipblas" #Name "Matrix", copy, rows, columns, size, from, from_leading, to, to_leading));         \
  }                                                                                                                    \
  LIBRARY_API int hipblas##Name##MatrixAsync(int rows, int columns, int size, const void *from, int from_leading,      \
                                             void *to, int to_leading, void *) {                                       \
    return status_of(                                                                                                  \
        copy_matrix("hipblas" #Name "MatrixAsync", copy, rows, columns, size, from, from_leading, to, to_leading));    \
  }

COPIES(Set, Copy::ToDevice)
COPIES(Get, Copy::FromDevice)

// ---- matrix products

#define GEMM(Letter, T, type)                                                                                          \
  LIBRARY_API int hipblas##Letter##gemm(const Handle *handle, int ta, int tb, int m, int n, int k, const T *alpha,     \
                                        const T *a, int lda, const T *b, int ldb, const T *beta, T *c, int ldc) {      \
    const Matrices result{c, type, ldc};                                                                               \
    return status_of(gemm({"hipblas" #Letter "gemm",                                                                   \
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
  LIBRARY_API int hipblas##Letter##gemmBatched(const Handle *handle, int ta, int tb, int m, int n, int k,              \
                                               const T *alpha, const void *const *a, int lda, const void *const *b,    \
                                               int ldb, const T *beta, const void *const *c, int ldc, int batches) {   \
    const Matrices result{nullptr, type, ldc, 0, c};                                                                   \
    return status_of(gemm({"hipblas" #Letter "gemmBatched",                                                            \
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
  LIBRARY_API int hipblas##Letter##gemmStridedBatched(const Handle *handle, int ta, int tb, int m, int n, int k,       \
                                                      const T *alpha, const T *a, int lda, std::int64_t stride_a,      \
                                                      const T *b, int ldb, std::int64_t stride_b, const T *beta, T *c, \
                                                      int ldc, std::int64_t stride_c, int batches) {                   \
    const Matrices result{c, type, ldc, stride_c};                                                                     \
    return status_of(gemm({"hipblas" #Letter "gemmStridedBatched",                                                     \
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

GEMM(S, float, Type::F32)
GEMM(D, double, Type::F64)
GEMM(H, Half, Type::F16)

// hipBLAS 2 has these with either kind of types, and those of hipBLAS 3 by names with _v2 too.
#define GEMM_EX(ending)                                                                                                \
  LIBRARY_API int hipblasGemmEx##ending(const Handle *handle, int ta, int tb, int m, int n, int k, const void *alpha,  \
                                        const void *a, int a_type, int lda, const void *b, int b_type, int ldb,        \
                                        const void *beta, void *c, int c_type, int ldc, int compute, int) {            \
    const Matrices result{c, type_of(c_type), ldc};                                                                    \
    return status_of(gemm({"hipblasGemmEx" #ending,                                                                    \
                           handle,                                                                                     \
                           ta,                                                                                         \
                           tb,                                                                                         \
                           m,                                                                                          \
                           n,                                                                                          \
                           k,                                                                                          \
                           alpha,                                                                                      \
                           {a, type_of(a_type), lda},                                                                  \
                           {b, type_of(b_type), ldb},                                                                  \
                           beta,                                                                                       \
                           result,                                                                                     \
                           result,                                                                                     \
                           1,                                                                                          \
                           compute_of(compute)}));                                                                     \
  }                                                                                                                    \
  LIBRARY_API int hipblasGemmBatchedEx##ending(                                                                        \
      const Handle *handle, int ta, int tb, int m, int n, int k, const void *alpha, const void *const *a, int a_type,  \
      int lda, const void *const *b, int b_type, int ldb, const void *beta, const void *const *c, int c_type, int ldc, \
      int batches, int compute, int) {                                                                                 \
    const Matrices result{nullptr, type_of(c_type), ldc, 0, c};                                                        \
    return status_of(gemm({"hipblasGemmBatchedEx" #ending,                                                             \
                           handle,                                                                                     \
                           ta,                                                                                         \
                           tb,                                                                                         \
                           m,                                                                                          \
                           n,                                                                                          \
                           k,                                                                                          \
                           alpha,                                                                                      \
                           {nullptr, type_of(a_type), lda, 0, a},                                                      \
                           {nullptr, type_of(b_type), ldb, 0, b},                                                      \
                           beta,                                                                                       \
                           result,                                                                                     \
                           result,                                                                                     \
                           batches,                                                                                    \
                           compute_of(compute)}));                                                                     \
  }                                                                                                                    \
  LIBRARY_API int hipblasGemmStridedBatchedEx##ending(                                                                 \
      const Handle *handle, int ta, int tb, int m, int n, int k, const void *alpha, const void *a, int a_type,         \
      int lda, std::int64_t stride_a, const void *b, int b_type, int ldb, std::int64_t stride_b, const void *beta,     \
      void *c, int c_type, int ldc, std::int64_t stride_c, int batches, int compute, int) {                            \
    const Matrices result{c, type_of(c_type), ldc, stride_c};                                                          \
    return status_of(gemm({"hipblasGemmStridedBatchedEx" #ending,                                                      \
                           handle,                                                                                     \
                           ta,                                                                                         \
                           tb,                                                                                         \
                           m,                                                                                          \
                           n,                                                                                          \
                           k,                                                                                          \
                           alpha,                                                                                      \
                           {a, type_of(a_type), lda, stride_a},                                                        \
                           {b, type_of(b_type), ldb, stride_b},                                                        \
                           beta,                                                                                       \
                           result,                                                                                     \
                           result,                                                                                     \
                           batches,                                                                                    \
                           compute_of(compute)}));                                                                     \
  }

GEMM_EX()
GEMM_EX(_v2)

// ---- vectors

#define AXPY(Letter, T, type, compute)                                                                                 \
  LIBRARY_API int hipblas##Letter##axpy(const Handle *handle, int count, const T *alpha, const T *x, int x_step, T *y, \
                                        int y_step) {                                                                  \
    return status_of(                                                                                                  \
        axpy({"hipblas" #Letter "axpy", handle, count, compute}, alpha, type, {x, type, x_step}, {y, type, y_step}));  \
  }
#define DOT(Letter, T, type, compute)                                                                                \
  LIBRARY_API int hipblas##Letter##dot(const Handle *handle, int count, const T *x, int x_step, const T *y,          \
                                       int y_step, T *result) {                                                      \
    return status_of(                                                                                                \
        dot({"hipblas" #Letter "dot", handle, count, compute}, {x, type, x_step}, {y, type, y_step}, result, type)); \
  }
#define SCAL_AND_GEMV(Letter, T, type)                                                                            \
  LIBRARY_API int hipblas##Letter##scal(const Handle *handle, int count, const T *alpha, T *x, int step) {        \
    return status_of(scal({"hipblas" #Letter "scal", handle, count, type}, alpha, type, {x, type, step}));        \
  }                                                                                                               \
  LIBRARY_API int hipblas##Letter##gemv(const Handle *handle, int ta, int m, int n, const T *alpha, const T *a,   \
                                        int lda, const T *x, int x_step, const T *beta, T *y, int y_step) {       \
    return status_of(gemv({"hipblas" #Letter "gemv",                                                              \
                           handle,                                                                                \
                           ta,                                                                                    \
                           m,                                                                                     \
                           n,                                                                                     \
                           alpha,                                                                                 \
                           {a, type, lda},                                                                        \
                           {x, type, x_step},                                                                     \
                           beta,                                                                                  \
                           {y, type, y_step},                                                                     \
                           1}));                                                                                  \
  }                                                                                                               \
  LIBRARY_API int hipblas##Letter##gemvStridedBatched(const Handle *handle, int ta, int m, int n, const T *alpha, \
                                                      const T *a, int lda, std::int64_t stride_a, const T *x,     \
                                                      int x_step, std::int64_t stride_x, const T *beta, T *y,     \
                                                      int y_step, std::int64_t stride_y, int batches) {           \
    return status_of(gemv({"hipblas" #Letter "gemvStridedBatched",                                                \
                           handle,                                                                                \
                           ta,                                                                                    \
                           m,                                                                                     \
                           n,                                                                                     \
                           alpha,                                                                                 \
                           {a, type, lda, stride_a},                                                              \
                           {x, type, x_step, stride_x},                                                           \
                           beta,                                                                                  \
                           {y, type, y_step, stride_y},                                                           \
                           batches}));                                                                            \
  }

AXPY(S, float, Type::F32, Type::F32)
AXPY(D, double, Type::F64, Type::F64)
AXPY(H, Half, Type::F16, Type::F32)
DOT(S, float, Type::F32, Type::F32)
DOT(D, double, Type::F64, Type::F64)
DOT(H, Half, Type::F16, Type::F32)
DOT(Bf, BrainFloat, Type::BF16, Type::F32)
SCAL_AND_GEMV(S, float, Type::F32)
SCAL_AND_GEMV(D, double, Type::F64)

#define VECTORS_EX(ending)                                                                                           \
  LIBRARY_API int hipblasAxpyEx##ending(const Handle *handle, int count, const void *alpha, int alpha_type,          \
                                        const void *x, int x_type, int x_step, void *y, int y_type, int y_step,      \
                                        int compute) {                                                               \
    return status_of(axpy({"hipblasAxpyEx" #ending, handle, count, type_of(compute)}, alpha, type_of(alpha_type),    \
                          {x, type_of(x_type), x_step}, {y, type_of(y_type), y_step}));                              \
  }                                                                                                                  \
  LIBRARY_API int hipblasDotEx##ending(const Handle *handle, int count, const void *x, int x_type, int x_step,       \
                                       const void *y, int y_type, int y_step, void *result, int result_type,         \
                                       int compute) {                                                                \
    return status_of(dot({"hipblasDotEx" #ending, handle, count, type_of(compute)}, {x, type_of(x_type), x_step},    \
                         {y, type_of(y_type), y_step}, result, type_of(result_type)));                               \
  }                                                                                                                  \
  LIBRARY_API int hipblasScalEx##ending(const Handle *handle, int count, const void *alpha, int alpha_type, void *x, \
                                        int x_type, int step, int compute) {                                         \
    return status_of(scal({"hipblasScalEx" #ending, handle, count, type_of(compute)}, alpha, type_of(alpha_type),    \
                          {x, type_of(x_type), step}));                                                              \
  }

VECTORS_EX()
VECTORS_EX(_v2)
