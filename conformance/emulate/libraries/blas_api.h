// The functions of rocBLAS and hipBLAS that take the same arguments: one macro for each kind of call. A row of
// blas_functions.h gives one function its name in either library, and the type that is part of the name.
//
// The file that includes this has OWN(rocblas, hipblas), which is one of its two arguments, and for the numbers of its
// library status_of(Outcome), type_of(int), and `without_place`: the status where there is no
// place for a new handle.
#pragma once

#include <cstddef>
#include <cstdint>

#include "calls.h"
#include "common.h"
#include "numbers.h"

#define TEXT_OF(...) #__VA_ARGS__
#define TEXT(...) TEXT_OF(__VA_ARGS__)
#define OWN_NAME(rocblas, hipblas) TEXT(OWN(rocblas, hipblas))

namespace emulated {

// Matrices of a batch at the addresses that an array on the device has.
inline Matrices each(const void *const *matrices, Type type, std::int64_t leading) {
  return {nullptr, type, leading, 0, matrices};
}

}  // namespace emulated

// ---- handles

#define CREATE(rocblas, hipblas)                            \
  LIBRARY_API int OWN(rocblas, hipblas)(Handle * *handle) { \
    if (!handle) return without_place;                      \
    *handle = new Handle;                                   \
    return status_of(Outcome::Success);                     \
  }
#define DESTROY(rocblas, hipblas)                          \
  LIBRARY_API int OWN(rocblas, hipblas)(Handle * handle) { \
    if (!handle) return status_of(Outcome::InvalidHandle); \
    delete handle;                                         \
    return status_of(Outcome::Success);                    \
  }
#define SET_STREAM(rocblas, hipblas)                                     \
  LIBRARY_API int OWN(rocblas, hipblas)(Handle * handle, void *stream) { \
    return status_of(set(handle, &Handle::stream, stream));              \
  }
#define GET_STREAM(rocblas, hipblas)                                           \
  LIBRARY_API int OWN(rocblas, hipblas)(const Handle *handle, void **stream) { \
    return status_of(get(handle, &Handle::stream, stream));                    \
  }
#define SET_MODE(rocblas, hipblas, property)                         \
  LIBRARY_API int OWN(rocblas, hipblas)(Handle * handle, int mode) { \
    return status_of(set_mode(handle, &Handle::property, mode));     \
  }
#define GET_MODE(rocblas, hipblas, property)                               \
  LIBRARY_API int OWN(rocblas, hipblas)(const Handle *handle, int *mode) { \
    return status_of(get(handle, &Handle::property, mode));                \
  }
// Workspaces are not needed: they are accepted.
#define SET_WORKSPACE(rocblas, hipblas)                                              \
  LIBRARY_API int OWN(rocblas, hipblas)(const Handle *handle, void *, std::size_t) { \
    return status_of(handle ? Outcome::Success : Outcome::InvalidHandle);            \
  }

// ---- copies

#define COPY_VECTOR(rocblas, hipblas, to_or_from)                                                                      \
  LIBRARY_API int OWN(rocblas, hipblas)(int count, int size, const void *from, int from_step, void *to, int to_step) { \
    return status_of(copy_matrix(OWN_NAME(rocblas, hipblas), nullptr, Copy::to_or_from, 1, count, size, from,          \
                                 from_step, to, to_step));                                                             \
  }
#define COPY_VECTOR_ASYNC(rocblas, hipblas, to_or_from)                                                              \
  LIBRARY_API int OWN(rocblas, hipblas)(int count, int size, const void *from, int from_step, void *to, int to_step, \
                                        void *stream) {                                                              \
    return status_of(copy_matrix(OWN_NAME(rocblas, hipblas), stream, Copy::to_or_from, 1, count, size, from,         \
                                 from_step, to, to_step));                                                           \
  }
#define COPY_MATRIX(rocblas, hipblas, to_or_from)                                                                      \
  LIBRARY_API int OWN(rocblas, hipblas)(int rows, int columns, int size, const void *from, int from_leading, void *to, \
                                        int to_leading) {                                                              \
    return status_of(copy_matrix(OWN_NAME(rocblas, hipblas), nullptr, Copy::to_or_from, rows, columns, size, from,     \
                                 from_leading, to, to_leading));                                                       \
  }
#define COPY_MATRIX_ASYNC(rocblas, hipblas, to_or_from)                                                                \
  LIBRARY_API int OWN(rocblas, hipblas)(int rows, int columns, int size, const void *from, int from_leading, void *to, \
                                        int to_leading, void *stream) {                                                \
    return status_of(copy_matrix(OWN_NAME(rocblas, hipblas), stream, Copy::to_or_from, rows, columns, size, from,      \
                                 from_leading, to, to_leading));                                                       \
  }

// ---- matrices of the type that the name says

#define GEMM(rocblas, hipblas, T, type)                                                                            \
  LIBRARY_API int OWN(rocblas, hipblas)(const Handle *handle, int ta, int tb, int m, int n, int k, const T *alpha, \
                                        const T *a, int lda, const T *b, int ldb, const T *beta, T *c, int ldc) {  \
    return status_of(gemm({OWN_NAME(rocblas, hipblas), handle}, {ta, tb, m, n, k}, alpha, {a, type, lda},          \
                          {b, type, ldb}, beta, {c, type, ldc}, {c, type, ldc}, 1, type));                         \
  }
#define GEMM_BATCHED(rocblas, hipblas, T, type)                                                                      \
  LIBRARY_API int OWN(rocblas, hipblas)(const Handle *handle, int ta, int tb, int m, int n, int k, const T *alpha,   \
                                        const void *const *a, int lda, const void *const *b, int ldb, const T *beta, \
                                        const void *const *c, int ldc, int batches) {                                \
    return status_of(gemm({OWN_NAME(rocblas, hipblas), handle}, {ta, tb, m, n, k}, alpha, each(a, type, lda),        \
                          each(b, type, ldb), beta, each(c, type, ldc), each(c, type, ldc), batches, type));         \
  }
#define GEMM_STRIDED_BATCHED(rocblas, hipblas, T, type)                                                                \
  LIBRARY_API int OWN(rocblas, hipblas)(const Handle *handle, int ta, int tb, int m, int n, int k, const T *alpha,     \
                                        const T *a, int lda, std::int64_t stride_a, const T *b, int ldb,               \
                                        std::int64_t stride_b, const T *beta, T *c, int ldc, std::int64_t stride_c,    \
                                        int batches) {                                                                 \
    return status_of(gemm({OWN_NAME(rocblas, hipblas), handle}, {ta, tb, m, n, k}, alpha, {a, type, lda, stride_a},    \
                          {b, type, ldb, stride_b}, beta, {c, type, ldc, stride_c}, {c, type, ldc, stride_c}, batches, \
                          type));                                                                                      \
  }
#define GEMV(rocblas, hipblas, T, type)                                                                             \
  LIBRARY_API int OWN(rocblas, hipblas)(const Handle *handle, int ta, int m, int n, const T *alpha, const T *a,     \
                                        int lda, const T *x, int x_step, const T *beta, T *y, int y_step) {         \
    return status_of(gemv({OWN_NAME(rocblas, hipblas), handle}, ta, m, n, alpha, {a, type, lda}, {x, type, x_step}, \
                          beta, {y, type, y_step}, 1));                                                             \
  }
#define GEMV_STRIDED_BATCHED(rocblas, hipblas, T, type)                                                                \
  LIBRARY_API int OWN(rocblas, hipblas)(const Handle *handle, int ta, int m, int n, const T *alpha, const T *a,        \
                                        int lda, std::int64_t stride_a, const T *x, int x_step, std::int64_t stride_x, \
                                        const T *beta, T *y, int y_step, std::int64_t stride_y, int batches) {         \
    return status_of(gemv({OWN_NAME(rocblas, hipblas), handle}, ta, m, n, alpha, {a, type, lda, stride_a},             \
                          {x, type, x_step, stride_x}, beta, {y, type, y_step, stride_y}, batches));                   \
  }

// ---- vectors of the type that the name says, with sums of the type `compute`

#define AXPY(rocblas, hipblas, T, type, compute)                                                                       \
  LIBRARY_API int OWN(rocblas, hipblas)(const Handle *handle, int count, const T *alpha, const T *x, int x_step, T *y, \
                                        int y_step) {                                                                  \
    return status_of(axpy({OWN_NAME(rocblas, hipblas), handle}, count, compute, alpha, type, {x, type, x_step},        \
                          {y, type, y_step}));                                                                         \
  }
#define DOT(rocblas, hipblas, T, type, compute)                                                                      \
  LIBRARY_API int OWN(rocblas, hipblas)(const Handle *handle, int count, const T *x, int x_step, const T *y,         \
                                        int y_step, T *result) {                                                     \
    return status_of(dot({OWN_NAME(rocblas, hipblas), handle}, count, compute, {x, type, x_step}, {y, type, y_step}, \
                         result, type));                                                                             \
  }
#define SCAL(rocblas, hipblas, T, type)                                                                      \
  LIBRARY_API int OWN(rocblas, hipblas)(const Handle *handle, int count, const T *alpha, T *x, int step) {   \
    return status_of(scal({OWN_NAME(rocblas, hipblas), handle}, count, type, alpha, type, {x, type, step})); \
  }

// ---- vectors of the types that the call says

#define AXPY_EX(rocblas, hipblas)                                                                                    \
  LIBRARY_API int OWN(rocblas, hipblas)(const Handle *handle, int count, const void *alpha, int alpha_type,          \
                                        const void *x, int x_type, int x_step, void *y, int y_type, int y_step,      \
                                        int compute) {                                                               \
    return status_of(axpy({OWN_NAME(rocblas, hipblas), handle}, count, type_of(compute), alpha, type_of(alpha_type), \
                          {x, type_of(x_type), x_step}, {y, type_of(y_type), y_step}));                              \
  }
#define DOT_EX(rocblas, hipblas)                                                                                      \
  LIBRARY_API int OWN(rocblas, hipblas)(const Handle *handle, int count, const void *x, int x_type, int x_step,       \
                                        const void *y, int y_type, int y_step, void *result, int result_type,         \
                                        int compute) {                                                                \
    return status_of(dot({OWN_NAME(rocblas, hipblas), handle}, count, type_of(compute), {x, type_of(x_type), x_step}, \
                         {y, type_of(y_type), y_step}, result, type_of(result_type)));                                \
  }
#define SCAL_EX(rocblas, hipblas)                                                                                    \
  LIBRARY_API int OWN(rocblas, hipblas)(const Handle *handle, int count, const void *alpha, int alpha_type, void *x, \
                                        int x_type, int step, int compute) {                                         \
    return status_of(scal({OWN_NAME(rocblas, hipblas), handle}, count, type_of(compute), alpha, type_of(alpha_type), \
                          {x, type_of(x_type), step}));                                                              \
  }
