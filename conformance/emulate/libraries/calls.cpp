#include "calls.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "common.h"
#include "numbers.h"

namespace emulated {
namespace {

bool is_operation(int value) { return value == no_transpose || value == transpose || value == conjugate_transpose; }

// Scalars and results of a call: on the device where the handle says so.
bool readable(const char *function, const Handle &handle, const char *role, const void *pointer, Type type) {
  return handle.pointer_mode == 0 || accessible(function, role, pointer, size_of(type));
}

double load(const void *array, Type type, std::int64_t index) {
  switch (type) {
    case Type::F16:
      return wide(static_cast<const Half *>(array)[index]);
    case Type::BF16:
      return wide(static_cast<const BrainFloat *>(array)[index]);
    case Type::F32:
      return static_cast<const float *>(array)[index];
    default:
      return static_cast<const double *>(array)[index];
  }
}

// `value` is a number of float but where `type` is F64.
void store(void *array, Type type, std::int64_t index, double value) {
  switch (type) {
    case Type::F16:
      static_cast<Half *>(array)[index] = narrow<Half>(static_cast<float>(value));
      break;
    case Type::BF16:
      static_cast<BrainFloat *>(array)[index] = narrow<BrainFloat>(static_cast<float>(value));
      break;
    case Type::F32:
      static_cast<float *>(array)[index] = static_cast<float>(value);
      break;
    default:
      static_cast<double *>(array)[index] = value;
  }
}

bool is_float(Type type) { return type == Type::F16 || type == Type::BF16 || type == Type::F32 || type == Type::F64; }

// Where element `index` of a vector of `count` lies.
std::int64_t place(const Vectors &vector, std::int64_t count, std::int64_t index) {
  return vector.step < 0 ? (index - count + 1) * vector.step : index * vector.step;
}

bool is_there(const char *function, const char *role, const Vectors &all, std::int64_t count, std::int64_t batches) {
  const std::size_t size = size_of(all.type);
  return count == 0 || all_accessible(function, role, all.first,
                                      static_cast<std::size_t>((count - 1) * std::abs(all.step) + 1) * size, batches,
                                      all.stride * static_cast<std::int64_t>(size));
}

char *at(const Vectors &all, std::int64_t batch) {
  const auto bytes = batch * all.stride * static_cast<std::int64_t>(size_of(all.type));
  return static_cast<char *>(const_cast<void *>(all.first)) + bytes;
}

// `operation` of two numbers of the type that a call computes in.
template <class Operation>
double computed(const VectorCall &call, Operation operation) {
  return call.compute == Type::F64 ? operation(double{}) : static_cast<double>(operation(float{}));
}

// The checks that the calls with vectors share; `Success` with nothing to do is told by `count`.
Outcome checked(const VectorCall &call, std::initializer_list<Type> types) {
  if (!call.handle) return Outcome::InvalidHandle;
  tell_of_capture(call.function, call.handle->stream);
  const bool known = (call.compute == Type::F32 || call.compute == Type::F64) && std::ranges::all_of(types, is_float) &&
                     (call.compute == Type::F64 || std::ranges::count(types, Type::F64) == 0);
  if (known) return Outcome::Success;
  say("%s: these types are not emulated by candle-parity", call.function);
  return Outcome::NotImplemented;
}

}  // namespace

Outcome gemm(const GemmCall &call) {
  if (!call.handle) return Outcome::InvalidHandle;
  tell_of_capture(call.function, call.handle->stream);
  if (!is_operation(call.transpose_a) || !is_operation(call.transpose_b)) return Outcome::InvalidValue;
  const bool ta = call.transpose_a != no_transpose, tb = call.transpose_b != no_transpose;
  const auto least = [](std::int64_t rows) { return std::max<std::int64_t>(rows, 1); };
  if (call.m < 0 || call.n < 0 || call.k < 0 || call.batches < 0 || call.a.leading < least(ta ? call.k : call.m) ||
      call.b.leading < least(tb ? call.n : call.k) || call.c.leading < least(call.m) ||
      call.d.leading < least(call.m)) {
    say("%s: a size is negative, or a leading dimension less than the rows of its matrix (m %ld, n %ld, k %ld, lda "
        "%ld, "
        "ldb %ld, ldc %ld, ldd %ld, batches %ld)",
        call.function, call.m, call.n, call.k, call.a.leading, call.b.leading, call.c.leading, call.d.leading,
        call.batches);
    return Outcome::InvalidSize;
  }
  if (call.m == 0 || call.n == 0 || call.batches == 0) return Outcome::Success;
  if (!call.alpha || !call.beta) return Outcome::InvalidPointer;
  const Product product{ta,        tb,     call.m, call.n, call.k, call.batches, call.alpha,
                        call.beta, call.a, call.b, call.c, call.d, call.compute};
  if (!has_types(product)) {
    say("%s: a product of these types is not emulated by candle-parity", call.function);
    return Outcome::NotImplemented;
  }
  if (!readable(call.function, *call.handle, "alpha", call.alpha, call.compute) ||
      !readable(call.function, *call.handle, "beta", call.beta, call.compute))
    return Outcome::InternalError;
  if (!has_pointers(product)) return Outcome::InvalidPointer;
  if (!has_memory(call.function, product)) return Outcome::InternalError;
  multiply(product);
  return Outcome::Success;
}

Outcome gemv(const GemvCall &call) {
  if (!call.handle) return Outcome::InvalidHandle;
  tell_of_capture(call.function, call.handle->stream);
  if (!is_operation(call.transpose_a)) return Outcome::InvalidValue;
  if (call.m < 0 || call.n < 0 || call.a.leading < std::max<std::int64_t>(call.m, 1) || call.x.step == 0 ||
      call.y.step == 0 || call.batches < 0)
    return Outcome::InvalidSize;
  if (call.m == 0 || call.n == 0 || call.batches == 0) return Outcome::Success;
  if (!call.alpha || !call.beta || !call.y.first) return Outcome::InvalidPointer;
  const bool transposed = call.transpose_a != no_transpose;
  const std::int64_t rows = transposed ? call.n : call.m, inner = transposed ? call.m : call.n;
  const Type type = call.a.type;
  if (!readable(call.function, *call.handle, "alpha", call.alpha, type) ||
      !readable(call.function, *call.handle, "beta", call.beta, type))
    return Outcome::InternalError;
  const bool multiplies = !is_zero(call.alpha, type);  // else nothing of A and x is read
  if (multiplies && (!call.a.first || !call.x.first)) return Outcome::InvalidPointer;
  const auto matrix_bytes = static_cast<std::size_t>((call.n - 1) * call.a.leading + call.m) * size_of(type);
  if ((multiplies && (!is_there(call.function, "x", call.x, inner, call.batches) ||
                      !all_accessible(call.function, "A", call.a.first, matrix_bytes, call.batches,
                                      call.a.stride * static_cast<std::int64_t>(size_of(type))))) ||
      !is_there(call.function, "y", call.y, rows, call.batches))
    return Outcome::InternalError;
  // As a product of one column, of which both vectors are gathered.
  for (std::int64_t batch = 0; batch < call.batches; ++batch) {
    const std::size_t size = size_of(type);
    std::vector<char> x(static_cast<std::size_t>(inner) * size), y(static_cast<std::size_t>(rows) * size);
    for (std::int64_t i = 0; multiplies && i < inner; ++i)
      store(x.data(), type, i, load(at(call.x, batch), type, place(call.x, inner, i)));
    for (std::int64_t i = 0; i < rows; ++i)
      store(y.data(), type, i, load(at(call.y, batch), type, place(call.y, rows, i)));
    const Matrices a{call.a.matrix(batch), type, call.a.leading}, result{y.data(), type, rows};
    const Product product{transposed, false,  rows, 1, inner, 1, call.alpha, call.beta, a, {x.data(), type, inner},
                          result,     result, type};
    multiply(product);
    for (std::int64_t i = 0; i < rows; ++i)
      store(at(call.y, batch), type, place(call.y, rows, i), load(y.data(), type, i));
  }
  return Outcome::Success;
}

Outcome axpy(const VectorCall &call, const void *alpha, Type alpha_type, const Vectors &x, const Vectors &y) {
  if (const Outcome outcome = checked(call, {alpha_type, x.type, y.type}); outcome != Outcome::Success) return outcome;
  if (call.count <= 0) return Outcome::Success;
  if (!alpha || !x.first || !y.first) return Outcome::InvalidPointer;
  if (!readable(call.function, *call.handle, "alpha", alpha, alpha_type) ||
      !is_there(call.function, "x", x, call.count, 1) || !is_there(call.function, "y", y, call.count, 1))
    return Outcome::InternalError;
  const double by = load(alpha, alpha_type, 0);
  for (std::int64_t i = 0; i < call.count; ++i) {
    const double from = load(x.first, x.type, place(x, call.count, i));
    const std::int64_t to = place(y, call.count, i);
    const double before = load(y.first, y.type, to);
    store(const_cast<void *>(y.first), y.type, to, computed(call, [&](auto kind) {
            using T = decltype(kind);
            return static_cast<T>(by) * static_cast<T>(from) + static_cast<T>(before);
          }));
  }
  return Outcome::Success;
}

Outcome scal(const VectorCall &call, const void *alpha, Type alpha_type, const Vectors &x) {
  if (const Outcome outcome = checked(call, {alpha_type, x.type}); outcome != Outcome::Success) return outcome;
  if (call.count <= 0 || x.step <= 0) return Outcome::Success;
  if (!alpha || !x.first) return Outcome::InvalidPointer;
  if (!readable(call.function, *call.handle, "alpha", alpha, alpha_type) ||
      !is_there(call.function, "x", x, call.count, 1))
    return Outcome::InternalError;
  const double by = load(alpha, alpha_type, 0);
  for (std::int64_t i = 0; i < call.count; ++i) {
    const double before = load(x.first, x.type, i * x.step);
    store(const_cast<void *>(x.first), x.type, i * x.step, computed(call, [&](auto kind) {
            using T = decltype(kind);
            return static_cast<T>(by) * static_cast<T>(before);
          }));
  }
  return Outcome::Success;
}

Outcome dot(const VectorCall &call, const Vectors &x, const Vectors &y, void *result, Type result_type) {
  if (const Outcome outcome = checked(call, {x.type, y.type, result_type}); outcome != Outcome::Success) return outcome;
  if (!result) return Outcome::InvalidPointer;
  if (!readable(call.function, *call.handle, "the result", result, result_type)) return Outcome::InternalError;
  if (call.count > 0) {
    if (!x.first || !y.first) return Outcome::InvalidPointer;
    if (!is_there(call.function, "x", x, call.count, 1) || !is_there(call.function, "y", y, call.count, 1))
      return Outcome::InternalError;
  }
  store(result, result_type, 0, computed(call, [&](auto sum) {
          using T = decltype(sum);
          for (std::int64_t i = 0; i < call.count; ++i)
            sum += static_cast<T>(load(x.first, x.type, place(x, call.count, i))) *
                   static_cast<T>(load(y.first, y.type, place(y, call.count, i)));
          return sum;
        }));
  return Outcome::Success;
}

Outcome copy_matrix(const char *function, Copy copy, std::int64_t rows, std::int64_t columns, std::int64_t size,
                    const void *from, std::int64_t from_leading, void *to, std::int64_t to_leading) {
  if (rows < 0 || columns < 0 || size <= 0 || from_leading < rows || to_leading < rows) {
    say("%s: a size is negative, or a leading dimension less than the rows", function);
    return Outcome::InvalidSize;
  }
  if (rows == 0 || columns == 0) return Outcome::Success;
  if (!from || !to) return Outcome::InvalidPointer;
  const bool of_device = copy == Copy::ToDevice;
  const auto bytes = static_cast<std::size_t>(((columns - 1) * (of_device ? to_leading : from_leading) + rows) * size);
  if (!accessible(function, of_device ? "destination" : "source", of_device ? to : from, bytes))
    return Outcome::InternalError;
  for (std::int64_t j = 0; j < columns; ++j)
    std::memcpy(static_cast<char *>(to) + j * to_leading * size,
                static_cast<const char *>(from) + j * from_leading * size, static_cast<std::size_t>(rows * size));
  return Outcome::Success;
}

}  // namespace emulated
