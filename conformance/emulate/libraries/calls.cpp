#include "calls.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "common.h"
#include "numbers.h"

namespace emulated {
namespace {

bool is_operation(int value) { return value == no_transpose || value == transpose || value == conjugate_transpose; }

// A number that a call is given by its address. One on the host is copied, for the call may be done when a graph is
// launched; one on the device is read when the call is done.
class Scalar {
 public:
  Scalar(const Call &call, const char *role, const void *given, Type type)
      : function_(call.function), role_(role), given_(given), type_(type), of_host_(call.handle->pointer_mode == 0) {
    if (of_host_) std::memcpy(value_.data(), given, size_of(type));
  }
  bool is_readable() const { return of_host_ || accessible(function_, role_, given_, size_of(type_)); }
  const void *at() const { return of_host_ ? value_.data() : given_; }

 private:
  const char *function_, *role_;
  const void *given_;
  Type type_;
  bool of_host_;
  alignas(double) std::array<char, sizeof(double)> value_{};
};

// Does `work` of a call on a stream, or keeps it for the graph that the stream is captured into.
template <class Work>
Outcome on_stream(const char *function, void *stream, Work work) {
  const bool kept = kept_for_graph(function, stream, [work] { return work() == Outcome::Success; });
  return kept ? Outcome::Success : work();
}
template <class Work>
Outcome on_stream(const Call &call, Work work) {
  return on_stream(call.function, call.handle->stream, work);
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

// `operation` of numbers of the type `compute`.
template <class Operation>
double computed(Type compute, Operation operation) {
  return compute == Type::F64 ? operation(double{}) : static_cast<double>(operation(float{}));
}

// The checks that the calls with vectors share.
Outcome checked(const Call &call, Type compute, std::initializer_list<Type> types) {
  if (!call.handle) return Outcome::InvalidHandle;
  const bool known = (compute == Type::F32 || compute == Type::F64) && std::ranges::all_of(types, is_float) &&
                     (compute == Type::F64 || std::ranges::count(types, Type::F64) == 0);
  if (known) return Outcome::Success;
  say("%s: these types are not emulated by candle-parity", call.function);
  return Outcome::NotImplemented;
}

template <class T>
Outcome get_property(const Handle *handle, T Handle::*property, T *value) {
  if (!handle) return Outcome::InvalidHandle;
  if (!value) return Outcome::InvalidPointer;
  *value = handle->*property;
  return Outcome::Success;
}

}  // namespace

Outcome set(Handle *handle, void *Handle::*property, void *value) {
  if (!handle) return Outcome::InvalidHandle;
  handle->*property = value;
  return Outcome::Success;
}
Outcome set_mode(Handle *handle, int Handle::*property, int value) {
  if (!handle) return Outcome::InvalidHandle;
  if (value < 0 || value > 1) return Outcome::InvalidValue;
  handle->*property = value;
  return Outcome::Success;
}
Outcome get(const Handle *handle, void *Handle::*property, void **value) {
  return get_property(handle, property, value);
}
Outcome get(const Handle *handle, int Handle::*property, int *value) { return get_property(handle, property, value); }

Outcome gemm(const Call &call, const GemmShape &shape, const void *alpha, const Matrices &a, const Matrices &b,
             const void *beta, const Matrices &c, const Matrices &d, std::int64_t batches, Type compute) {
  if (!call.handle) return Outcome::InvalidHandle;
  const auto &[transpose_a, transpose_b, m, n, k] = shape;
  if (!is_operation(transpose_a) || !is_operation(transpose_b)) return Outcome::InvalidValue;
  const bool ta = transpose_a != no_transpose, tb = transpose_b != no_transpose;
  const auto least = [](std::int64_t rows) { return std::max<std::int64_t>(rows, 1); };
  if (m < 0 || n < 0 || k < 0 || batches < 0 || a.leading < least(ta ? k : m) || b.leading < least(tb ? n : k) ||
      c.leading < least(m) || d.leading < least(m)) {
    say("%s: a size is negative, or a leading dimension less than the rows of its matrix (m %ld, n %ld, k %ld, lda "
        "%ld, "
        "ldb %ld, ldc %ld, ldd %ld, batches %ld)",
        call.function, m, n, k, a.leading, b.leading, c.leading, d.leading, batches);
    return Outcome::InvalidSize;
  }
  if (m == 0 || n == 0 || batches == 0) return Outcome::Success;
  if (!alpha || !beta) return Outcome::InvalidPointer;
  const Product product{ta, tb, m, n, k, batches, alpha, beta, a, b, c, d, compute};
  if (!has_types(product)) {
    say("%s: a product of these types is not emulated by candle-parity", call.function);
    return Outcome::NotImplemented;
  }
  const Scalar by{call, "alpha", alpha, compute}, also{call, "beta", beta, compute};
  return on_stream(call, [product, by, also, function = call.function] {
    if (!by.is_readable() || !also.is_readable()) return Outcome::InternalError;
    Product now = product;
    now.alpha = by.at();
    now.beta = also.at();
    if (!has_pointers(now)) return Outcome::InvalidPointer;
    if (!has_memory(function, now)) return Outcome::InternalError;
    multiply(now);
    return Outcome::Success;
  });
}

Outcome gemv(const Call &call, int transpose_a, std::int64_t m, std::int64_t n, const void *alpha, const Matrices &a,
             const Vectors &x, const void *beta, const Vectors &y, std::int64_t batches) {
  if (!call.handle) return Outcome::InvalidHandle;
  if (!is_operation(transpose_a)) return Outcome::InvalidValue;
  if (m < 0 || n < 0 || a.leading < std::max<std::int64_t>(m, 1) || x.step == 0 || y.step == 0 || batches < 0)
    return Outcome::InvalidSize;
  if (m == 0 || n == 0 || batches == 0) return Outcome::Success;
  if (!alpha || !beta || !y.first) return Outcome::InvalidPointer;
  const bool transposed = transpose_a != no_transpose;
  const std::int64_t rows = transposed ? n : m, inner = transposed ? m : n;
  const Type type = a.type;
  const Scalar by{call, "alpha", alpha, type}, also{call, "beta", beta, type};
  return on_stream(call, [=, function = call.function] {
    if (!by.is_readable() || !also.is_readable()) return Outcome::InternalError;
    const bool multiplies = !is_zero(by.at(), type);  // else nothing of A and x is read
    if (multiplies && (!a.first || !x.first)) return Outcome::InvalidPointer;
    const auto matrix_bytes = static_cast<std::size_t>((n - 1) * a.leading + m) * size_of(type);
    if ((multiplies && (!is_there(function, "x", x, inner, batches) ||
                        !all_accessible(function, "A", a.first, matrix_bytes, batches,
                                        a.stride * static_cast<std::int64_t>(size_of(type))))) ||
        !is_there(function, "y", y, rows, batches))
      return Outcome::InternalError;
    // As a product of one column, of which both vectors are gathered.
    for (std::int64_t batch = 0; batch < batches; ++batch) {
      const std::size_t size = size_of(type);
      std::vector<char> factor(static_cast<std::size_t>(inner) * size), sums(static_cast<std::size_t>(rows) * size);
      for (std::int64_t i = 0; multiplies && i < inner; ++i)
        store(factor.data(), type, i, load(at(x, batch), type, place(x, inner, i)));
      for (std::int64_t i = 0; i < rows; ++i) store(sums.data(), type, i, load(at(y, batch), type, place(y, rows, i)));
      const Matrices matrix{a.matrix(batch), type, a.leading}, result{sums.data(), type, rows};
      const Product product{transposed, false,   rows,      1,      inner,
                            1,          by.at(), also.at(), matrix, {factor.data(), type, inner},
                            result,     result,  type};
      multiply(product);
      for (std::int64_t i = 0; i < rows; ++i) store(at(y, batch), type, place(y, rows, i), load(sums.data(), type, i));
    }
    return Outcome::Success;
  });
}

Outcome axpy(const Call &call, std::int64_t count, Type compute, const void *alpha, Type alpha_type, const Vectors &x,
             const Vectors &y) {
  if (const Outcome outcome = checked(call, compute, {alpha_type, x.type, y.type}); outcome != Outcome::Success)
    return outcome;
  if (count <= 0) return Outcome::Success;
  if (!alpha || !x.first || !y.first) return Outcome::InvalidPointer;
  const Scalar scalar{call, "alpha", alpha, alpha_type};
  return on_stream(call, [=, function = call.function] {
    if (!scalar.is_readable() || !is_there(function, "x", x, count, 1) || !is_there(function, "y", y, count, 1))
      return Outcome::InternalError;
    const double by = load(scalar.at(), alpha_type, 0);
    for (std::int64_t i = 0; i < count; ++i) {
      const double from = load(x.first, x.type, place(x, count, i));
      const std::int64_t to = place(y, count, i);
      const double before = load(y.first, y.type, to);
      store(const_cast<void *>(y.first), y.type, to, computed(compute, [&](auto kind) {
              using T = decltype(kind);
              return static_cast<T>(by) * static_cast<T>(from) + static_cast<T>(before);
            }));
    }
    return Outcome::Success;
  });
}

Outcome scal(const Call &call, std::int64_t count, Type compute, const void *alpha, Type alpha_type, const Vectors &x) {
  if (const Outcome outcome = checked(call, compute, {alpha_type, x.type}); outcome != Outcome::Success) return outcome;
  if (count <= 0 || x.step <= 0) return Outcome::Success;
  if (!alpha || !x.first) return Outcome::InvalidPointer;
  const Scalar scalar{call, "alpha", alpha, alpha_type};
  return on_stream(call, [=, function = call.function] {
    if (!scalar.is_readable() || !is_there(function, "x", x, count, 1)) return Outcome::InternalError;
    const double by = load(scalar.at(), alpha_type, 0);
    for (std::int64_t i = 0; i < count; ++i) {
      const double before = load(x.first, x.type, i * x.step);
      store(const_cast<void *>(x.first), x.type, i * x.step, computed(compute, [&](auto kind) {
              using T = decltype(kind);
              return static_cast<T>(by) * static_cast<T>(before);
            }));
    }
    return Outcome::Success;
  });
}

Outcome dot(const Call &call, std::int64_t count, Type compute, const Vectors &x, const Vectors &y, void *result,
            Type result_type) {
  if (const Outcome outcome = checked(call, compute, {x.type, y.type, result_type}); outcome != Outcome::Success)
    return outcome;
  if (!result) return Outcome::InvalidPointer;
  if (count > 0 && (!x.first || !y.first)) return Outcome::InvalidPointer;
  const bool of_host = call.handle->pointer_mode == 0;
  if (of_host && is_captured(call.handle->stream)) {
    say("%s: the stream is captured, and a graph cannot write a result to the host: set the pointer mode to device",
        call.function);
    return Outcome::InternalError;
  }
  return on_stream(call, [=, function = call.function] {
    if (!of_host && !accessible(function, "the result", result, size_of(result_type))) return Outcome::InternalError;
    if (count > 0 && (!is_there(function, "x", x, count, 1) || !is_there(function, "y", y, count, 1)))
      return Outcome::InternalError;
    store(result, result_type, 0, computed(compute, [&](auto sum) {
            using T = decltype(sum);
            for (std::int64_t i = 0; i < count; ++i)
              sum += static_cast<T>(load(x.first, x.type, place(x, count, i))) *
                     static_cast<T>(load(y.first, y.type, place(y, count, i)));
            return sum;
          }));
    return Outcome::Success;
  });
}

Outcome copy_matrix(const char *function, void *stream, Copy copy, std::int64_t rows, std::int64_t columns,
                    std::int64_t size, const void *from, std::int64_t from_leading, void *to, std::int64_t to_leading) {
  if (rows < 0 || columns < 0 || size <= 0 || from_leading < rows || to_leading < rows) {
    say("%s: a size is negative, or a leading dimension less than the rows", function);
    return Outcome::InvalidSize;
  }
  if (rows == 0 || columns == 0) return Outcome::Success;
  if (!from || !to) return Outcome::InvalidPointer;
  const bool of_device = copy == Copy::ToDevice;
  const auto bytes = static_cast<std::size_t>(((columns - 1) * (of_device ? to_leading : from_leading) + rows) * size);
  return on_stream(function, stream, [=] {
    if (!accessible(function, of_device ? "destination" : "source", of_device ? to : from, bytes))
      return Outcome::InternalError;
    for (std::int64_t j = 0; j < columns; ++j)
      std::memcpy(static_cast<char *>(to) + j * to_leading * size,
                  static_cast<const char *>(from) + j * from_leading * size, static_cast<std::size_t>(rows * size));
    return Outcome::Success;
  });
}

}  // namespace emulated
