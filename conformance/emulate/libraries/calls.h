// What rocBLAS and hipBLAS have in common: their handle, and calls with the checks of their arguments.
#pragma once

#include <cstddef>
#include <cstdint>

#include "products.h"

namespace emulated {

// How a call ends; each library has numbers of its own for it.
enum class Outcome { Success, InvalidHandle, NotImplemented, InvalidPointer, InvalidSize, InvalidValue, InternalError };

// Every call is complete when it returns, as all work of the emulated device is: the stream is only kept.
struct Handle {
  void *stream = nullptr;
  int pointer_mode = 0;  // 0: alpha, beta and results are on the host; 1: on the device
  int atomics_mode = 1, math_mode = 0;
};

constexpr int no_transpose = 111, transpose = 112, conjugate_transpose = 113;  // in both libraries

struct GemmCall {
  const char *function;
  const Handle *handle;
  int transpose_a, transpose_b;
  std::int64_t m, n, k;
  const void *alpha;
  Matrices a, b;
  const void *beta;
  Matrices c, d;
  std::int64_t batches;
  Type compute;
};
Outcome gemm(const GemmCall &call);

// Vectors of a batch, `stride` elements apart, of elements that are `step` apart; with a negative step the first
// element is the last in memory.
struct Vectors {
  const void *first;
  Type type;
  std::int64_t step, stride = 0;
};

// y = alpha * op(A) * x + beta * y, where A has `m` rows and `n` columns.
struct GemvCall {
  const char *function;
  const Handle *handle;
  int transpose_a;
  std::int64_t m, n;
  const void *alpha;
  Matrices a;
  Vectors x;
  const void *beta;
  Vectors y;
  std::int64_t batches;
};
Outcome gemv(const GemvCall &call);

struct VectorCall {
  const char *function;
  const Handle *handle;
  std::int64_t count;
  Type compute;  // F32 or F64
};
// y = alpha * x + y
Outcome axpy(const VectorCall &call, const void *alpha, Type alpha_type, const Vectors &x, const Vectors &y);
// x = alpha * x
Outcome scal(const VectorCall &call, const void *alpha, Type alpha_type, const Vectors &x);
// The sum of x * y, in ascending order.
Outcome dot(const VectorCall &call, const Vectors &x, const Vectors &y, void *result, Type result_type);

enum class Copy { ToDevice, FromDevice };
// `rows` by `columns` elements of `size` bytes between host and device. A vector is a matrix of one row.
Outcome copy_matrix(const char *function, Copy copy, std::int64_t rows, std::int64_t columns, std::int64_t size,
                    const void *from, std::int64_t from_leading, void *to, std::int64_t to_leading);

}  // namespace emulated
