// What rocBLAS and hipBLAS have in common: their handle, and calls with the checks of their arguments.
#pragma once

#include <cstddef>
#include <cstdint>

#include "products.h"

namespace emulated {

// How a call ends; each library has numbers of its own for it.
enum class Outcome { Success, InvalidHandle, NotImplemented, InvalidPointer, InvalidSize, InvalidValue, InternalError };

// Every call is complete when it returns, as all work of the emulated device is. Only where the stream is captured it
// is kept for the graph instead.
struct Handle {
  void *stream = nullptr;
  int pointer_mode = 0;  // 0: alpha, beta and results are on the host; 1: on the device
  int atomics_mode = 1, math_mode = 0;
};

constexpr int no_transpose = 111, transpose = 112, conjugate_transpose = 113;  // in both libraries

// Who calls.
struct Call {
  const char *function;
  const Handle *handle;
};

Outcome set(Handle *handle, void *Handle::*property, void *value);
Outcome get(const Handle *handle, void *Handle::*property, void **value);
Outcome get(const Handle *handle, int Handle::*property, int *value);
// `value` is 0 or 1.
Outcome set_mode(Handle *handle, int Handle::*property, int value);

// Of a product: how A and B are transposed, and its sizes as `Product` has them.
struct GemmShape {
  int transpose_a, transpose_b;
  std::int64_t m, n, k;
};
// D = alpha * op(A) * op(B) + beta * C, with sums, alpha and beta of the type `compute`.
Outcome gemm(const Call &call, const GemmShape &shape, const void *alpha, const Matrices &a, const Matrices &b,
             const void *beta, const Matrices &c, const Matrices &d, std::int64_t batches, Type compute);

// Vectors of a batch, `stride` elements apart, of elements that are `step` apart; with a negative step the first
// element is the last in memory.
struct Vectors {
  const void *first;
  Type type;
  std::int64_t step, stride = 0;
};

// y = alpha * op(A) * x + beta * y, where A has `m` rows and `n` columns; all of one type.
Outcome gemv(const Call &call, int transpose_a, std::int64_t m, std::int64_t n, const void *alpha, const Matrices &a,
             const Vectors &x, const void *beta, const Vectors &y, std::int64_t batches);

// Of vectors of `count` elements, computed in the type `compute`, F32 or F64.
// y = alpha * x + y
Outcome axpy(const Call &call, std::int64_t count, Type compute, const void *alpha, Type alpha_type, const Vectors &x,
             const Vectors &y);
// x = alpha * x
Outcome scal(const Call &call, std::int64_t count, Type compute, const void *alpha, Type alpha_type, const Vectors &x);
// The sum of x * y, in ascending order.
Outcome dot(const Call &call, std::int64_t count, Type compute, const Vectors &x, const Vectors &y, void *result,
            Type result_type);

enum class Copy { ToDevice, FromDevice };
// `rows` by `columns` elements of `size` bytes between host and device, on `stream`, which is null for calls that wait.
// A vector is a matrix of one row.
Outcome copy_matrix(const char *function, void *stream, Copy copy, std::int64_t rows, std::int64_t columns,
                    std::int64_t size, const void *from, std::int64_t from_leading, void *to, std::int64_t to_leading);

}  // namespace emulated
